"""Parses the messages of a tar archive with Python's email package, once for
each line of standard input, and prints the CPU-seconds of parsing alone and of
parsing and reading what a record holds."""

import email
import email.policy
import gc
import sys
import tarfile
import time
from email.header import decode_header, make_header
from email.utils import getaddresses, parsedate_to_datetime

path, most = sys.argv[1], int(sys.argv[2])
messages = []
with tarfile.open(path) as archive:
    for member in archive:
        if member.isfile():
            messages.append(archive.extractfile(member).read())
        if len(messages) == most:
            break


def parse(raw):
    return email.message_from_bytes(raw, policy=email.policy.compat32)


def record(raw):
    message = parse(raw)
    fields = [getaddresses(message.get_all(name, [])) for name in ("From", "To", "Cc", "Bcc")]
    try:
        fields.append(parsedate_to_datetime(message["Date"]))
    except (TypeError, ValueError):
        fields.append(None)
    fields.append(str(make_header(decode_header(message["Subject"] or ""))))
    for part in message.walk():
        if part.get_content_maintype() == "text":
            fields.append(part.get_payload(decode=True).decode("latin-1"))
    return fields


for _ in sys.stdin:
    times = []
    for work in (parse, record):
        gc.collect()
        start = time.process_time()
        for raw in messages:
            work(raw)
        times.append(time.process_time() - start)
    print(*times, flush=True)
