package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// JSON may hold controls that a terminal obeys; what the commands print may not.
func TestJSONIsFitForATerminal(t *testing.T) {
	hostile := "{\"command\":\"echo \u009b2J\u009d0;title\u009c \u202efr- mr\x7f\"}"
	var out bytes.Buffer
	a := &app{out: &out}
	if err := a.printJSON(json.RawMessage(hostile)); err != nil {
		t.Fatal(err)
	}
	out.Write(oneLine([]byte(hostile)))
	out.Write(oneLine([]byte("{\"command\":\"\x9b2J\"}"))) // what an 8-bit terminal obeys
	out.Write(oneLine([]byte("no JSON \u009b2J \x9b")))
	for _, r := range strings.TrimSpace(strings.ReplaceAll(out.String(), "\n", "")) {
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar {
			t.Errorf("%U in %q", r, out.String())
		}
	}
}
