package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// JSON may hold controls that a terminal obeys; what the commands print may not.
func TestJSONIsFitForATerminal(t *testing.T) {
	hostile := "{\"command\":\"echo \u009b2J\u009d0;title\u009c \u202efr- mr\x7f\"}"
	var out bytes.Buffer
	a := &app{out: &out}
	if err := a.printJSON(json.RawMessage(hostile)); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSpace(strings.ReplaceAll(out.String(), "\n", "")) {
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar {
			t.Errorf("%U in %q", r, out.String())
		}
	}
}

// watch allows nothing of which it showed only a part: its reader has not seen it.
func TestWatchAllowsOnlyWhatItShowed(t *testing.T) {
	var out bytes.Buffer
	w := &watch{app: &app{out: &out}, numbers: map[string]int{}, shown: map[string]string{}, requests: map[int]*api.Request{}}
	twice, large := &api.Request{State: "pending"}, &api.Request{State: "pending"}
	twice.Request = hook.Request{ID: "twice", Uninspectable: "repeated member tool_input"}
	twice.Shown = &show.Shown{Fields: []show.Field{{Name: "command", Text: "ls", Kind: show.KindCode}}} // the last of two
	large.Request = hook.Request{ID: "large"}
	for i, r := range []*api.Request{twice, large} {
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

const hostileText = "x\x1b]0;title\x07\u009b2J\u202e\nend"

// wantCalm fails if a terminal would obey anything in text but line breaks and tabs.
func wantCalm(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range strings.NewReplacer("\n", "", "\t", "").Replace(text) {
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar {
			t.Errorf("%s: %U in %q", what, r, text)
			return
		}
	}
}

// Whoever has the port of --url may answer: no word of theirs reaches the terminal as it is.
func TestAnswersOfAHostileBroker(t *testing.T) {
	x := hostileText
	answer := map[string]any{
		"GET /v1/devices": []any{map[string]any{"id": x, "name": x, "role": x}},
		"GET /v1/tokens":  []any{map[string]any{"id": x, "name": x, "role": x}},
		"POST /v1/tokens": map[string]any{"id": x, "name": x, "role": x, "token": x},
		"POST /v1/pair":   map[string]any{"url": "https://h/" + x, "code": x},
		"GET /v1/requests": []any{map[string]any{"id": x, "toolName": x, "sessionId": x,
			"shown": map[string]any{"verb": x, "fields": []any{map[string]any{"name": x, "text": x, "kind": "code"}}}}},
		"GET /v1/sessions":       []any{map[string]any{"sessionId": "sess1", "title": x, "cwd": "/home/" + x + "/p", "lastPos": 1}},
		"GET /v1/sessions/sess1": map[string]any{"sessionId": "sess1", "title": x, "cwd": "/home/" + x + "/p", "lastPos": 1},
		"GET /v1/sessions/sess1/feed": []any{map[string]any{"pos": 1, "kind": x, "title": x, "body": x, "ui": map[string]any{"badge": x}, "data": map[string]any{}},
			map[string]any{"pos": 2, "kind": "message", "title": x, "body": x, "data": map[string]any{}}},
		"GET /v1/search": []any{map[string]any{"title": x, "agentTitle": x, "event": map[string]any{"pos": 1, "kind": "message", "session_id": x, "title": x, "body": "words " + x, "data": map[string]any{}}}},
		"GET /v1/requests/4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1/trace": []any{map[string]any{"step": x, "outcome": x, "by": map[string]any{"kind": x}}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if after := r.URL.Query().Get("after"); after != "" && after != "0" {
			_, _ = io.WriteString(w, "[]") // there is one page
			return
		}
		_ = json.NewEncoder(w).Encode(answer[r.Method+" "+r.URL.Path]) // null for the rest
	}))
	defer srv.Close()
	t.Setenv("ASSENT_TOKEN", "token")
	for _, line := range []string{"device list", "token list", "token create --role view --name n", "pair", "pair --qr", "pending", "trace 4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1",
		"sessions", "feed sess1", "feed sess1 --lines", "feed sess1 --all", "search words"} {
		var out, errs bytes.Buffer
		run(t.Context(), append(strings.Fields(line), "--url", srv.URL), strings.NewReader(""), &out, &errs)
		if !strings.Contains(out.String(), "x⟦U+001B⟧]0;title") {
			t.Errorf("%s: %q, %q", line, out.String(), errs.String())
		}
		wantCalm(t, line, out.String()+errs.String())
	}
}

// What the broker has made visible already stays as it is.
func TestWatchOfAHostileBroker(t *testing.T) {
	var out bytes.Buffer
	w := &watch{app: &app{out: &out}, numbers: map[string]int{}, shown: map[string]string{}, requests: map[int]*api.Request{}}
	r := &api.Request{State: "pending"}
	r.ID, r.Uninspectable = hostileText, hostileText
	r.Shown = &show.Shown{Verb: hostileText, Fields: []show.Field{{Name: hostileText, Text: hostileText + " ⟦U+202E⟧", Kind: show.KindCode}}}
	w.show(r)
	after := *r
	after.Delivery, after.Outcome, after.State = hostileText, hostileText, hostileText
	w.show(&after)
	w.apply(&api.Message{Type: "snapshot"})
	if !strings.Contains(out.String(), " ⟦U+202E⟧\n") {
		t.Errorf("made visible twice: %s", out.String())
	}
	wantCalm(t, "watch", out.String())
}

// An error names files, and a repository names its files as it likes.
func TestErrorsAreFitForATerminal(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", t.TempDir())
	if err := os.Symlink("/nowhere/"+hostileText, filepath.Join(dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"uninstall", "--scope", "project", "--yes"}, strings.NewReader(""), &out, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "⟦U+001B⟧]0;title") {
		t.Errorf("%d: %q", code, errs.String())
	}
	wantCalm(t, "uninstall", out.String()+errs.String())
}
