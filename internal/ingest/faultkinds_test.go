package ingest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agentmill/internal/mail"
)

// TestFaultKinds reads invented files, one or more for each kind of fault that
// public reports tell of.
func TestFaultKinds(t *testing.T) {
	dir := filepath.Join("testdata", "faults")
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]json.RawMessage
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for name, raw := range expected {
		t.Run(name, func(t *testing.T) {
			got := records(t, filepath.Join(dir, name))
			if name == "duplicates.mbox" {
				checkDuplicates(t, got)
				checkNear(t, got)
				return
			}
			for _, want := range faults(t, raw) {
				i := slices.IndexFunc(got, func(e mail.Email) bool { return e.MessageID == want.MessageID })
				if i < 0 {
					t.Errorf("no record %s", want.MessageID)
					continue
				}
				want.check(t, &got[i])
				want.checkHeader(t, filepath.Join(dir, name))
			}
		})
	}
}

// checkNear wants the message that a list sent on linked with the one that it
// nearly equals, and no other one.
func checkNear(t *testing.T, got []mail.Email) {
	t.Helper()
	for _, e := range got {
		if near := e.Subject[0] == '['; (e.NearOf != "") != near {
			t.Errorf("%q is near %q", e.Subject, e.NearOf)
		}
	}
}
