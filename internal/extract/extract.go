// Package extract finds facts in the plain text of mails by patterns: dates,
// amounts, phone numbers, rooms and the like, the sentences they stand in, and
// the shape of those sentences.
//
// Most callers want Spans, which finds all facts of a text, KindOfQuestion,
// which says what kind of fact a question asks for, and Clauses, which takes
// sentences apart so that a question can be made of them. The package knows no
// mailbox and does no input or output; it prefers missing a fact to naming a
// wrong one.
package extract

import (
	"cmp"
	"slices"
	"sort"
)

// A Kind is a kind of fact.
type Kind string

// The kinds of fact. A Deadline is a Date after a word such as "by", a Decision
// a choice of something by somebody, a Reason what follows "because", a Title what
// somebody's position is called.
const (
	Date       Kind = "date"
	Time       Kind = "time"
	Deadline   Kind = "deadline"
	Amount     Kind = "amount"
	Percentage Kind = "percentage"
	Quantity   Kind = "quantity"
	Duration   Kind = "duration"
	Phone      Kind = "phone"
	Email      Kind = "email"
	Link       Kind = "link"
	Address    Kind = "address"
	Room       Kind = "room"
	Place      Kind = "place"
	Person     Kind = "person"
	Org        Kind = "org"
	Flight     Kind = "flight"
	Code       Kind = "code"
	Decision   Kind = "decision"
	Reason     Kind = "reason"
	Title      Kind = "title"
)

// A Span is a fact: its kind and its half-open range of bytes.
type Span struct {
	Kind       Kind
	Start, End int
}

// Text returns the bytes of text that s covers.
func (s Span) Text(text string) string { return text[s.Start:s.End] }

// Spans returns the facts of text in order of their place. Where two patterns
// claim the same bytes the more specific one wins; spans never overlap.
// Deadlines are dates and times with their preposition read; decisions and
// reasons are found by Clauses alone, titles by nobody here.
func Spans(text string) []Span {
	var found []Span
	taken := make([]bool, len(text))
	starts := startsOf(text)
	for _, p := range patterns {
		for _, s := range p.find(text, starts) {
			if !slices.Contains(taken[s.Start:s.End], true) {
				found = append(found, s)
				for i := s.Start; i < s.End; i++ {
					taken[i] = true
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	for i, s := range found {
		if (s.Kind == Date || s.Kind == Time) && deadlineBefore(text[:s.Start]) {
			found[i].Kind = Deadline
		}
	}
	return found
}

// Within returns the facts, in order, that begin inside r.
func Within(facts []Span, r Range) []Span {
	from := sort.Search(len(facts), func(i int) bool { return facts[i].Start >= r.Start })
	to := sort.Search(len(facts), func(i int) bool { return facts[i].Start >= r.End })
	return facts[from:max(from, to)]
}

// OfKind returns the spans of text that can answer a question for kind: a
// question for a date takes a deadline, one for a place takes a room.
func OfKind(text string, kind Kind) []Span {
	return slices.DeleteFunc(Spans(text), func(s Span) bool { return !Answers(s.Kind, kind) })
}

// Answers reports whether a fact of kind have can answer a question for kind want.
func Answers(have, want Kind) bool {
	switch want {
	case have:
		return true
	case Date:
		return have == Deadline
	case Deadline:
		return have == Date || have == Time
	case Time:
		return have == Deadline
	case Place:
		return have == Room || have == Address
	case Room:
		return have == Place
	case Person:
		return have == Org
	case Decision:
		return have == Org || have == Person
	}
	return false
}
