package tree

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzPlainLeafLine: what the short way takes, the reader of JSON takes, too, as the same.
func FuzzPlainLeafLine(f *testing.F) {
	for _, line := range []LeafLine{
		{TypeLeaf, 0, "assent start v1\n1\n2026-11-28T05:00:00Z\n", nil},
		{TypeLeaf, 417, "assent record v1\n1\n\n\n\n\n00\n", []byte{0, 1, 2, 3}},
		{TypeLeaf, 9, "a<b>&\u00e9\"\\\t", []byte("x")},
		{TypeLeaf, -1, "", []byte{}},
	} {
		text, err := json.Marshal(line)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{"type":"leaf","n":01,"leaf":""}`, `{"type":"leaf","n":+1,"leaf":""}`, `{"type":"leaf","n":,"leaf":""}`, `{"type":"leaf","n":1,"leaf":"","entry":""}`,
		`{"type":"leaf","n":1,"leaf":"","entry":"AB=="}`, `{"type":"leaf","n":1,"leaf":"","entry":"AAAA"}}`, `{"type":"leaf","n":1,"leaf":"a` + "\x7f" + `"}`,
		`{"type":"leaf","n":1,"leaf":"\\"}`, `{"type":"leaf","n":1,"leaf":"","entry":"AA` + "\n" + `AA"}`, `{"type":"leaf","n":99999999999999999999,"leaf":""}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line, ok := plainLeafLine(text)
		if !ok {
			return
		}
		want, err := parseJSONLine(text)
		if err != nil || !reflect.DeepEqual(line, want) {
			t.Errorf("%q: got %+v, want %+v, %v", text, line, want, err)
		}
	})
}

func TestPlainLeafLineIsTaken(t *testing.T) {
	for _, line := range []LeafLine{
		{TypeLeaf, 0, "assent start v1\n1\n2026-11-28T05:00:00Z\n", nil},
		{TypeLeaf, 417, "assent record v1\n1\n\n\n\n\n00\n", []byte{0, 1, 2, 3}},
	} {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := plainLeafLine(text); !ok || !reflect.DeepEqual(*got, line) {
			t.Errorf("%s: got %+v, %v", text, got, ok)
		}
	}
}
