"""Turns a tar.gz of mail into a SQLite database with full text and a Parquet
file, with Python's email package in two processes: what a careful script does.
It merges exact copies within a mailbox; it finds no threads, no near copies and
no quoted text.

    peer.py MAIL.tar.gz OUT.db OUT.parquet"""

import email
import email.policy
import hashlib
import multiprocessing
import re
import sqlite3
import sys
import tarfile
from datetime import timezone
from email.header import decode_header, make_header
from email.utils import getaddresses, parsedate_to_datetime

import pyarrow as pa
import pyarrow.parquet as pq


def header(value):
    try:
        return str(make_header(decode_header(value or "")))
    except (LookupError, UnicodeError):
        return value


def addresses(message, name):
    return [a.lower() for _, a in getaddresses(map(str, message.get_all(name, []))) if a]


def record(item):
    source, raw = item
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    try:
        date = parsedate_to_datetime(message["Date"]).astimezone(timezone.utc)
    except (TypeError, ValueError):
        date = None
    texts = []
    for part in message.walk():
        if part.get_content_maintype() == "text":
            content = part.get_payload(decode=True) or b""
            try:
                text = content.decode(part.get_content_charset("utf-8"), "replace")
            except LookupError:
                text = content.decode("latin-1")
            texts.append(re.sub(r"<[^>]*>", " ", text) if part.get_content_subtype() == "html" else text)
    folders = source.split("/")
    sender, subject, body = (addresses(message, "From") or [""])[0], header(message["Subject"]), "\n".join(texts)
    key = hashlib.sha256("\0".join([str(date), sender, " ".join(subject.lower().split()), " ".join(body.lower().split())]).encode("utf-8", "replace")).digest()
    return {"message_id": (message["Message-ID"] or "").strip("<> "), "date": date, "from": sender, "to": addresses(message, "To"),
            "cc": addresses(message, "Cc"), "bcc": addresses(message, "Bcc"), "subject": subject, "body": body,
            "owner": folders[1] if len(folders) > 1 else "", "folder": "/".join(folders[2:-1]), "source": source}, key


def entries(path):
    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            if member.isfile():
                yield member.name, archive.extractfile(member).read()


def main(path, database, parquet):
    kept = {}
    with multiprocessing.Pool(2) as pool:
        for row, key in pool.imap(record, entries(path), chunksize=100):
            kept.setdefault((row["owner"], key), row)
    rows = sorted(kept.values(), key=lambda r: (r["owner"], str(r["date"]), r["message_id"]))
    for row in rows:
        for name in ("subject", "body"):
            row[name] = row[name].encode("utf-8", "replace").decode()
    pq.write_table(pa.Table.from_pylist(rows), parquet, compression="zstd")
    db = sqlite3.connect(database)
    db.executescript("""PRAGMA journal_mode=off; PRAGMA synchronous=off;
        CREATE TABLE emails (id INTEGER PRIMARY KEY, message_id TEXT, owner TEXT, date TEXT, sender TEXT, subject TEXT, body TEXT, folder TEXT, source TEXT);
        CREATE TABLE recipients (email_id INTEGER, kind TEXT, address TEXT);
        CREATE VIRTUAL TABLE emails_fts USING fts5(subject, body, content='emails', content_rowid='id');""")
    db.executemany("INSERT INTO emails VALUES (?,?,?,?,?,?,?,?,?)", (
        (i, r["message_id"], r["owner"], str(r["date"]), r["from"], r["subject"], r["body"], r["folder"], r["source"]) for i, r in enumerate(rows)))
    db.executemany("INSERT INTO recipients VALUES (?,?,?)", ((i, k, a) for i, r in enumerate(rows) for k in ("to", "cc", "bcc") for a in r[k]))
    db.executescript("""CREATE INDEX emails_id ON emails (message_id); CREATE INDEX emails_date ON emails (owner, date);
        CREATE INDEX recipients_address ON recipients (address);
        INSERT INTO emails_fts (rowid, subject, body) SELECT id, subject, body FROM emails;
        INSERT INTO emails_fts (emails_fts) VALUES ('optimize');""")
    db.commit()
    print(f"{len(rows)} records")


if __name__ == "__main__":
    main(*sys.argv[1:])
