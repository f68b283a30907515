package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/cli"
)

// scored is a row of one question, right or wrong.
func scored(policy string, question int, right bool) string {
	return fmt.Sprintf(`{"schema":1,"id":"%[1]s-%[2]d","question":{"id":"q%02[2]d","question":"Who?","answer":"Ann","answerable":true,"inbox_address":"a@b.example","split":"test"},
"group":"%[1]s-%[2]d","attempt":0,"seed":1,"policy":{"name":"%[1]s","hash":"0123456789abcdef"},"env":"email","stop":"answered",
"verdict":{"correct":%[3]v,"abstained":false,"hallucinated":%[4]v,"sources_correct":%[3]v,"judge":"match"},"reward":%[5]d}`,
		policy, question, right, !right, map[bool]int{true: 1, false: -1}[right])
}

// write puts the rows of a policy that is right at the first n of 10 questions
// into a file.
func write(t *testing.T, dir, policy string, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range 10 {
		b.WriteString(strings.ReplaceAll(scored(policy, i, i < n), "\n", "") + "\n")
	}
	path := filepath.Join(dir, policy+".jsonl")
	put(t, path, b.String())
	return path
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Execute(context.Background(), command(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(t, args...)
	if code != 0 {
		t.Fatalf("results %v: exit %d: %s", args, code, errs)
	}
	return out
}

// TestUnitToPage goes from scored rows to the tables of a page, twice.
func TestUnitToPage(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "run/policy-00/agentmill.json"), `{"schema":1,"method":"sft","updated":true,"hash":"aa","data":[{"name":"x","rows":30}],"flags":{"lr":"2e-4"}}`)
	put(t, filepath.Join(dir, "run/policy-00/metrics.jsonl"), `{"tokens":100,"seconds":60}`+"\n"+`{"tokens":50,"seconds":30}`+"\n")
	put(t, filepath.Join(dir, "run/policy-01/agentmill.json"), `{"schema":1,"method":"grpo","updated":false,"hash":"bb","data":[{"name":"y","rows":8}]}`)
	base, better := write(t, dir, "base", 3), write(t, dir, "better", 9)
	mustRun(t, "unit", "--unit", "better", "--about", "a better one", "--settings", "START=/home/me/p MAIL=../x/mail.tar --lr 1", "--name", "better="+better, "--name", "base="+base,
		"--baseline", "base", "--run", filepath.Join(dir, "run"), "--out", filepath.Join(dir, "units/better.json"))
	if kept := get(t, filepath.Join(dir, "units/better.json")); strings.Contains(kept, "/home/me") || strings.Contains(kept, "../x") || strings.Contains(kept, "Who?") {
		t.Errorf("the unit says too much:\n%s", kept)
	}

	page, list := filepath.Join(dir, "page.md"), filepath.Join(dir, "list.tsv")
	put(t, list, "main\tbetter\tmake better\ta better one\nmain\tworst\tmake worst\tthe worst\nrest\tother\tmake other\tanother\n")
	put(t, page, "by hand\n<!-- table main -->\nof yesterday\n<!-- end -->\nbetween\n<!-- table rest --><!-- end -->\n<!-- made -->\n<!-- end --><!-- not run -->\n<!-- end -->\nthe end\n")
	for range 2 { // the second time nothing changes
		mustRun(t, "page", "--list", list, "--units", filepath.Join(dir, "units"), page)
	}
	got := get(t, page)
	for _, want := range []string{
		"by hand\n<!-- table main -->", "| better | 10 | 90.0 [", "**Against base, question by question**", "| 6–0 | .031 |", "<!-- end -->\nbetween\n",
		"No unit of this part has been run.", "| `START=p MAIL=mail.tar --lr 1` | sft, 2 updates; grpo, 0 updates (1 times nothing to learn) | 38 | 1.5 | `0123456789ab` |",
		"- `make worst`: the worst", "- `make other`: another", "<!-- end -->\nthe end\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	for _, not := range []string{"of yesterday", "| base |", "`make better`"} {
		if strings.Contains(got, not) {
			t.Errorf("the page has %q:\n%s", not, got)
		}
	}
	if n := strings.Count(got, "**What came of it**"); n != 1 {
		t.Errorf("%d tables of outcomes, want 1:\n%s", n, got)
	}
}

func TestBest(t *testing.T) {
	dir := t.TempDir()
	got := mustRun(t, "best", "--name", "a="+write(t, dir, "a", 4), "--name", "b="+write(t, dir, "b", 7), "--name", "c="+write(t, dir, "c", 7))
	if got != "b\n" {
		t.Errorf("best = %q, want b: the first of those that are right most often", got)
	}
}

func TestPageRefuses(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list.tsv")
	for _, tt := range []struct{ list, page, want string }{
		{"main\tx\tmake x\tone\n", "<!-- table main -->\n", "want <!-- end --> after it"},
		{"main\tx\tmake x\tone\n", "<!-- table man -->\n<!-- end -->", "table man: no unit has this section"},
		{"main\tx\tmake x\tone\n", "<!-- tables -->\n<!-- end -->", `mark "tables": want`},
		{"main\tx\tmake x\n", "", "list.tsv:1: 3 fields"},
	} {
		put(t, list, tt.list)
		put(t, filepath.Join(dir, "page.md"), tt.page)
		code, _, errs := run(t, "page", "--list", list, "--units", dir, filepath.Join(dir, "page.md"))
		if code != 1 || !strings.Contains(errs, tt.want) {
			t.Errorf("page %q: exit %d, %q, want 1 and %q", tt.page, code, errs, tt.want)
		}
	}
}

// TestSweep sets two units side by side, the smaller policy first.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	rows := map[string]string{}
	for name, n := range map[string]int{"prompted": 1, "sft": 4, "grpo": 8} {
		rows[name] = write(t, dir, name, n)
	}
	var files []string
	for _, size := range []struct {
		name string
		n    int
	}{{"large", 2000000}, {"small", 1000000}} {
		path := filepath.Join(dir, size.name+".json")
		mustRun(t, "unit", "--unit", size.name, "--name", "prompted="+rows["prompted"], "--name", "sft="+rows["sft"], "--name", "grpo="+rows["grpo"],
			"--baseline", "prompted", "--baseline", "sft", "--out", path)
		put(t, path, strings.Replace(get(t, path), "{", fmt.Sprintf(`{"model":{"family":"llama","parameters":%d},`, size.n), 1))
		files = append(files, path)
	}
	got := mustRun(t, append([]string{"sweep", "--svg", filepath.Join(dir, "s.svg")}, files...)...)
	small, large := strings.Index(got, "| llama | small | 1 | 10.0 | 40.0 | 80.0 | +40.0 ["), strings.Index(got, "| llama | large | 2 |")
	if small < 0 || large < small || !strings.Contains(got, "| 4–0 |") {
		t.Errorf("sweep printed\n%s", got)
	}
	if svg := get(t, filepath.Join(dir, "s.svg")); strings.Count(svg, "<circle") != 6 || strings.Contains(svg, "NaN") {
		t.Errorf("the drawing:\n%s", svg)
	}
}
