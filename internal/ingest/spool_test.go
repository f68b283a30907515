package ingest

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

// fill sets every field below v to something, so that one which is forgotten on
// the way shows.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2001, 3, 5, 9, 0, 0, 123456000, time.UTC)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	}
}

// TestSpool: what comes back is what went in, apart by mailbox, also through
// the file, of which nothing is left.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	s := newSpool(dir)
	want := map[string][]stored{}
	for i := range 300 {
		m := &mail.Message{}
		fill(reflect.ValueOf(m).Elem())
		m.MessageID, m.Body = fmt.Sprintf("<%d@x>", i), strings.Repeat("long ", i*i%5000)
		box := fmt.Sprintf("box-%d", i%7)
		key := keyOf(&m.Email)
		if err := s.add(box, m, key); err != nil {
			t.Fatal(err)
		}
		want[box] = append(want[box], stored{m.Email, key[:]})
		if i%50 == 49 {
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := map[string][]stored{}
	for _, box := range s.names() {
		for m, err := range s.mails(box) {
			if err != nil {
				t.Fatal(err)
			}
			got[box] = append(got[box], *m)
		}
		who, err := s.identity(box)
		if err != nil || who.seen["x"] == 0 {
			t.Errorf("identity of %s: %+v, %v", box, who, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.size == 0 || s.held != 0 && s.held > spoolBuffer {
		t.Errorf("%d bytes in the file, %d held", s.size, s.held)
	}
	s.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
