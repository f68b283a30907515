package mailsource

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"agentmill/internal/mail"
)

// A hfRow has the columns of Hugging Face's corbt/enron-emails.
type hfRow struct {
	MessageID *string   `parquet:"message_id,optional"`
	Subject   *string   `parquet:"subject,optional"`
	From      *string   `parquet:"from,optional"`
	To        []*string `parquet:"to,optional,list"`
	Cc        []*string `parquet:"cc,optional,list"`
	Bcc       []*string `parquet:"bcc,optional,list"`
	Date      *int64    `parquet:"date,optional,timestamp(microsecond:local)"`
	Body      *string   `parquet:"body,optional"`
	FileName  *string   `parquet:"file_name,optional"`
}

// TestListEncodings reads the lists of all writers that there have been: three
// levels under the names of arrow and of Spark, two levels, and none. A reader
// that goes by one of them finds empty lists in the others.
func TestListEncodings(t *testing.T) {
	text := func() parquet.Node { return parquet.Optional(parquet.String()) }
	for name, list := range map[string]parquet.Node{
		"list.element": parquet.List(text()),
		"list.item":    listOf("list", parquet.Group{"item": text()}),
		"bag.array":    listOf("bag", parquet.Group{"array_element": text()}),
		"array":        listOf("array", parquet.String()),
		"bare":         parquet.Repeated(parquet.String()),
	} {
		t.Run(name, func(t *testing.T) {
			schema := parquet.NewSchema("table", parquet.Group{
				"message_id": text(), "from": text(), "to": list, "date": parquet.Optional(parquet.TimestampAdjusted(parquet.Microsecond, false)),
				"subject": text(), "body": text(),
			})
			got := messages(t, parquetOf(t, schema, name != "array" && name != "bare"), "")
			if len(got) != 2 {
				t.Fatalf("%d messages", len(got))
			}
			if diff := cmp.Diff([]string{"bo@x", "cy@x"}, got[0].To); diff != "" {
				t.Error(diff)
			}
			if got[1].To != nil || got[0].Body != "body" || !got[0].Date.Equal(time.UnixMicro(981173106123456)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// listOf is a LIST column whose repeated part has the given name and content.
func listOf(name string, content parquet.Node) parquet.Node {
	return listNode{parquet.Group{name: parquet.Repeated(content)}}
}

// A listNode is a group marked as LIST.
type listNode struct{ parquet.Group }

func (listNode) Type() parquet.Type { return parquet.List(parquet.String()).Type() }

// parquetOf writes a row with two addresses and one without any. Columns stand
// in the order of their names: body, date, from, message_id, subject, to.
func parquetOf(t *testing.T, schema *parquet.Schema, three bool) string {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, schema)
	some := func(col int, v any) parquet.Value { return parquet.ValueOf(v).Level(0, 1, col) }
	level := 1
	if three {
		level = 2
	}
	full := parquet.Row{
		some(0, "body"), some(1, int64(981173106123456)), some(2, "Ana <a@x>"), some(3, "<1@x>"), some(4, "s"),
		parquet.ValueOf("Bo@x").Level(0, level, 5), parquet.ValueOf("cy@x").Level(1, level, 5),
	}
	none := parquet.Row{
		parquet.NullValue().Level(0, 0, 0), parquet.NullValue().Level(0, 0, 1), parquet.NullValue().Level(0, 0, 2),
		some(3, "<2@x>"), parquet.NullValue().Level(0, 0, 4), parquet.NullValue().Level(0, 0, 5),
	}
	if _, err := w.WriteRows([]parquet.Row{full, none}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestHuggingFace(t *testing.T) {
	var buf bytes.Buffer
	err := parquet.Write(&buf, []hfRow{
		{
			MessageID: new("<1@x>"), Subject: new("curve"), From: new("Ana Reed <Ana@x>"), To: []*string{new("bo@x"), nil, new("cy@x, dee@x")},
			Cc: []*string{new("eve@x")}, Bcc: []*string{new("eve@x")}, Date: new(int64(981173106123456)), Body: new("Four\r\nten.\n> old\n"), FileName: new("reed-a/_sent_mail/12."),
		},
		{MessageID: new("<2@x>"), FileName: new("kim-b/inbox/1.")},
		{From: new("a@x"), Body: new("nobody's")},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opt := range map[string]Options{"a file": {Paths: []string{path}}, "a pipe": {Stdin: bytes.NewReader(buf.Bytes())}} {
		src := New(opt)
		var boxes []string
		var got []*mail.Message
		for e := range src.Entries() {
			m, err := e.Message(time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			boxes, got = append(boxes, e.Mailbox), append(got, m)
		}
		if src.Err() != nil || len(got) != 3 {
			t.Fatalf("%s: %d messages, %v", name, len(got), src.Err())
		}
		want := mail.Email{
			MessageID: "<1@x>", Subject: "curve", From: "ana@x", To: []string{"bo@x", "cy@x", "dee@x"}, Cc: []string{"eve@x"},
			Date: time.UnixMicro(981173106123456).UTC(), DateSource: "header", Body: "Four\nten.\n> old\n", Folder: "_sent_mail",
			Source: "reed-a/_sent_mail/12.", Quoted: []mail.Span{{Start: 10, End: 16}},
		}
		if diff := cmp.Diff(want, got[0].Email); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if boxes[0] != "reed-a" || boxes[1] != "kim-b" || got[1].DateSource != "none" || !strings.HasSuffix(got[2].MessageID, "@no-id.invalid>") {
			t.Errorf("%s: %v %+v %+v", name, boxes, got[1], got[2])
		}
	}
}

// TestMissingColumn: a column that is not there would read as empty.
func TestMissingColumn(t *testing.T) {
	type row struct {
		MessageID string `parquet:"message_id"`
		From      string `parquet:"from"`
		Subject   string `parquet:"subject"`
	}
	var buf bytes.Buffer
	if err := parquet.Write(&buf, []row{{"<1@x>", "a@x", "s"}}); err != nil {
		t.Fatal(err)
	}
	const want = "read mail: standard input: has no column to, but message_id, from, subject"
	if _, err := readStdin(t, buf.Bytes(), ""); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestJSONL reads rows by the names that people use, and says what is wrong
// with others.
func TestJSONL(t *testing.T) {
	for line, want := range map[string]string{
		`{"Message-ID":"<1@x>","From":"A@x","To":"bo@x; cy@x","Date":"Mon, 5 Mar 2001 09:00:00 PST","content":"hi","mood":"good"}`: `a@x [bo@x cy@x] 2001-03-05T17:00:00Z "hi" {"mood":"good"}`,
		`{"message_id":"<1@x>","sender":"a@x","recipients":null,"date":"2001-03-05T09:00:00-08:00","text":"hi\u0000"}`:             `a@x [] 2001-03-05T17:00:00Z "hi" {}`,
		`{"from":"a@x","date":"soon"}`: `a@x [] 0001-01-01T00:00:00Z "" {}`,
		`{"file":"reed-a/sent/1.","message":"Message-ID: <1@x>\nFrom: a@x\nDate: 5 Mar 2001 09:00:00 +0000\n\nhi\n"}`: `a@x [] 2001-03-05T09:00:00Z "hi\n" {}`,
		`{"from":"a@x","to":7}`:         "error to: want a list of strings",
		`{"question":"why?"}`:           "error no mail record: want at least one of message_id, from, subject and body",
		`{"from":`:                      "error not a JSON object",
		`{"owner":"bo@x","from":"a@x"}`: "error message_id: missing",
	} {
		var got string
		src := New(Options{Stdin: strings.NewReader(line + "\n"), Kind: JSONL})
		for e := range src.Entries() {
			m, err := e.Message(time.Time{})
			if err != nil {
				got = "error " + err.Error()
				continue
			}
			got = summary(m)
		}
		if src.Err() != nil || got != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", line, got, src.Err(), want)
		}
	}
}

func summary(m *mail.Message) string {
	var extra []string
	for name, value := range m.Extra {
		extra = append(extra, `"`+name+`":`+string(value))
	}
	return strings.Join([]string{m.From, "[" + strings.Join(m.To, " ") + "]", m.Date.Format(time.RFC3339), quoted(m.Body), "{" + strings.Join(extra, ",") + "}"}, " ")
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, "\n", `\n`) + `"` }
