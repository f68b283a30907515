package mailstore

import "fmt"

// Schema is the version of the database layout that Build writes and Open
// reads. docs/format/inbox-db.md describes it.
const Schema = 2

const tables = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row a mailbox. It was built with the rows first_row to last_row; mails
-- added later have higher rows.
CREATE TABLE owners (
  owner_id  INTEGER PRIMARY KEY,
  owner     TEXT NOT NULL UNIQUE,   -- the canonical address
  name      TEXT NOT NULL,          -- what the mail files call the mailbox
  first_row INTEGER NOT NULL,
  last_row  INTEGER NOT NULL,
  mails     INTEGER NOT NULL,       -- how many there are
  newest    INTEGER                 -- Unix seconds of the newest believable date
);
CREATE TABLE aliases (
  alias    TEXT PRIMARY KEY,        -- lower case
  owner_id INTEGER NOT NULL REFERENCES owners
) WITHOUT ROWID;

-- One row a message and mailbox, numbered by mailbox, then date; those added
-- later are numbered on from the highest row. The body stands last, so that no
-- other column lies behind its pages.
CREATE TABLE mails (
  row         INTEGER PRIMARY KEY,
  owner_id    INTEGER NOT NULL REFERENCES owners,
  appended    INTEGER NOT NULL,     -- 1: added after the mailbox was built
  message_id  TEXT NOT NULL,
  date        INTEGER,              -- Unix seconds, NULL where there is none
  micros      INTEGER NOT NULL,     -- microseconds above date
  date_source TEXT NOT NULL,
  sender      TEXT NOT NULL,
  recipients  TEXT NOT NULL,        -- JSON {"to":[],"cc":[],"bcc":[]}
  subject     TEXT NOT NULL,
  folder      TEXT NOT NULL,
  thread_id   TEXT NOT NULL,
  source      TEXT NOT NULL,
  more        TEXT NOT NULL,        -- JSON of the remaining fields of the record
  body        TEXT NOT NULL
);
CREATE INDEX mails_date ON mails (owner_id, appended, date);

-- Every Message-ID of a mail: its own first, then those of its copies.
CREATE TABLE ids (
  message_id TEXT NOT NULL,         -- without angle brackets
  row        INTEGER NOT NULL REFERENCES mails,
  copy       INTEGER NOT NULL,      -- 0: the mail's own id
  PRIMARY KEY (message_id, row)
) WITHOUT ROWID;

CREATE TABLE addresses (address_id INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE);
CREATE TABLE parties (
  row        INTEGER NOT NULL REFERENCES mails,
  kind       TEXT NOT NULL,         -- from, to, cc or bcc
  address_id INTEGER NOT NULL REFERENCES addresses,
  PRIMARY KEY (row, kind, address_id)
) WITHOUT ROWID;
`

// ftsTable is the name of a mailbox's full-text table. Each mailbox has its
// own, so that BM25 counts words of that mailbox alone: its ranking does not
// depend on which other mailboxes stand in the file.
func ftsTable(ownerID int64) string { return fmt.Sprintf("fts_%d", ownerID) }

func createFTS(ownerID int64, stem bool) string {
	tokenizer := "unicode61"
	if stem {
		tokenizer = "porter unicode61"
	}
	return fmt.Sprintf(`CREATE VIRTUAL TABLE %s USING fts5(subject, body, content='mails', content_rowid='row', tokenize='%s')`,
		ftsTable(ownerID), tokenizer)
}
