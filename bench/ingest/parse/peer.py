"""Parses the messages of a tar archive with Python's email package, once for
each line of standard input, and prints the CPU-seconds it took."""

import email
import email.policy
import gc
import sys
import tarfile
import time

path, most = sys.argv[1], int(sys.argv[2])
messages = []
with tarfile.open(path) as archive:
    for member in archive:
        if member.isfile():
            messages.append(archive.extractfile(member).read())
        if len(messages) == most:
            break


def read(raw):
    message = email.message_from_bytes(raw, policy=email.policy.compat32)
    for part in message.walk():
        if part.get_content_maintype() == "text":
            part.get_payload(decode=True).decode("latin-1")
    return message


for _ in sys.stdin:
    gc.collect()
    start = time.process_time()
    for raw in messages:
        read(raw)
    print(time.process_time() - start, flush=True)
