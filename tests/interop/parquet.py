"""What DuckDB, pyarrow and pandas find in a Parquet file of records.

    parquet.py FILE    prints one JSON object: what each of them counts, and the
                       size of the file and of the same rows written by pyarrow
                       with zstd and its defaults
"""

import json
import os
import sys
import tempfile

import duckdb
import pandas
import pyarrow.parquet


def arrow(path):
    table = pyarrow.parquet.read_table(path)
    rows = table.select(["to", "subject", "body", "date", "copies"]).to_pylist()
    return {
        "rows": len(rows),
        "to": sum(len(r["to"]) for r in rows),
        "body": sum(len(r["body"]) for r in rows),
        "copies": sum(len(r["copies"]) for r in rows),
        "newest": max(r["date"] for r in rows if r["date"]).isoformat(),
        "undated": sum(r["date"] is None for r in rows),
        "first": rows[0]["subject"],
    }


def panda(path):
    frame = pandas.read_parquet(path)
    return {
        "rows": len(frame),
        "to": int(frame["to"].map(len).sum()),
        "body": int(frame["body"].map(len).sum()),
        "copies": int(frame["copies"].map(len).sum()),
        "newest": frame["date"].max().isoformat(),
        "undated": int(frame["date"].isna().sum()),
        "first": frame["subject"].iloc[0],
    }


def duck(path):
    names = ["rows", "to", "body", "copies", "newest", "undated", "first"]
    row = duckdb.execute(
        """SELECT count(*), sum(len("to")), sum(length(body)), sum(len(copies)), strftime(max(date)::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%f+00:00'),
        count(*) - count(date), arg_min(subject, file_row_number) FROM read_parquet(?, file_row_number = true)""",
        [path],
    ).fetchone()
    return dict(zip(names, [int(x) if isinstance(x, (int, float)) else x for x in row]))


def main():
    path = sys.argv[1]
    duckdb.execute("SET TimeZone = 'UTC'")
    with tempfile.TemporaryDirectory() as folder:
        again = os.path.join(folder, "again.parquet")
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(path), again, compression="zstd")
        sizes = {"ours": os.path.getsize(path), "theirs": os.path.getsize(again)}
    json.dump({"pyarrow": arrow(path), "pandas": panda(path), "duckdb": duck(path), "size": sizes}, sys.stdout)


if __name__ == "__main__":
    main()
