package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/internal/auth"
	"assent/internal/server"
	"assent/internal/store/history"
)

// remembering is bubble with a history.
func remembering(t *testing.T, f func(t *testing.T, g *rig, past *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		past := newMemory(t)
		g := newRig(t, server.Config{History: past})
		defer g.stop()
		f(t, g, past)
	})
}

func (g *rig) view(path string, status int) reply {
	g.t.Helper()
	r := g.call(call{path: path, token: g.tokens[auth.RoleView]})
	if r.status != status {
		g.t.Fatalf("%s: %d, want %d: %s", path, r.status, status, r.body)
	}
	return r
}

type sessionDoc struct {
	SessionID, Title, State                              string
	QueueCount, PermissionQueueCount, QuestionQueueCount int
	LastPos                                              uint64
	CurrentRun                                           json.RawMessage
}

func (g *rig) sessionList(query string) []sessionDoc {
	g.t.Helper()
	var list []sessionDoc
	for _, doc := range validList(g.t, "SessionInfo", g.view("/v1/sessions"+query, 200).body) {
		list = append(list, decode[sessionDoc](g.t, string(doc)))
	}
	return list
}

func (g *rig) session(id string) sessionDoc {
	g.t.Helper()
	body := g.view("/v1/sessions/"+id, 200).body
	valid(g.t, "SessionInfo", body)
	return decode[sessionDoc](g.t, body)
}

func TestSessionsAreMerged(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		past.hook("old", "UserPromptSubmit", `,"prompt":"Mend the door"`)
		time.Sleep(time.Second)
		past.hook("s1", "UserPromptSubmit", `,"prompt":"Tidy up"`)
		// The past follows at its own pace; who waits is the broker's to say.
		g.raise(call{unix: true, body: bash("make")})
		question := strings.Replace(bash("x"), `"tool_name":"Bash"`, `"tool_name":"AskUserQuestion"`, 1)
		g.raise(call{unix: true, body: question})
		g.raise(call{unix: true, body: strings.Replace(bash("x"), `"s1"`, `"new"`, 1)})

		list := g.sessionList("")
		if len(list) != 3 || list[0].SessionID != "new" || list[1].SessionID != "s1" || list[2].SessionID != "old" {
			t.Fatalf("%+v", list)
		}
		if s := list[0]; s.QueueCount != 1 || s.State != "blocked_on_permission" || s.LastPos != 0 {
			t.Errorf("%+v", s)
		}
		for _, s := range []sessionDoc{list[1], g.session("s1")} {
			if s.QueueCount != 2 || s.PermissionQueueCount != 1 || s.QuestionQueueCount != 1 || s.State != "blocked_on_permission" ||
				s.Title != "Tidy up" || s.LastPos == 0 || s.CurrentRun == nil {
				t.Errorf("%+v", s)
			}
		}
		if s := list[2]; s.QueueCount != 0 || s.State != "working" || s.Title != "Mend the door" {
			t.Errorf("%+v", s)
		}
		if page := g.sessionList("?limit=1"); len(page) != 1 || page[0].SessionID != "new" {
			t.Errorf("%+v", page)
		}
		if page := g.sessionList("?after=s1"); len(page) != 1 || page[0].SessionID != "old" {
			t.Errorf("%+v", page)
		}
		g.view("/v1/sessions?after=nobody", 400)
		g.view("/v1/sessions?limit=0", 400)
		g.view("/v1/sessions/nobody", 404)

		// Without the past there is what the broker knows.
		past.say(fmt.Errorf("%w: its file is damaged", history.ErrNotReady))
		if list := g.sessionList(""); len(list) != 2 || list[0].Title != "" || list[0].QueueCount == 0 {
			t.Errorf("%+v", list)
		}
		if page := g.sessionList("?after=new"); len(page) != 1 || page[0].SessionID != "s1" {
			t.Errorf("%+v", page)
		}
		g.view("/v1/sessions?after=nobody", 400)
		if s := g.session("s1"); s.QuestionQueueCount != 1 {
			t.Errorf("%+v", s)
		}
		for _, path := range []string{"/v1/sessions/old", "/v1/sessions/s1/feed", "/v1/sessions/s1/feed/1", "/v1/search?q=x"} {
			if r := g.view(path, 503); !strings.Contains(r.body, "history is not available") || strings.Contains(r.body, "damaged") {
				t.Errorf("%s: %s", path, r.body)
			}
		}
	})
}

func TestFeedPages(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		past.hook("s", "UserPromptSubmit", `,"prompt":"one"`)
		past.hook("s", "Notification", `,"message":"two"`)
		past.hook("s", "Notification", `,"message":"three"`)
		all := validList(t, "feed/Event", g.view("/v1/sessions/s/feed", 200).body)
		if len(all) != 4 { // the prompt opens a run
			t.Fatalf("%d events", len(all))
		}
		var got []json.RawMessage
		for after := 0; ; after++ {
			page := validList(t, "feed/Event", g.view(fmt.Sprintf("/v1/sessions/s/feed?limit=1&after=%d", after), 200).body)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if mustJSON(got) != mustJSON(all) {
			t.Errorf("by pages:\n%s\nat once:\n%s", mustJSON(got), mustJSON(all))
		}
		g.view("/v1/sessions/nobody/feed", 404)
		for _, query := range []string{"after=-1", "after=x", "limit=0", "limit=x", "after=99999999999999999999"} {
			g.view("/v1/sessions/s/feed?"+query, 400)
		}
		// One event with its payload, and one that has none.
		one := g.view("/v1/sessions/s/feed/3", 200).body
		valid(t, "feed/Event", one)
		if raw := decode[struct{ Raw string }](t, one).Raw; !strings.Contains(raw, `"message":"two"`) {
			t.Errorf("raw is %q", raw)
		}
		valid(t, "feed/Event", g.view("/v1/sessions/s/feed/1", 200).body)
		for _, pos := range []string{"0", "5", "x", "-1"} {
			g.view("/v1/sessions/s/feed/"+pos, 404)
		}
		found := validList(t, "Found", g.view("/v1/search?q=tw", 200).body)
		if len(found) != 1 || !strings.Contains(string(found[0]), `"sessionTitle":"one"`) {
			t.Errorf("found %s", mustJSON(found))
		}
		id := decode[struct{ ID uint64 }](t, string(found[0])).ID
		if r := g.view(fmt.Sprintf("/v1/search?q=tw&after=%d", id), 200); strings.TrimSpace(r.body) != "[]" {
			t.Errorf("after the last: %s", r.body)
		}
		if r := g.view("/v1/search", 400); !strings.Contains(r.body, `"problem":"want at least one word to look for"`) {
			t.Errorf("without a word: %s", r.body)
		}
		g.view("/v1/search?q="+strings.Repeat("x", 1025), 400)
	})
}

func TestForgetSession(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		forget := func(id string) int {
			return g.call(call{method: http.MethodDelete, path: "/v1/sessions/" + id, token: g.tokens[auth.RoleAdmin]}).status
		}
		past.hook("waits", "PermissionRequest", `,"tool_name":"Bash","tool_input":{}`)
		past.busy = "waits"
		past.hook("s", "Notification", `,"message":"two"`)
		if got := []int{forget("waits"), forget("nobody"), forget("s"), forget("s")}; fmt.Sprint(got) != "[409 404 204 404]" {
			t.Errorf("%v", got)
		}
		if list := g.sessionList(""); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}

// TestForgetSessionAgain: where a part of forgetting a session fails, the session is still there, and can be forgotten once more.
func TestForgetSessionAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		past := newMemory(t)
		var fails error
		g := newRig(t, server.Config{History: past, ForgetAgent: func(context.Context, string) error { return fails }})
		defer g.stop()
		forget := func() int {
			return g.call(call{method: http.MethodDelete, path: "/v1/sessions/s", token: g.tokens[auth.RoleAdmin]}).status
		}
		past.hook("s", "Notification", `,"message":"two"`)
		fails = broker.ErrUnavailable
		first := forget()
		fails = nil
		if got := []int{first, forget(), forget()}; fmt.Sprint(got) != "[503 204 404]" {
			t.Errorf("%v", got)
		}
	})
}

type feedDoc struct {
	Type, SessionID, Epoch string
	Reset                  bool
	Events                 []struct{ Pos uint64 }
	Sessions               []sessionDoc
}

// nextFeed reads one message.
func (f *follower) nextFeed() feedDoc {
	f.t.Helper()
	_, b, err := f.conn.ReadMessage()
	if err != nil {
		f.t.Fatal(err)
	}
	valid(f.t, "ws/Message", string(b))
	return decode[feedDoc](f.t, string(b))
}

// positions reads feed messages up to position last.
func (f *follower) positions(last uint64) string {
	f.t.Helper()
	var got []uint64
	for len(got) == 0 || got[len(got)-1] != last {
		m := f.nextFeed()
		if m.Type != "feed" || m.SessionID != "s" {
			f.t.Fatalf("%+v", m)
		}
		if m.Reset {
			got = append(got, 0)
		}
		for _, e := range m.Events {
			got = append(got, e.Pos)
		}
	}
	return fmt.Sprint(got)
}

// TestSocketKnowsAnotherFeed: a session was forgotten while its reader was away, and has come as far
// again since. The reader must not put the new events behind the old ones.
func TestSocketKnowsAnotherFeed(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		say := func(n int) {
			for range n {
				past.hook("s", "Notification", `,"message":"x"`)
			}
		}
		third := func() string {
			page := validList(t, "feed/Event", g.view("/v1/sessions/s/feed?after=2&limit=1", 200).body)
			return decode[struct {
				ID string `json:"event_id"`
			}](t, string(page[0])).ID
		}
		follow := func(last string) string {
			f := g.follow("?feed=s&after=3&last=" + url.QueryEscape(last))
			defer f.conn.Close()
			return f.positions(5)
		}
		say(4) // with the start of a run they are 5
		was := third()
		if got := follow(was); got != "[4 5]" {
			t.Errorf("the same feed goes on with %s", got)
		}
		g.call(call{method: http.MethodDelete, path: "/v1/sessions/s", token: g.tokens[auth.RoleAdmin]})
		say(4)
		if third() == was {
			t.Fatal("an event of another feed has the same id")
		}
		if got := follow(was); got != "[0 1 2 3 4 5]" {
			t.Errorf("another feed goes on with %s", got)
		}
		if got := follow(""); got != "[4 5]" {
			t.Errorf("without an id it goes on with %s", got)
		}
	})
}

func TestSocketFollowsFeed(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		early := g.follow("?feed=s") // before anybody has heard of it
		defer early.conn.Close()
		synctest.Wait()
		say := func() { past.hook("s", "Notification", `,"message":"x"`) }
		say()
		say()
		first := early.positions(3) // the first opens a run
		late := g.follow("?feed=s&after=1")
		defer late.conn.Close()
		synctest.Wait()
		say()
		if got := []string{first, early.positions(4), late.positions(4)}; fmt.Sprint(got) != "[[1 2 3] [4] [2 3 4]]" {
			t.Errorf("%v", got)
		}
		// The past goes away and comes back: nothing is lost, nothing comes twice.
		past.say(history.ErrNotReady)
		time.Sleep(5 * time.Second)
		say()
		past.say(nil)
		say()
		if got := early.positions(6); got != "[5 6]" {
			t.Errorf("after the past was away: %s", got)
		}
		// Forgotten, it begins again.
		g.call(call{method: http.MethodDelete, path: "/v1/sessions/s", token: g.tokens[auth.RoleAdmin]})
		say()
		if got := early.positions(2); got != "[0 1 2]" {
			t.Errorf("after it was forgotten: %s", got)
		}
		for _, query := range []string{"?feed=s&after=x", "?feed="} {
			if _, res, err := g.socket(query, g.tokens[auth.RoleView], nil); err == nil || res.StatusCode != 400 {
				t.Errorf("%s: %v", query, err)
			}
		}
	})
	bubble(t, func(t *testing.T, g *rig) {
		if _, res, err := g.socket("?feed=s", g.tokens[auth.RoleView], nil); err == nil || res.StatusCode != 503 {
			t.Errorf("without a past: %v", err)
		}
	})
}

// How the sessions stand comes live, also what time alone changes.
func TestSocketTellsSessions(t *testing.T) {
	remembering(t, func(t *testing.T, g *rig, past *memory) {
		past.hook("s", "UserPromptSubmit", `,"prompt":"one"`)
		time.Sleep(time.Second)
		f := g.follow("")
		defer f.conn.Close()
		m := f.nextFeed()
		if m.Type != "snapshot" || len(m.Sessions) != 1 || m.Sessions[0].State != "working" || m.Sessions[0].Title != "one" {
			t.Fatalf("%+v", m)
		}
		state := func(want string) {
			t.Helper()
			for {
				if m := f.nextFeed(); m.Type == "sessions" && len(m.Sessions) == 1 && m.Sessions[0].State == want {
					return
				}
			}
		}
		past.hook("s", "Elicitation", `,"message":"which?"`)
		state("ask_user")
		past.hook("s", "ElicitationResult", ``)
		state("working")
		past.hook("s", "Stop", ``)
		start := time.Now()
		state("waiting_for_input")
		if took := time.Since(start); took < 55*time.Second || took > 70*time.Second {
			t.Errorf("it waits after %v", took)
		}
		past.hook("s", "SessionEnd", ``)
		state("exited")
		// So is how they stand for a client that resumes.
		again := g.follow(fmt.Sprintf("?epoch=%s&after=0", m.Epoch))
		defer again.conn.Close()
		if m := again.nextFeed(); m.Type != "sessions" || m.Sessions[0].State != "exited" {
			t.Errorf("%+v", m)
		}
		// A client that comes later has an older snapshot, perhaps, and at once what is newer.
		late := g.follow("")
		defer late.conn.Close()
		if m := late.nextFeed(); m.Type != "snapshot" || len(m.Sessions) != 1 {
			t.Errorf("%+v", m)
		}
		if m := late.nextFeed(); m.Type != "sessions" || m.Sessions[0].State != "exited" {
			t.Errorf("%+v", m)
		}
	})
}
