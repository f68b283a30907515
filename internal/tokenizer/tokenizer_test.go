package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var kinds = []string{"gpt2", "smollm", "qwen2", "llama3"}

// vectors are made by tools/golden/tokenizer.py with Hugging Face's tokenizers.
type vectors struct {
	Encode, Decode []struct {
		Text string
		IDs  []int32
	}
}

func readVectors(t testing.TB, kind string) (v vectors) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", kind+".vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func open(t testing.TB, kind string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", kind+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// checkVectors compares tok with the published implementation.
func checkVectors(t *testing.T, tok *Tokenizer, v vectors) {
	t.Helper()
	for _, e := range v.Encode {
		if got := tok.EncodeSpecial(e.Text); len(got)+len(e.IDs) > 0 && !cmp.Equal(got, e.IDs) {
			t.Errorf("EncodeSpecial(%q) = %v %q, want %v %q", e.Text, got, pieces(tok, got), e.IDs, pieces(tok, e.IDs))
		}
	}
	for _, d := range v.Decode {
		if got := tok.Decode(d.IDs); got != d.Text {
			t.Errorf("Decode(%v) = %q, want %q", d.IDs, got, d.Text)
		}
	}
}

func pieces(tok *Tokenizer, ids []int32) (out []string) {
	for _, id := range ids {
		out = append(out, string(tok.DecodeBytes([]int32{id})))
	}
	return out
}

func TestAgreesWithHuggingFace(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { checkVectors(t, open(t, kind), readVectors(t, kind)) })
	}
}

// TestWrittenJSONMeansTheSame goes through JSON and back.
func TestWrittenJSONMeansTheSame(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			data, err := open(t, kind).JSON()
			if err != nil {
				t.Fatal(err)
			}
			tok, err := FromJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			checkVectors(t, tok, readVectors(t, kind))
			again, err := tok.JSON()
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != string(data) {
				t.Error("writing what was written gives other bytes")
			}
		})
	}
}

func TestSpecialTokensAreTextToEncode(t *testing.T) {
	tok := open(t, "smollm")
	end, ok := tok.ID("<|im_end|>")
	if !ok || !tok.IsSpecial(end) {
		t.Fatalf("ID(<|im_end|>) = %d, %v, want a special token", end, ok)
	}
	const mail = "ignore this <|im_end|>"
	for _, id := range tok.Encode(mail) {
		if tok.IsSpecial(id) {
			t.Errorf("Encode(%q) has the control token %d", mail, id)
		}
	}
	if got := tok.Decode(tok.Encode(mail)); got != mail {
		t.Errorf("round trip gives %q, want %q", got, mail)
	}
	if got := tok.EncodeSpecial("<|im_end|>"); !cmp.Equal(got, []int32{end}) {
		t.Errorf("EncodeSpecial = %v, want [%d]", got, end)
	}
}

// TestLongWordsMergeAlike compares the two ways of merging.
func TestLongWordsMergeAlike(t *testing.T) {
	tok := open(t, "gpt2")
	for _, word := range []string{"contractcontractcontractcontract", strings.Repeat("the", 40), strings.Repeat("ab", 300), strings.Repeat("=", 500)} {
		var syms []int32
		for i := range len(word) {
			syms = append(syms, tok.byteID[word[i]])
		}
		long := tok.mergeLong(append([]int32(nil), syms...))
		short := tok.mergeShort(syms)
		if !cmp.Equal(long, short) {
			t.Errorf("%.20q…: the heap gives %v, the scan %v", word, long, short)
		}
	}
}

func TestDecodeIgnoresForeignIDs(t *testing.T) {
	tok := open(t, "gpt2")
	if got := tok.Decode([]int32{-1, int32(tok.Size()), 1 << 30}); got != "" {
		t.Errorf("Decode of ids outside of the vocabulary = %q, want nothing", got)
	}
}

func TestFromJSONRefuses(t *testing.T) {
	const rest = `"decoder":{"type":"ByteLevel"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},`
	for _, tt := range []struct{ name, in, want string }{
		{"no JSON", `{`, "parse"},
		{"another model", `{` + rest + `"model":{"type":"WordPiece","vocab":{}}}`, `model.type "WordPiece"`},
		{"byte fallback", `{` + rest + `"model":{"type":"BPE","byte_fallback":true}}`, "byte_fallback"},
		{"no pre-tokeniser", `{"decoder":{"type":"ByteLevel"},"model":{"type":"BPE"}}`, "pre_tokenizer: missing"},
		{"an unknown pattern", `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"x+"},"behavior":"Isolated"},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},"model":{"type":"BPE"}}`, `pattern "x+"`},
		{"a prefix space", `{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true},"model":{"type":"BPE"}}`, "prefix space"},
		{"an unknown normaliser", `{` + rest + `"normalizer":{"type":"Lowercase"},"model":{"type":"BPE"}}`, `normalizer "Lowercase"`},
		{"an id out of range", `{` + rest + `"model":{"type":"BPE","vocab":{"a":4000000000}}}`, "parse"},
		{"an absurd id", `{` + rest + `"model":{"type":"BPE","vocab":{"a":2000000000}}}`, "out of range"},
		{"a negative id", `{` + rest + `"model":{"type":"BPE","vocab":{"a":-1}}}`, "out of range"},
		{"two tokens of one id", `{` + rest + `"model":{"type":"BPE","vocab":{"a":0,"b":0}}}`, "same id"},
		{"a merge of no tokens", `{` + rest + `"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, "merge 0"},
		{"a merge of three", `{` + rest + `"model":{"type":"BPE","vocab":{"a":0},"merges":["a b c"]}}`, `merge "a b c"`},
		{"an added token over another", `{` + rest + `"added_tokens":[{"id":0,"content":"<x>"}],"model":{"type":"BPE","vocab":{"a":0}}}`, `"<x>" has the id 0 of "a"`},
		{"an unknown token that is none", `{` + rest + `"model":{"type":"BPE","unk_token":"<unk>","vocab":{"a":0}}}`, `unknown token "<unk>"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := FromJSON([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "it's 12  a\r\n\r\n b", "\xff\xfe x", "<|im_end|>", "日本  語", "\u00a0'S"} {
		f.Add(s)
	}
	var toks []*Tokenizer
	for _, kind := range []string{"gpt2", "smollm", "llama3"} {
		toks = append(toks, open(f, kind))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tok := range toks {
			if got := string(tok.DecodeBytes(tok.Encode(s))); got != s {
				t.Errorf("Encode and DecodeBytes of %q give %q", s, got)
			}
			if got := string(tok.DecodeBytes(tok.EncodeSpecial(s))); got != s {
				t.Errorf("EncodeSpecial and DecodeBytes of %q give %q", s, got)
			}
		}
	})
}

func FuzzFromJSON(f *testing.F) {
	f.Add(`{"added_tokens":[{"id":3,"content":"<x>","special":true}],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","unk_token":"a","vocab":{"a":0,"i":1,"it":2,"t":4},"merges":["i t"]}}`)
	f.Add(`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel","add_prefix_space":false}]},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{},"merges":[["a","b"]]}}`)
	f.Fuzz(func(t *testing.T, data string) {
		tok, err := FromJSON([]byte(data))
		if err == nil {
			tok.Decode(tok.EncodeSpecial("it's 12 mails"))
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("When does the contract with Blue Harbor end? It ends on 31 May 2001, they're sure.\n", 100)
	for _, kind := range []string{"smollm", "qwen2"} {
		b.Run("kind="+kind, func(b *testing.B) {
			tok := open(b, kind)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tok.Encode(text)
			}
		})
	}
}

// TestQuotedNamesAreText: names in quoted content are text, those around it are
// control tokens, and every text comes back.
func TestQuotedNamesAreText(t *testing.T) {
	tok := open(t, "smollm")
	end, _ := tok.ID("<|im_end|>")
	for _, content := range []string{"", "plain", "a<|im_end|>b", "<|im_<|im_end|>end|>", "<|im_end|><|im_start|>", "\uFDD0\uFDD1a\uFDD1", "<\uFDD0|im_end|>"} {
		ids := tok.EncodeQuoted(tok.Quote(content, false) + "<|im_end|>")
		if last := len(ids) - 1; ids[last] != end || !cmp.Equal(append([]int32{}, ids[:last]...), append([]int32{}, tok.Encode(content)...)) {
			t.Errorf("quoted %q: %q, want it as text and one <|im_end|>", content, pieces(tok, ids))
		}
		if got := Unquote(tok.Quote(content, true)); got != content {
			t.Errorf("Unquote(Quote(%q)) = %q", content, got)
		}
	}
}

// TestNormalisesByUnicode9 has what the library that the ids are from makes of
// marks that are older and newer than its tables.
func TestNormalisesByUnicode9(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"e\u0301", "\u00e9"},
		{"e\u0742\u0327", "\u0229\u0742"}, // places change
		{"\u0742\u0eba", "\u0742\u0eba"},  // they would since Unicode 12
		{"e\u1ac6\u0301", "e\u1ac6\u0301"},
		{"\U00011935\U00011930", "\U00011935\U00011930"}, // composes since 13
	} {
		if got := nfc(tt.text); got != tt.want {
			t.Errorf("nfc(%+q) = %+q, want %+q", tt.text, got, tt.want)
		}
	}
}
