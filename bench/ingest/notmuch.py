"""Asks a notmuch database queries, one a line of standard input, and prints the
seconds that each took: the ten newest of the mails that match, with their
subjects.

    notmuch.py CONFIG < QUERIES"""

import sys
import time

import notmuch2

queries = [line.rstrip("\n") for line in sys.stdin]
with notmuch2.Database(config=sys.argv[1]) as db:
    for query in queries:
        start = time.perf_counter()
        hits = []
        for message in db.messages(query, sort=db.SORT.NEWEST_FIRST):
            try:
                hits.append((message.messageid, message.header("subject")))
            except LookupError:  # without a subject
                hits.append((message.messageid, ""))
            if len(hits) == 10:
                break
        print(time.perf_counter() - start, len(hits))
