package ingest

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"

	"agentmill/internal/mail"
)

// spoolBuffer is how much a spool holds in memory, over all mailboxes.
const spoolBuffer = 16 << 20

// A spool keeps what was read apart by mailbox, beyond some megabytes in a
// temporary file: mail comes in any order, and is worked on by mailbox. So
// memory is bounded by the largest mailbox, however many there are.
type spool struct {
	dir   string
	file  *os.File // already removed: it goes when it is closed
	size  int64
	held  int
	boxes map[string]*spoolBox
}

// A spoolBox is one mailbox: its messages, and what they tell of its owner.
type spoolBox struct{ mails, sights *stream }

// A stored message is one with the key of its copies.
type stored struct {
	Email mail.Email
	Key   []byte
}

func newSpool(dir string) *spool { return &spool{dir: dir, boxes: map[string]*spoolBox{}} }

// names are those of all mailboxes, sorted.
func (s *spool) names() []string { return slices.Sorted(maps.Keys(s.boxes)) }

// add takes a message into its mailbox.
func (s *spool) add(mailbox string, m *mail.Message, key copyKey) error {
	box := s.boxes[mailbox]
	if box == nil {
		box = &spoolBox{newStream(), newStream()}
		s.boxes[mailbox] = box
	}
	if err := errors.Join(s.put(box.mails, &stored{m.Email, key[:]}), s.put(box.sights, sight(m))); err != nil {
		return fmt.Errorf("keep message %s: %w", m.MessageID, err)
	}
	if s.held < spoolBuffer {
		return nil
	}
	return s.flush()
}

func (s *spool) put(to *stream, v any) error {
	before := to.buf.Len()
	err := to.enc.Encode(v)
	to.count++
	s.held += to.buf.Len() - before
	return err
}

// flush moves what is held in memory to the file.
func (s *spool) flush() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, ".agentmill-*"); err != nil {
			return fmt.Errorf("create a temporary file for mail: %w", err)
		}
		_ = os.Remove(s.file.Name())
	}
	for _, box := range s.boxes {
		for _, st := range []*stream{box.mails, box.sights} {
			if err := s.write(st); err != nil {
				return fmt.Errorf("write to a temporary file: %w", err)
			}
		}
	}
	s.held = 0
	return nil
}

// done ends the adding. What one mailbox of a large archive needs is all that is
// held from here on.
func (s *spool) done() error {
	if s.file == nil {
		return nil
	}
	err := s.flush()
	for _, box := range s.boxes {
		box.mails.enc, box.sights.enc = nil, nil
	}
	return err
}

func (s *spool) write(st *stream) error {
	if st.buf.Len() == 0 {
		return nil
	}
	n, err := s.file.WriteAt(st.buf.Bytes(), s.size)
	st.parts = append(st.parts, extent{s.size, int64(n)})
	s.size += int64(n)
	st.buf = bytes.Buffer{} // with its memory: most mail comes mailbox by mailbox
	return err
}

// mails yields the messages of a mailbox in the order in which they were added.
func (s *spool) mails(mailbox string) iter.Seq2[*stored, error] {
	return values[stored](s, s.boxes[mailbox].mails)
}

// identity is what the messages of a mailbox say about whose it is.
func (s *spool) identity(mailbox string) (*identity, error) {
	who := newIdentity()
	for m, err := range values[mail.Message](s, s.boxes[mailbox].sights) {
		if err != nil {
			return nil, err
		}
		who.see(m)
	}
	return who, nil
}

// count is how many messages the mailboxes hold.
func (s *spool) count(mailboxes []string) (n int) {
	for _, name := range mailboxes {
		n += s.boxes[name].mails.count
	}
	return n
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// A stream is a sequence of values of one type, some of it in the file.
type stream struct {
	enc   *gob.Encoder
	buf   bytes.Buffer
	parts []extent
	count int
}

// An extent is a piece of the file.
type extent struct{ start, size int64 }

func newStream() *stream {
	st := &stream{}
	st.enc = gob.NewEncoder(&st.buf)
	return st
}

func values[T any](s *spool, st *stream) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var parts []io.Reader
		for _, p := range st.parts {
			parts = append(parts, io.NewSectionReader(s.file, p.start, p.size))
		}
		dec := gob.NewDecoder(io.MultiReader(append(parts, bytes.NewReader(st.buf.Bytes()))...))
		for range st.count {
			v := new(T)
			err := dec.Decode(v)
			if err != nil {
				err = fmt.Errorf("read from a temporary file: %w", err)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}
