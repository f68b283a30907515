package catalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/catalog"
	"agentmill/internal/env/email/emailtest"
)

func TestRules(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "agentmill.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "expert", "heuristic", dir} {
		if rules, ok, err := catalog.Rules(name, ""); ok || err != nil || rules != catalog.DefaultOptions() {
			t.Errorf("Rules(%q) = %v, %v, %v; want the defaults", name, rules, ok, err)
		}
	}
	write(`{"schema":1,"env_options":{"search":"all","max_turns":6,"turn_tokens":48,"max_hits":5,"mail_words":60,"ids":"full","on_bad_call":"tell","tool_format":"json"}}`)
	want := emailtest.Options()
	want.Search, want.IDs, want.OnBadCall, want.ToolFormat = "all", "full", "tell", "json"
	got, ok, err := catalog.Rules(dir, "")
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("Rules: %v, %v (-want +got):\n%s", ok, err, diff)
	}
	write(`{`)
	_, _, err = catalog.Rules(dir, "")
	wantError(t, "a broken manifest", err, "agentmill.json: ")
}

func TestOpenPolicyByName(t *testing.T) {
	e := emailtest.Open(t, emailtest.Options())
	for _, name := range []string{"expert", "heuristic"} {
		p, err := catalog.OpenPolicy(catalog.PolicyConfig{Name: name, Env: e})
		if err != nil || p.Info().Name != name {
			t.Errorf("OpenPolicy(%s) = %v, %v", name, p, err)
		}
	}
	_, err := catalog.OpenPolicy(catalog.PolicyConfig{Name: filepath.Join(t.TempDir(), "none"), Env: e, Local: catalog.LocalConfig{Device: "cpu", Precision: "w16"}})
	wantError(t, "no such folder", err, "or null-repeat, replay:FILE, or a policy folder")
	_, err = catalog.OpenPolicy(catalog.PolicyConfig{Env: e})
	wantError(t, "no name", err, "no policy is named")
}

func TestOpenEnv(t *testing.T) {
	_, err := catalog.OpenEnv(catalog.EnvConfig{Name: "chess"})
	wantError(t, "an environment we do not have", err, `environment "chess": want email`)
	_, err = catalog.OpenEnv(catalog.EnvConfig{Name: "email", Index: filepath.Join(t.TempDir(), "none.db")})
	wantError(t, "no index", err, "none.db: no such file")
	opts := catalog.DefaultOptions()
	opts.MaxHits = 11
	e, err := catalog.OpenEnv(catalog.EnvConfig{Name: "email", Index: emailtest.Index(t), Options: opts})
	if e != nil {
		t.Error("an environment with bad rules was opened")
	}
	wantError(t, "bad rules", err, "max hits 11: want 1 to 10")
}
