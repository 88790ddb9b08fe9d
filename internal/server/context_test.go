package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/reqcontext"
	"assent/internal/server"
)

// words are what no place but the API may hold.
const words = "MARK-the agent\u202e said"

const tailOfWords = `{"type":"user","message":{"content":"fix"}}` + "\n" +
	`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"` + words + `"}]}}` + "\n"

// withTail is a plain event that brings a transcript, which nobody asked for.
func withTail(*fort) strike {
	const body = `{"hook_event_name":"Stop","session_id":"s"}`
	return strike{path: "/v1/hooks/context", body: body + tailOfWords, header: http.Header{hook.HeaderContextLength: {strconv.Itoa(len(tailOfWords))}}}
}

// told is a server that keeps what is told beside requests.
func told(t *testing.T, f func(t *testing.T, g *rig, s *reqcontext.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := reqcontext.New(0)
		g := newRig(t, server.Config{
			Views:  server.Views{Contexts: s},
			Secret: func(_ *hook.Request, path string) bool { return filepath.Base(path) == ".env" },
		})
		defer g.stop()
		f(t, g, s)
	})
}

// raiseWith raises a request whose agent said something.
func (g *rig) raiseWith(body, tail string, header map[string]string) *waiting {
	g.t.Helper()
	all := map[string]string{hook.HeaderContextLength: strconv.Itoa(len(tail))}
	for name, value := range header {
		all[name] = value
	}
	return g.raise(call{unix: true, path: "/v1/hooks/context", body: body + tail, header: all})
}

func (g *rig) context(id string) *hook.Context {
	g.t.Helper()
	r := g.call(call{path: "/v1/requests/" + id, token: g.tokens[auth.RoleView]})
	valid(g.t, "PermissionRequest", r.body)
	return decode[struct{ Context *hook.Context }](g.t, r.body).Context
}

// What the agent said is in every view of its request while that waits, and in nothing else: neither in
// what was published or recorded, nor in the log, nor in any view once it is over.
func TestContextIsShownWhileItsRequestWaits(t *testing.T) {
	told(t, func(t *testing.T, g *rig, s *reqcontext.Store) {
		f := g.follow("")
		defer f.conn.Close()
		f.next()
		g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: mustJSON(fields{"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "fix the test"})})
		w := g.raiseWith(bash("ls"), tailOfWords, nil)
		check := func(where string, c *hook.Context) {
			t.Helper()
			if c == nil || c.Said != "MARK-the agent⟦U+202E⟧ said" || c.SaidBy != hook.SaidByAgent || c.Prompt != "fix the test" || c.PromptFrom != hook.PromptYou {
				t.Errorf("%s: %+v", where, c)
			}
		}
		check("by its id", g.context(w.id))
		list := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]})
		all := validList(t, "PermissionRequest", list.body)
		check("in the list", decode[struct{ Context *hook.Context }](t, string(all[0])).Context)
		f.until(func() bool { return f.state[w.id].State == "pending" })
		check("as a change", f.state[w.id].Context)
		late := g.follow("")
		defer late.conn.Close()
		check("in a snapshot", late.next().Requests[0].Context)

		v, err := g.broker.Get(t.Context(), w.id)
		if err != nil {
			t.Fatal(err)
		}
		if r := g.call(call{method: "POST", path: "/v1/requests/" + w.id + "/decision", token: g.tokens[auth.RoleApprove], body: mustJSON(fields{"behavior": "allow", "inputSha256": v.InputSHA256})}); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := <-w.reply; r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		s.Drop(w.id) // as the broker's Recorded does
		synctest.Wait()
		ended := g.call(call{path: "/v1/requests/" + w.id, token: g.tokens[auth.RoleView]})
		trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: g.tokens[auth.RoleView]})
		past := g.call(call{path: "/v1/requests?state=ended", token: g.tokens[auth.RoleView]})
		var published []byte
		for _, e := range g.published() {
			published = append(published, e.Raw...)
			e.Headers(func(name, value string) { published = append(published, name+value...) })
		}
		f.until(func() bool { return f.state[w.id].State == "ended" })
		again := g.follow("")
		defer again.conn.Close()
		for where, text := range map[string]string{
			"the request that is over": ended.body, "its trace": trace.body, "the list of those that are over": past.body,
			"what was published": string(published), "the log": g.lines.String(), "a change after the end": mustJSON(f.state[w.id].Context), "a new snapshot": mustJSON(again.next()),
		} {
			if strings.Contains(text, "MARK") || strings.Contains(text, `"context"`) {
				t.Errorf("%s holds it: %s", where, text)
			}
		}
		records, err := g.broker.Trace(t.Context(), w.id)
		if err != nil || strings.Contains(mustJSON(records), "MARK") {
			t.Errorf("the record holds it: %v", err)
		}
		if len(v.Raw) != len(bash("ls")) || cap(v.Raw) > 2*len(v.Raw)+64 {
			t.Errorf("the payload is kept in %d bytes of %d", len(v.Raw), cap(v.Raw))
		}
	})
}

// The second part has to be as long as it says, and not longer than it may be. Old hooks and others send
// none.
func TestBodyWithTranscript(t *testing.T) {
	told(t, func(t *testing.T, g *rig, s *reqcontext.Store) {
		long := strings.Repeat("x", hook.MaxTranscript)
		for _, c := range []struct {
			name, path, body, length string
			status                   int // 0: it waits
			said, why                string
		}{
			{"an older hook", "/v1/hooks", bash("ls"), "", 0, "", hook.SaidUnknown},
			{"a length on the other route means nothing", "/v1/hooks", bash("ls"), "5", 0, "", hook.SaidUnknown},
			{"as much as may be", "/v1/hooks/context", bash("ls") + long, strconv.Itoa(len(long)), 0, "", hook.SaidBeyond},
			{"none", "/v1/hooks/context", bash("ls"), "0", 0, "", hook.SaidUnknown},
			{"more", "/v1/hooks/context", bash("ls") + long + "x", strconv.Itoa(len(long) + 1), 400, "", ""},
			{"longer than the body", "/v1/hooks/context", "{}", "3", 400, "", ""},
			{"no length", "/v1/hooks/context", bash("ls"), "", 400, "", ""},
			{"no number", "/v1/hooks/context", bash("ls"), "-1", 400, "", ""},
			{"a payload that is cut", "/v1/hooks/context", bash("ls"), "10", 204, "", ""},
			{"another event", "/v1/hooks/context", `{"hook_event_name":"Stop","session_id":"s"}` + tailOfWords, strconv.Itoa(len(tailOfWords)), 204, "", ""},
		} {
			header := map[string]string{hook.HeaderRequestID: uuid.NewString()}
			if c.length != "" {
				header[hook.HeaderContextLength] = c.length
			}
			if c.status != 0 {
				if r := g.call(call{unix: true, method: "POST", path: c.path, body: c.body, header: header}); r.status != c.status {
					t.Errorf("%s: %d %s", c.name, r.status, r.body)
				}
				continue
			}
			w := g.raise(call{unix: true, path: c.path, body: c.body, header: header})
			if got := g.context(w.id); got == nil || got.Said != c.said || got.SaidWhy != c.why {
				t.Errorf("%s: %+v", c.name, got)
			}
			w.cancel()
			synctest.Wait()
		}
		for _, e := range g.published() {
			if strings.Contains(string(e.Raw), "MARK") {
				t.Errorf("published: %s", e.Raw)
			}
		}
	})
}

// A long text of a file is fetched with its request; another user's request brings none.
func TestContextOfAFile(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	long := filepath.Join(dir, "long.txt")
	if err := os.WriteFile(long, []byte(strings.Repeat("0123456789abcdef\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	told(t, func(t *testing.T, g *rig, s *reqcontext.Store) {
		body := mustJSON(fields{"session_id": "s", "cwd": dir, "hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": fields{"file_path": "long.txt", "content": "x"}})
		w := g.raise(call{unix: true, body: body, header: map[string]string{hook.HeaderHost: host}})
		if c := g.context(w.id); c.Before == nil || c.Before.Text == nil || len(*c.Before.Text) != 17000 {
			t.Errorf("by its id: %+v", c.Before)
		}
		list := validList(t, "PermissionRequest", g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]}).body)
		var doc struct{ Context hook.Context }
		if err := json.Unmarshal(list[0], &doc); err != nil || doc.Context.Before == nil || doc.Context.Before.Why != hook.BeforePartial {
			t.Errorf("in the list: %s", list[0])
		}
		w.cancel()
		w = g.raise(call{body: body, token: g.tokens[auth.RoleSubmit], header: map[string]string{hook.HeaderHost: host}})
		if c := g.context(w.id); c.Before == nil || c.Before.Why != hook.BeforeRemote {
			t.Errorf("of a token's holder: %+v", c.Before)
		}
		w.cancel()
	})
}
