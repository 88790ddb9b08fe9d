package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/server"
)

const allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`

func denied(words string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"` + words + `"}}}`
}

func TestPlainEventIsPublishedAsItCame(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		id := uuid.NewString()
		body := " {\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"x\":1e400,\"x\":\"\\u2028\"}\n"
		r := g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: body, header: map[string]string{
			hook.HeaderRequestID: id, hook.HeaderAttempt: "2", hook.HeaderEventTime: "2026-11-20T10:00:00.123456789Z",
			hook.HeaderHost: "b%C3%BCro", hook.HeaderPID: "42", hook.HeaderAgentLabel: "a%20b", hook.HeaderProjectDir: "/p",
			hook.HeaderRepoRoot: "/r", hook.HeaderRepoBranch: "main", hook.HeaderRepoHead: "abc", hook.HeaderRepoRemote: "https://x",
			hook.HeaderEmitted: "1", hook.HeaderTool: "write%20it",
		}})
		if r.status != http.StatusNoContent || r.body != "" {
			t.Fatalf("%d %q", r.status, r.body)
		}
		got := g.published()
		if len(got) != 1 {
			t.Fatalf("%d events", len(got))
		}
		want := hook.Event{
			ID: id, Type: "PreToolUse", Agent: "claude", Attempt: 2, Time: time.Date(2026, 11, 20, 10, 0, 0, 123456789, time.UTC),
			Origin: hook.Origin{Host: "büro", PID: 42, AgentLabel: "a b", ProjectDir: "/p",
				Repo: hook.Repo{Root: "/r", Branch: "main", Head: "abc", Remote: "https://x"}},
			Raw: []byte(body), Emitted: true, Tool: "write it", Submitter: server.Local(uint32(os.Getuid()), ""),
		}
		if fmt.Sprintf("%+v", got[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("published\n%+v\nwant\n%+v", got[0], want)
		}
	})
}

func TestRequestIsAnswered(t *testing.T) {
	tests := []struct {
		name, decision, want string
		outcome              string
	}{
		{"allow", `{"behavior":"allow","inputSha256":"%s"}`, allowed, "allowed"},
		{"deny", `{"behavior":"deny","inputSha256":"%s","message":"not on a Friday <&>"}`, denied("not on a Friday <&>"), "denied"},
		{"interrupt", `{"behavior":"deny","inputSha256":"%s","interrupt":true}`,
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","interrupt":true}}}`, "denied"},
		{"other input", `{"behavior":"allow","inputSha256":"%s","updatedInput":{"command":"true"}}`,
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"command":"true"}}}}`, "allowed"},
	}
	for _, unix := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s unix=%v", tt.name, unix), func(t *testing.T) {
				bubble(t, func(t *testing.T, g *rig) {
					c := call{unix: unix, body: bash("touch x")}
					if !unix {
						c.token = g.tokens[auth.RoleSubmit]
					}
					w := g.raise(c)
					q := g.get(w.id)
					if q.State != "pending" || q.Shown == nil || q.Raw != bash("touch x") {
						t.Errorf("while it waits: %+v", q)
					}
					r := g.decide(w.id, fmt.Sprintf(tt.decision, q.InputSHA256))
					if r.status != http.StatusOK || strings.TrimSpace(r.body) != `{"delivery":"delivered"}` {
						t.Fatalf("decision: %d %s", r.status, r.body)
					}
					valid(t, "DecisionResult", r.body)
					got := <-w.reply
					if got.status != http.StatusOK || got.body != tt.want || got.header.Get("Content-Type") != "application/json" ||
						got.header.Get("Content-Length") != fmt.Sprint(len(tt.want)) {
						t.Errorf("the hook got %d %v\n%s\nwant\n%s", got.status, got.header, got.body, tt.want)
					}
					time.Sleep(time.Second) // the record of the delivery lets decisions go first
					synctest.Wait()
					q = g.get(w.id)
					if q.State != "ended" || q.Outcome != tt.outcome || q.Delivery != "delivered" || q.DecidedBy == nil || q.DecidedBy.Name != "approve" || q.Response == nil {
						t.Errorf("afterwards: %+v", q)
					}
					valid(t, "PermissionResponse", string(q.Response))
					trace := g.call(call{path: "/v1/requests/" + w.id + "/trace", token: g.tokens[auth.RoleView]})
					if n := len(validList(t, "Record", trace.body)); n != 3 {
						t.Errorf("%d records, want asked, decided, delivered", n)
					}
				})
			})
		}
	}
}

// What cannot be asked changes nothing for the agent, and still reaches the stream.
func TestUnaskableRequests(t *testing.T) {
	deep := `{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":` + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000) + "}"
	tests := []struct{ name, body, eventType, agent string }{
		{"agent without a codec", bash("x"), "", "gemini"},
		{"empty", "", "PermissionRequest", ""},
		{"not JSON", "hello", "PermissionRequest", ""},
		{"no object", "[1]", "PermissionRequest", ""},
		{"cut off", bash("x")[:40], "PermissionRequest", ""},
		{"no session", `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{}}`, "", ""},
		{"no tool", `{"hook_event_name":"PermissionRequest","session_id":"s","tool_input":{}}`, "", ""},
		{"session of another type", `{"hook_event_name":"PermissionRequest","session_id":7,"tool_name":"Bash","tool_input":{}}`, "", ""},
		{"input is no object", `{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":[]}`, "", ""},
		{"10,000 levels", deep, "", ""},
		{"invalid UTF-8 outside a string", "\xff\xfe", "PermissionRequest", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				c := call{unix: true, method: "POST", path: "/v1/hooks", body: tt.body, header: map[string]string{hook.HeaderRequestID: uuid.NewString()}}
				if tt.eventType != "" {
					c.header[hook.HeaderEvent] = tt.eventType
				}
				if tt.agent != "" {
					c.header[hook.HeaderAgent] = tt.agent
				}
				if r := g.call(c); r.status != http.StatusNoContent || r.body != "" {
					t.Errorf("%d %q", r.status, r.body)
				}
				if got := g.published(); len(got) != 1 || string(got[0].Raw) != tt.body {
					t.Errorf("published %d events", len(got))
				}
				if n := g.log.Len(); n != 0 {
					t.Errorf("%d records", n)
				}
				m := g.call(call{path: "/metrics", token: g.tokens[auth.RoleView]})
				if !strings.Contains(m.body, "assent_events_unreadable_total 1\n") {
					t.Errorf("not counted:\n%s", m.body)
				}
				if !strings.Contains(g.lines.String(), `"level":"warn"`) {
					t.Error("no log line")
				}
			})
		})
	}
}

func TestHookRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		post := func(body string, header map[string]string) reply {
			return g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: body, header: header})
		}
		for _, id := range []string{"x", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "6ba7b8109dad11d180b400c04fd430c8", strings.Repeat("-", 36)} {
			r := post(bash("x"), map[string]string{hook.HeaderRequestID: id})
			if r.status != http.StatusBadRequest || !strings.Contains(r.body, hook.HeaderRequestID) {
				t.Errorf("id %q: %d %s", id, r.status, r.body)
			}
		}
		if n := len(g.published()); n != 0 {
			t.Errorf("%d events were published", n)
		}
		// Too large to hold: handed back. Too large to read: refused.
		id := uuid.NewString()
		if r := post(bash(strings.Repeat("x", hook.MaxRequest)), map[string]string{hook.HeaderRequestID: id}); r.status != http.StatusNoContent {
			t.Errorf("2^20 and more: %d", r.status)
		}
		synctest.Wait()
		if q := g.get(id); q.Outcome != "handed_back" || q.Reason != hook.ReasonTooLarge {
			t.Errorf("handed back: %+v", q)
		}
		if r := post(strings.Repeat(" ", 16<<20+1), nil); r.status != http.StatusRequestEntityTooLarge {
			t.Errorf("more than 16 MiB: %d", r.status)
		}
		// The stream is away.
		g.failPublishing(errors.New("secret internals"))
		for _, body := range []string{`{"hook_event_name":"Stop"}`, bash("x")} {
			if r := post(body, nil); r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "secret") {
				t.Errorf("stream away: %d %s", r.status, r.body)
			}
		}
		g.failPublishing(nil)
		// The record is away. A broker with a record of its own knows that waiting does not help.
		g.log.Down(true)
		if r := post(bash("x"), nil); r.status != http.StatusServiceUnavailable || r.header.Get(hook.HeaderRetry) != "" {
			t.Errorf("record away: %d %s %v", r.status, r.body, r.header)
		}
		g.log.Down(false)
	})
}

// Where brokers share a record, a hook that comes while that is away is told to come again.
func TestHookIsToldToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{Shared: true})
		defer g.stop()
		post := func() reply {
			return g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: bash("x")})
		}
		g.failPublishing(fmt.Errorf("publish: %w", broker.ErrUnavailable))
		if r := post(); r.status != http.StatusServiceUnavailable || r.header.Get(hook.HeaderRetry) != "1" {
			t.Errorf("stream away: %d %v", r.status, r.header)
		}
		g.failPublishing(errors.New("too large for it"))
		if r := post(); r.status != http.StatusServiceUnavailable || r.header.Get(hook.HeaderRetry) != "" {
			t.Errorf("what the stream never takes: %d %v", r.status, r.header)
		}
		g.failPublishing(nil)
		g.log.Down(true)
		if r := post(); r.status != http.StatusServiceUnavailable || r.header.Get(hook.HeaderRetry) != "1" {
			t.Errorf("record away: %d %v", r.status, r.header)
		}
		g.log.Down(false)
	})
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{})
		defer g.stop()
		for err, want := range map[error]string{broker.ErrPassing: hook.RetrySoon, broker.ErrUnavailable: ""} {
			g.failPublishing(fmt.Errorf("publish: %w", err))
			if r := g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: bash("x")}); r.status != http.StatusServiceUnavailable || r.header.Get(hook.HeaderRetry) != want {
				t.Errorf("%T of the only broker: %d %v", err, r.status, r.header)
			}
		}
	})
}

func TestReattach(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		id := uuid.NewString()
		c := func(attempt, body string) call {
			return call{token: g.tokens[auth.RoleSubmit], body: body, header: map[string]string{hook.HeaderRequestID: id, hook.HeaderAttempt: attempt, hook.HeaderReattachSecret: "mine"}}
		}
		first := g.raise(c("1", bash("x")))
		first.cancel()
		<-first.reply
		synctest.Wait()
		if q := g.get(id); q.State != "pending" || !q.Detached {
			t.Fatalf("after the connection was lost: %+v", q)
		}
		second := g.raise(c("2", bash("x")))
		if q := g.get(id); q.Detached {
			t.Errorf("after it came back: %+v", q)
		}
		if n := len(g.published()); n != 1 {
			t.Errorf("published %d times, want once", n)
		}
		other := c("3", bash("another"))
		other.method, other.path = "POST", "/v1/hooks"
		if r := g.call(other); r.status != http.StatusConflict {
			t.Errorf("another payload under the same id: %d %s", r.status, r.body)
		}
		g.decide(id, `{"behavior":"allow","inputSha256":"`+g.get(id).InputSHA256+`"}`)
		if r := <-second.reply; r.body != allowed {
			t.Errorf("the hook that came back got %d %s", r.status, r.body)
		}
		late := c("4", bash("x"))
		late.method, late.path = "POST", "/v1/hooks"
		if r := g.call(late); r.body != allowed {
			t.Errorf("a hook that comes back late got %d %s", r.status, r.body)
		}
	})
}

// A connection that closes is withdrawn at once on the socket and for an agent's own HTTP hook.
func TestHangUp(t *testing.T) {
	for _, name := range []string{"socket", "plain"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				c := call{unix: true, body: bash("x")}
				if name == "plain" {
					c = call{token: g.tokens[auth.RoleSubmit], body: bash("x"), header: map[string]string{hook.HeaderRequestID: ""}}
				}
				w := g.raise(c)
				list := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]})
				id := decode[[]requestDoc](t, list.body)[0].ID
				w.cancel()
				<-w.reply
				synctest.Wait()
				if q := g.get(id); q.Outcome != "withdrawn" || q.Reason != hook.ReasonHangup {
					t.Errorf("%+v", q)
				}
			})
		})
	}
}

// What publishing takes is the hook's time too: it must hear of its deadline in time.
func TestDeadlineCountsFromArrival(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		g.slow = 700 * time.Millisecond
		start := time.Now()
		w := g.raise(call{unix: true, body: bash("x"), header: map[string]string{hook.HeaderRemaining: "5000"}})
		if r := <-w.reply; r.status != http.StatusNoContent {
			t.Errorf("%+v", r)
		}
		if d := time.Since(start); d != 4500*time.Millisecond {
			t.Errorf("answered after %v", d)
		}
	})
}

// A time beyond what JSON can write counts as none; it must not spoil the lists it stands in.
func TestEventTimeOutOfRange(t *testing.T) {
	for _, text := range []string{"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "0000-06-01T00:00:00Z"} {
		bubble(t, func(t *testing.T, g *rig) {
			w := g.raise(call{unix: true, body: bash("x"), header: map[string]string{hook.HeaderEventTime: text}})
			if r := g.call(call{path: "/v1/sessions", token: g.tokens[auth.RoleView]}); r.status != http.StatusOK {
				t.Errorf("%s: sessions: %d %s", text, r.status, r.body)
			}
			r := g.call(call{path: "/v1/requests", token: g.tokens[auth.RoleView]})
			if list := validList(t, "PermissionRequest", r.body); len(list) != 1 {
				t.Errorf("%s: %d requests", text, len(list))
			}
			w.cancel()
			<-w.reply
		})
	}
}

func TestDeadline(t *testing.T) {
	tests := []struct {
		name, remaining, onTimeout string
		after                      time.Duration
		deny                       bool
	}{
		{"default", "", "", 588 * time.Second, false},
		{"a tenth before", "10000", "abstain", 9 * time.Second, false},
		{"two seconds before", "100000", "deny", 98 * time.Second, true},
		{"none left", "0", "deny", 0, true},
		{"negative", "-5", "", 0, false},
		{"unreadable", "soon", "", 588 * time.Second, false},
		{"unknown fallback", "10000", "allow", 9 * time.Second, false},
		{"beyond a year", "99999999999999", "", 366*24*time.Hour - 2*time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				start := time.Now()
				w := g.raise(call{unix: true, body: bash("x"), header: map[string]string{
					hook.HeaderRequestID: uuid.NewString(), hook.HeaderRemaining: tt.remaining, hook.HeaderOnTimeout: tt.onTimeout}})
				if tt.after > time.Hour { // the bubble would take its time for a year
					if d := g.get(w.id).Deadline.Sub(start); d != tt.after {
						t.Errorf("deadline in %v, want %v", d, tt.after)
					}
					w.cancel()
					<-w.reply
					return
				}
				r := <-w.reply
				if r.err != nil || tt.deny != (r.status == http.StatusOK) || !tt.deny && r.status != http.StatusNoContent {
					t.Fatalf("%+v", r)
				}
				if tt.deny && (!strings.HasPrefix(r.body, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"Nobody answered`)) {
					t.Errorf("the hook got %s", r.body)
				}
				if d := time.Since(start); d != tt.after {
					t.Errorf("answered after %v, want %v", d, tt.after)
				}
				synctest.Wait()
				if q := g.get(w.id); q.Outcome != "expired" {
					t.Errorf("%+v", q)
				}
			})
		})
	}
}

func TestStoppingBrokerClosesWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{unix: true, body: bash("x")})
		n := g.log.Len()
		if err := g.broker.Close(); err != nil {
			t.Fatal(err)
		}
		if r := <-w.reply; r.err == nil {
			t.Errorf("the hook got %d %s, want a closed connection", r.status, r.body)
		}
		if g.log.Len() != n {
			t.Error("something was recorded")
		}
	})
}

func TestSpooledRequestIsNotAsked(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		r := g.call(call{method: "POST", path: "/v1/hooks", token: g.tokens[auth.RoleSubmit], body: bash("x"),
			header: map[string]string{hook.HeaderSpooled: "1", hook.HeaderRequestID: uuid.NewString()}})
		if r.status != http.StatusNoContent {
			t.Errorf("%d", r.status)
		}
		if got := g.published(); len(got) != 1 || !got[0].Spooled {
			t.Errorf("published %+v", got)
		}
		if g.log.Len() != 0 {
			t.Error("it was asked")
		}
	})
}

func TestTooManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{MaxWaiting: 1})
		defer g.stop()
		first := g.raise(call{unix: true, body: bash("x")})
		second := g.raise(call{unix: true, body: bash("y")})
		if r := <-second.reply; r.status != http.StatusServiceUnavailable {
			t.Errorf("%d", r.status)
		}
		first.cancel()
		<-first.reply
		synctest.Wait()
		third := g.raise(call{unix: true, body: bash("z")})
		g.decide(third.id, `{"behavior":"allow","inputSha256":"`+g.get(third.id).InputSHA256+`"}`)
		if r := <-third.reply; r.body != allowed {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// However many payloads come, and whether their last byte does, they take a bounded memory.
func TestPayloadsHaveABoundTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{MaxHeld: 100_000})
		defer g.stop()
		large := strings.Repeat("x", 40_000)
		first, second := g.raise(call{unix: true, body: bash(large)}), g.raise(call{unix: true, body: bash(large)})
		// By hand: net/http's client gives up on an answer that crosses the body it still writes.
		plain := func() int {
			conn, err := g.unix.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := `{"hook_event_name":"Stop","session_id":"s","x":"` + large + `"}`
			go fmt.Fprintf(conn, "POST /v1/hooks HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		if got := plain(); got != http.StatusServiceUnavailable {
			t.Errorf("beyond the bound: %d", got)
		}
		first.cancel()
		<-first.reply
		synctest.Wait()
		stalled, err := g.unix.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stalled, "POST /v1/hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n"+large); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := plain(); got != http.StatusServiceUnavailable {
			t.Errorf("beside a body that stalls: %d", got)
		}
		stalled.Close()
		synctest.Wait()
		for range 5 { // each gives back what it took
			if got := plain(); got != http.StatusNoContent {
				t.Errorf("with room: %d", got)
			}
		}
		g.decide(second.id, `{"behavior":"allow","inputSha256":"`+g.get(second.id).InputSHA256+`"}`)
		if r := <-second.reply; r.body != allowed {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

func TestDroppedConnectionIsNotDelivered(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash("x")})
		sum := g.get(w.id).InputSHA256
		w.cancel()
		<-w.reply
		synctest.Wait()
		r := g.decide(w.id, `{"behavior":"allow","inputSha256":"`+sum+`"}`)
		if strings.TrimSpace(r.body) != `{"delivery":"recorded"}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		if q := g.get(w.id); q.Delivery != broker.Recorded {
			t.Errorf("%+v", q)
		}
	})
}

// Nothing of a payload, a token or the environment may reach the log, whatever happens.
func TestLogHoldsNoSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		w := g.raise(call{token: g.tokens[auth.RoleSubmit], body: bash("PAYLOAD")})
		g.decide(w.id, `{"behavior":"deny","inputSha256":"`+g.get(w.id).InputSHA256+`","message":"PAYLOAD"}`)
		<-w.reply
		g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: "PAYLOAD", header: map[string]string{hook.HeaderEvent: "PermissionRequest"}})
		g.call(call{unix: true, method: "POST", path: "/v1/hooks", body: `{"hook_event_name":"PermissionRequest","session_id":["PAYLOAD"]}`})
		conn, _, err := g.socket("", g.tokens[auth.RoleView], nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		g.call(call{path: "/v1/ws?ticket=TICKET"})
		g.do(context.Background(), call{path: "/v1/requests/%1b%5b2J", token: "assent_view_TOKEN"})
		synctest.Wait()
		log := g.lines.String()
		for _, secret := range []string{"PAYLOAD", "TICKET", "TOKEN", "\x1b", g.tokens[auth.RoleSubmit], g.tokens[auth.RoleView]} {
			if strings.Contains(log, secret) {
				t.Errorf("the log holds %q:\n%s", secret, log)
			}
		}
		if !strings.Contains(log, `"access"`) || !strings.Contains(log, `"decided"`) {
			t.Errorf("the log lacks what it should have:\n%s", log)
		}
	})
}
