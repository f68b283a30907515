package mailstore

import (
	"database/sql"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		keywords []string
		mode     Mode
		want     string
	}{
		{"any", []string{"gas", "curve"}, Any, `"gas" OR "curve"`},
		{"the rule by default is any", []string{"gas", "curve"}, "", `"gas" OR "curve"`},
		{"all", []string{"gas", "curve"}, All, `"gas" AND "curve"`},
		{"quotes are doubled", []string{`6" pipe`}, All, `"6"" pipe"`},
		{"marks alone are dropped", []string{"--", "gas", "*", ""}, All, `"gas"`},
		{"repeated words count once", []string{"gas", "Gas"}, Any, `"gas"`},
		{"no control characters", []string{"a\x00b", "\xff"}, Any, `"a b"`},
		{"the first words of a long keyword", []string{strings.Repeat("x ", 70)}, Any, `"` + strings.TrimSpace(strings.Repeat("x ", 64)) + ` "`},
		{"an icon is a word", []string{"\uf0e0"}, Any, "\"\uf0e0\""},
		{"nothing left", []string{"?"}, Any, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := match(wanted(tt.keywords), tt.mode); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzMatch checks S2: whatever the keywords are, SQLite takes the expression.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{"gas", `"`, "subject:outage", "NEAR(a b)", "a* AND", "O'Neil\x00;--", "²", "ª", "̈", "(", strings.Repeat("a b ", 300)} {
		f.Add(seed, "x")
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE f USING fts5(subject, body); INSERT INTO f VALUES ('outage', 'x')`); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, mode := range []Mode{Any, All} {
			expr := match(wanted([]string{a, b, "zzz"}), mode)
			var n int
			if err := db.QueryRow(`SELECT count(*) FROM f WHERE f MATCH ?`, expr).Scan(&n); err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			if mode == All && n > 0 {
				t.Fatalf("%s finds a mail without zzz", expr)
			}
		}
	})
}
