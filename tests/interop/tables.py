"""Writes, with pyarrow and DuckDB, Parquet files with the columns of Hugging
Face's corbt/enron-emails, and prints as JSON what is in them."""

import json
import sys
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

out = Path(sys.argv[1])
rows = [
    {
        "message_id": "<1@example.com>", "subject": "curve", "from": "ana.reed@example.com", "to": ["bo.kim@example.com", None, "cy@example.com"],
        "cc": ["eve@example.com"], "bcc": ["eve@example.com"], "date": datetime(2001, 5, 14, 16, 39, 0, 123456), "body": "Four ten.\n",
        "file_name": "reed-a/_sent_mail/12.",
    },
    {"message_id": "<2@example.com>", "subject": None, "from": "bo.kim@example.com", "to": [], "cc": None, "bcc": None, "date": None, "body": None, "file_name": "kim-b/inbox/1."},
    {"message_id": "<3@example.com>", "subject": "Åpningstider", "from": "eve@example.com", "to": ["bo.kim@example.com"], "cc": [], "bcc": [],
     "date": datetime(1979, 5, 4, 17, 0), "body": "x" * 100_000, "file_name": "kim-b/inbox/2."},
]
text, texts = pa.string(), pa.list_(pa.string())
schema = pa.schema([
    ("message_id", text), ("subject", text), ("from", text), ("to", texts), ("cc", texts), ("bcc", texts), ("date", pa.timestamp("us")), ("body", text), ("file_name", text),
])
emails = pa.Table.from_pylist(rows, schema)
large = emails.cast(pa.schema([f.with_type(pa.large_list(pa.large_string())) if pa.types.is_list(f.type) else f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in schema]))

pq.write_table(emails, out / "arrow-snappy.parquet", compression="snappy")
pq.write_table(emails, out / "arrow-item.parquet", compression="zstd", use_compliant_nested_type=False, data_page_version="2.0")
pq.write_table(emails, out / "arrow-plain.parquet", compression="none", use_dictionary=False, row_group_size=1)
pq.write_table(large, out / "arrow-large.parquet", compression="gzip", version="1.0")
pq.write_table(emails.set_column(6, "date", emails["date"].cast(pa.timestamp("ms", tz="UTC"), safe=False)), out / "arrow-ms-utc.parquet")
duckdb.sql(f"COPY emails TO '{out}/duckdb.parquet' (FORMAT parquet, COMPRESSION zstd)")
duckdb.sql(f"COPY emails TO '{out}/duckdb-v2.parquet' (FORMAT parquet, PARQUET_VERSION v2)")

json.dump([{**r, "date": r["date"] and r["date"].isoformat()} for r in rows], sys.stdout)
