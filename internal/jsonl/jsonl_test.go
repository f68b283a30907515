package jsonl

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	r := NewReader(strings.NewReader("\ufeff\n{\"a\":1}\r\n\n  \n2\n" + strings.Repeat("x", 100_000) + "\nlast"))
	type line struct {
		n int
		s string
	}
	want := []line{{2, `{"a":1}`}, {5, "2"}, {6, strings.Repeat("x", 100_000)}, {7, "last"}}
	var got []line
	for {
		data, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line{n, string(data)})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongLineIsAnError(t *testing.T) {
	r := NewReaderSize(strings.NewReader("ok\n"+strings.Repeat("x", 200_000)), 1000)
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Next(); err == nil || err.Error() != "line 2: longer than 1000 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestExtra(t *testing.T) {
	known := Names(reflect.TypeFor[struct {
		A      int    `json:"a,omitempty"`
		B      string `json:"b"`
		Hidden int    `json:"-"`
	}]())
	for _, tt := range []struct{ name, in, want string }{
		{"nothing unknown", `{"a":1,"b":"x"}`, `{}`},
		{"all kinds of values", ` { "a" : 1 , "s" : "}\",{" , "o":{"x":[1,{"y":"]"}]},"n":null ,"f":-1e9, "t": true}`, `{"f":-1e9,"n":null,"o":{"x":[1,{"y":"]"}]},"s":"}\",{","t":true}`},
		{"case does not matter, as in encoding/json", `{"A":1,"c":2}`, `{"c":2}`},
		{"escaped name", `{"q\"\u00e9":1}`, `{"q\"é":1}`},
		{"empty", `{}`, `{}`},
		{"empty containers", `{"x":{},"y":[],"z":""}`, `{"x":{},"y":[],"z":""}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Splice([]byte("{}"), Extra([]byte(tt.in), known))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func FuzzExtra(f *testing.F) {
	f.Add(`{"a":1,"b":{"c":[1,2,"x\""]},"d":"\\"}`)
	f.Add(`{"":[{},[]],"x":null}`)
	f.Fuzz(func(t *testing.T, in string) {
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(in), &want) != nil || len(want) == 0 {
			t.Skip("not an object with members")
		}
		if diff := cmp.Diff(want, Extra([]byte(in), nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	})
}

func TestSplice(t *testing.T) {
	got, err := Splice([]byte(`{"a":1}`), map[string]json.RawMessage{"z": []byte(` [ 1 ] `), "b<": []byte(`"&"`)})
	if want := `{"a":1,"b<":"&","z":[1]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := Splice([]byte(`{}`), map[string]json.RawMessage{"bad": []byte(`{`)}); err == nil {
		t.Error("broken value: got no error")
	}
}

func TestUnmarshal(t *testing.T) {
	var v struct {
		Size  int               `json:"size"`
		Names []string          `json:"names"`
		Map   map[string]string `json:"map"`
		Inner struct {
			On bool `json:"on"`
		} `json:"inner"`
	}
	for in, want := range map[string]string{
		`{"size":1}`:             "",
		`{"size":1.5}`:           "size: is a number 1.5, want a whole number",
		`{"names":"x"}`:          "names: is a string, want a list",
		`{"map":[]}`:             "map: is an array, want an object",
		`{"inner":{"on":"yes"}}`: "inner.on: is a string, want true or false",
		`[]`:                     "is an array, want an object",
		`{"size":`:               "not valid JSON: unexpected end of JSON input (byte 8)",
	} {
		got := ""
		if err := Unmarshal([]byte(in), &v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
