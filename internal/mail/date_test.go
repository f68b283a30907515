package mail

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseDate(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		warnings       []string
	}{
		{"Enron", "Wed, 13 Dec 2000 18:41:00 -0800 (PST)", "2000-12-14T02:41:00Z", nil},
		{"no weekday, one-digit day", "4 Jun 2020 10:00:00 +0000", "2020-06-04T10:00:00Z", nil},
		{"no seconds", "Mon, 5 Mar 2001 09:00 -0800", "2001-03-05T17:00:00Z", nil},
		{"named zone counts", "Fri, 4 May 79 10:00:00 PDT", "1979-05-04T17:00:00Z", []string{WarnNamedZone}},
		{"two-digit year of this century", "Tue, 24 Sep 02 06:00:00 EST", "2002-09-24T11:00:00Z", []string{WarnNamedZone}},
		{"three-digit year", "Thu, 13 Dec 101 15:30 WET", "2001-12-13T15:30:00Z", []string{WarnYear3, WarnNamedZone}},
		{"a year of four digits is kept", "Mon, 1 Jan 0001 00:00:00 -0800 (PST)", "0001-01-01T08:00:00Z", nil},
		{"dashes and no zone", "05-FEB-2021 22:05:02", "2021-02-05T22:05:02Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"one-digit clock", "Mon, 5 Mar 2001 9:5:1 +0000", "2001-03-05T09:05:01Z", []string{WarnDateOdd}},
		{"foreign names", "lør, 29 maj 1999 00:24:04 +0200 (CEST)", "1999-05-28T22:24:04Z", []string{WarnDateOdd}},
		{"a zone that is none", "Wed, 31 Aug 2005 16:59:17 -0-200", "2005-08-31T16:59:17Z", []string{WarnBadZone}},
		{"separator of an mbox", "Mon Jan  1 00:00:00 2001", "2001-01-01T00:00:00Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"Takeout's separator", "Mon Jul 06 10:00:00 +0000 2020", "2020-07-06T10:00:00Z", []string{WarnDateOdd}},
		{"ISO 8601", "2021-02-05T22:05:02Z", "2021-02-05T22:05:02Z", []string{WarnDateOdd}},
		{"ISO 8601 with offset", "2021-02-05T22:05:02.5+01:00", "2021-02-05T21:05:02Z", []string{WarnDateOdd}},
		{"American", "03/05/2001 10:12 PM", "2001-03-05T22:12:00Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"midnight is 12 AM", "03/05/2001 12:12 AM", "2001-03-05T00:12:00Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"zone with its name", "5 Mar 2001 10:00:00 GMT+0200", "2001-03-05T08:00:00Z", []string{WarnDateOdd}},
		{"half an hour east", "5 Mar 2001 10:00:00 +0530", "2001-03-05T04:30:00Z", nil},
		{"no time", "5 Mar 2001", "2001-03-05T00:00:00Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"comment first", "(x) Mon, 5 Mar 2001 (y) 10:00:00 +0000", "2001-03-05T10:00:00Z", nil},
		{"a zone written out", "Mon, 5 Mar 2001 10:00:00 Pacific Daylight Time", "2001-03-05T17:00:00Z", []string{WarnNamedZone}},
		{"a zone of hours", "Mon, 5 Mar 2001 10:00:00 -8", "2001-03-05T18:00:00Z", []string{WarnDateOdd}},
		{"a clock with dots", "Mon, 5 Mar 2001 10.30.00 +0000", "2001-03-05T10:30:00Z", []string{WarnDateOdd}},
		{"day before month", "25/12/2001 10:12 +0000", "2001-12-25T10:12:00Z", []string{WarnDateOdd}},
		{"seconds since 1970", "983786400", "2001-03-05T10:00:00Z", []string{WarnDateOdd}},
		{"a day that is not", "31 Feb 2001 10:00:00 +0000", "2001-03-03T10:00:00Z", []string{WarnDateOdd}},
		{"an hour that is not", "5 Mar 2001 31:00:00 +0000", "2001-03-05T00:00:00Z", []string{WarnDateOdd, WarnDateNoZone}},
		{"24 o'clock", "5 Mar 2001 24:00:00 +0000", "2001-03-06T00:00:00Z", nil},
		{"a weekday that is none", "Foo, 5 Mar 2001 10:00:00 +0000", "2001-03-05T10:00:00Z", []string{WarnDateOdd}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings, ok := ParseDate(tt.in)
			if !ok || got.Format(time.RFC3339) != tt.want {
				t.Errorf("%q is %v, %v, want %s", tt.in, got, ok, tt.want)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("%q: warnings %s", tt.in, diff)
			}
		})
	}
	for _, in := range []string{"", "soon", "10:00:00 +0000", "Mar 2001", "99 99 99", "memory the March curve was 4.10.", "32 Dec"} {
		if got, _, ok := ParseDate(in); ok {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

// TestParseDateIgnoresLocalZone guards against the library's trap: a named zone
// means what the machine's own zone database says of it.
func TestParseDateIgnoresLocalZone(t *testing.T) {
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("PDT", -7*3600), time.FixedZone("PDT", 3600)} {
		old := time.Local
		time.Local = zone
		got, _, _ := ParseDate("Fri, 4 May 2001 10:00:00 PDT")
		time.Local = old
		if want := time.Date(2001, 5, 4, 17, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("in %v: %v, want %v", zone, got, want)
		}
	}
}

// FuzzParseDate checks that what is written as RFC 5322 has it is read back,
// and that nothing else does harm.
func FuzzParseDate(f *testing.F) {
	f.Add("Wed, 13 Dec 2000 18:41:00 -0800 (PST)", int64(976761660), -480)
	f.Add("T:-", int64(0), 0)
	f.Add("((((1-1-1T", int64(4e9), 330)
	f.Fuzz(func(t *testing.T, s string, unix int64, zone int) {
		ParseDate(s)
		want := time.Unix(unix%4e9, 0).UTC()
		if want.Year() < 1970 {
			return
		}
		text := want.In(time.FixedZone("", zone%720*60)).Format(time.RFC1123Z)
		if got, warnings, ok := ParseDate(text); !ok || !got.Equal(want) || warnings != nil {
			t.Errorf("%q is %v with %v, want %v", text, got, warnings, want)
		}
	})
}
