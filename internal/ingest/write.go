package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/dataset"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
)

// A batch is the records of one owner in the order of their rows, and copies of
// mails that the database has.
type batch struct {
	mailbox mailstore.Mailbox
	emails  []*mail.Email
	repeats []repeat
}

// write makes the records of one owner after the other, and writes each batch
// to the file of records and to the database at the same time.
func (s *stage) write(ctx context.Context, owners []owner) error {
	out, err := dataset.Create[mail.Email](s.cfg.Out, s.cfg.Stdout)
	if err != nil {
		return err
	}
	defer out.Abort()
	index, err := s.createIndex(ctx)
	if err != nil {
		return err
	}
	defer index.abort()
	group, inner := errgroup.WithContext(ctx)
	toOut, toIndex := make(chan batch), make(chan batch)
	group.Go(func() error { return s.batches(inner, owners, toOut, toIndex) })
	group.Go(func() error { return each(inner, toOut, func(b batch) error { return writeRecords(inner, out, b) }) })
	group.Go(func() error { return each(inner, toIndex, func(b batch) error { return index.add(inner, b) }) })
	if err := cmp.Or(group.Wait(), ctx.Err()); err != nil {
		return err
	}
	s.stats.Copies = s.stats.Messages - s.stats.Records
	if err := index.commit(ctx); err != nil {
		return err
	}
	return out.Commit()
}

// batches makes the batches and hands them on.
func (s *stage) batches(ctx context.Context, owners []owner, to ...chan batch) error {
	for _, ch := range to {
		defer close(ch)
	}
	for _, o := range owners {
		b, err := s.finish(ctx, o)
		if err != nil {
			return err
		}
		s.stats.add(o.Mailbox, b.emails)
		for _, ch := range to {
			select {
			case ch <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func each(ctx context.Context, from chan batch, do func(batch) error) error {
	for b := range from {
		if err := cmp.Or(ctx.Err(), do(b)); err != nil {
			return err
		}
	}
	return nil
}

// finish gives the mails of an owner their copies, threads and order.
func (s *stage) finish(ctx context.Context, o owner) (b batch, err error) {
	box := newMailbox()
	for _, name := range o.boxes {
		for m, err := range s.spool.mails(name) {
			if err != nil {
				return b, err
			}
			box.add(&m.Email, copyKey(m.Key))
		}
	}
	b.mailbox = s.base.unclaimed(o.Mailbox)
	if b.emails, b.repeats, err = s.base.sort(ctx, o.Owner, box.emails(o.Owner)); err != nil {
		return b, err
	}
	slices.SortFunc(b.emails, byDate)
	old, err := s.base.around(ctx, o.Owner, b.emails)
	if err != nil {
		return b, err
	}
	continued(old, b.emails, o.addresses())
	return b, nil
}

func writeRecords(ctx context.Context, out *dataset.Writer[mail.Email], b batch) error {
	for _, e := range b.emails {
		if err := cmp.Or(ctx.Err(), out.Write(e)); err != nil {
			return fmt.Errorf("write %s: %w", e.MessageID, err)
		}
	}
	return nil
}

// An index is the database that is written, or none.
type index struct{ *mailstore.Builder }

func (s *stage) createIndex(ctx context.Context) (index, error) {
	if s.cfg.Index == "" {
		return index{}, nil
	}
	if s.base != nil {
		return index{s.base.builder}, nil
	}
	b, err := mailstore.Create(ctx, s.cfg.Index, s.cfg.Stem)
	return index{b}, err
}

func (x index) add(ctx context.Context, b batch) error {
	if x.Builder == nil {
		return nil
	}
	for _, r := range b.repeats {
		if _, err := x.AddCopies(ctx, r.row, r.copies); err != nil {
			return err
		}
	}
	return x.Add(ctx, b.mailbox, b.emails)
}

func (x index) commit(ctx context.Context) error {
	if x.Builder == nil {
		return nil
	}
	return x.Commit(ctx)
}

func (x index) abort() {
	if x.Builder != nil {
		x.Abort()
	}
}
