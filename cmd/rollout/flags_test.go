package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/catalog"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/traj"
)

func TestRulesAreThoseOfTrainingUnlessGiven(t *testing.T) {
	none := traj.EnvOptions{MaxTurns: unset, TurnTokens: unset, MaxHits: unset, MailWords: unset}
	given := none
	given.MaxTurns, given.MailWords, given.Search = 6, 0, "all"
	trained := emailtest.Options()
	changed := trained
	changed.MailWords, changed.Search = 0, "all"
	defaults := catalog.DefaultOptions()
	defaultsGiven := defaults
	defaultsGiven.MaxTurns, defaultsGiven.Search = 6, "all"
	for _, tt := range []struct {
		name  string
		given traj.EnvOptions
		ok    bool
		want  traj.EnvOptions
		warns []string
	}{
		{"nothing given", none, true, trained, nil},
		{"some given: equal ones are no matter", given, true, changed, []string{"--search is all, was any", "--mail-words is 0, was 60"}},
		{"never trained", none, false, defaults, nil},
		{"never trained, some given", given, false, defaultsGiven, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warns []string
			r := rules{tt.given}
			policys := trained
			if !tt.ok {
				policys = defaults
			}
			got := r.resolve(policys, tt.ok, func(d string) { warns = append(warns, d) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warns, warns); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
