package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"assent/internal/hook"
	"assent/internal/show"
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

// watch allows nothing of which it showed only a part: its reader has not seen it.
func TestWatchAllowsOnlyWhatItShowed(t *testing.T) {
	var out bytes.Buffer
	w := &watch{app: &app{out: &out}, numbers: map[string]int{}, shown: map[string]string{}, requests: map[int]*request{}}
	twice, large := &request{State: "pending"}, &request{State: "pending"}
	twice.Request = hook.Request{ID: "twice", Uninspectable: "repeated member tool_input"}
	twice.Shown.Fields = []show.Field{{Name: "command", Text: "ls", Kind: show.KindCode}} // the last of two
	large.Request = hook.Request{ID: "large"}
	for i, r := range []*request{twice, large} {
		w.show(r)
		if !strings.Contains(out.String(), r.ID) && r == twice {
			t.Errorf("the reader is not told where to look: %s", out.String())
		}
		out.Reset()
		w.command(context.Background(), "a "+string(rune('1'+i))) // without a client: it must not get so far
		if !strings.Contains(out.String(), "not all of it was shown") {
			t.Errorf("%s: %q", r.ID, out.String())
		}
	}
}
