package ci

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/hookclient"
	"assent/internal/ci/report"
	"assent/internal/hook"
)

const (
	bash  = `{"session_id":"s","hook_event_name":"PermissionRequest","cwd":"/w","tool_name":"Bash","tool_input":{"description":"harmless","command":"rm -rf \u202e/ \nls"}}`
	allow = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	deny  = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not on a Friday"}}}`
)

// post sends a payload as a hook does.
func post(r *HookProxy, ctx context.Context, payload string, header map[string]string) *httptest.ResponseRecorder {
	q := httptest.NewRequestWithContext(ctx, "POST", "/v1/hooks", strings.NewReader(payload))
	for name, value := range header {
		q.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	return w
}

func TestWhatAnswersMean(t *testing.T) {
	rule := &hook.Approver{Kind: hook.KindRule, ID: "r", Name: "r", File: "/f"}
	for name, tt := range map[string]struct {
		answer  hookclient.Answer
		refuse  string
		payload string
		verdict report.Verdict
		by      report.By
		body    string // part of it; "" for none
		reason  string
	}{
		"a rule allows":          {answer: hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed, By: rule}, verdict: report.Allowed, by: report.By{Kind: report.Rule, Name: "r", File: "/f"}, body: allow},
		"a person denies":        {answer: hookclient.Answer{Answered: true, Body: []byte(deny), Outcome: hook.Denied, By: &hook.Approver{Kind: "device", Name: "phone"}}, verdict: report.Denied, by: report.By{Kind: report.Person, Name: "phone"}, body: deny},
		"an older broker allows": {answer: hookclient.Answer{Answered: true, Body: []byte(allow)}, verdict: report.Allowed, by: report.By{Kind: report.Person, Name: "the broker"}, body: allow},
		"the broker's deadline":  {answer: hookclient.Answer{Answered: true, Body: []byte(deny), Outcome: hook.Expired}, verdict: report.Denied, by: report.By{Kind: report.Timeout}, body: "Nobody answered this permission request in 300 seconds"},
		"a rule's deadline":      {answer: hookclient.Answer{Answered: true, Body: []byte(strings.Replace(deny, "not on a Friday", hook.TimeoutWords(5*time.Second), 1)), Outcome: hook.Expired}, verdict: report.Denied, by: report.By{Kind: report.Timeout}, body: "Nobody answered this permission request in 5 seconds"},
		"our deadline":           {answer: hookclient.Answer{Expired: true, Why: "it died"}, verdict: report.Denied, by: report.By{Kind: report.Timeout}, body: "Nobody answered", reason: "it died"},
		"no broker":              {answer: hookclient.Answer{Why: "no broker\x1b[2J"}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: "could not put this permission request to anybody", reason: "no broker⟦U+001B⟧[2J"},
		"abstained":              {answer: hookclient.Answer{Answered: true}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "left the decision"},
		"too large":              {answer: hookclient.Answer{Answered: true, Outcome: hook.HandedBack}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "too large"},
		"withdrawn":              {answer: hookclient.Answer{Answered: true, Outcome: hook.Withdrawn}, verdict: report.Withdrawn, by: report.By{Kind: report.Agent}},
		"some other API":         {answer: hookclient.Answer{Answered: true, Body: []byte(`{"decision":"allow"}`)}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "no assent broker"},
		"a bare decision":        {answer: hookclient.Answer{Answered: true, Body: []byte(`{"behavior":"allow"}`)}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "no assent broker"},
		"no JSON":                {answer: hookclient.Answer{Answered: true, Body: []byte(`{"behavior":"allow"}}`)}, verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "no assent broker"},
		"all are refused":        {answer: hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed}, refuse: "unknown version", verdict: report.Denied, by: report.By{Kind: report.Failure}, body: "unknown version", reason: "unknown version"},
		"unreadable": {payload: `{"hook_event_name":"PermissionRequest"`, answer: hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed},
			verdict: report.Denied, by: report.By{Kind: report.Failure}, body: `"behavior":"deny"`, reason: "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			var ended []report.Request
			r := New(Config{
				Ask: func(context.Context, hook.Event, hookclient.Transcript, time.Duration) hookclient.Answer {
					return tt.answer
				},
				Timeout: 300 * time.Second, Refuse: tt.refuse, Ended: func(q report.Request) { ended = append(ended, q) },
			})
			payload := tt.payload
			if payload == "" {
				payload = bash
			}
			w := post(r, t.Context(), payload, map[string]string{hook.HeaderEvent: "PermissionRequest"})
			if w.Code != 200 && tt.body != "" || w.Code != 204 && tt.body == "" || !strings.Contains(w.Body.String(), tt.body) {
				t.Errorf("the hook got %d %s", w.Code, w.Body)
			}
			if len(ended) != 1 || ended[0].Verdict != tt.verdict || ended[0].By != tt.by || !strings.Contains(ended[0].Reason, tt.reason) || (tt.reason == "") != (ended[0].Reason == "") {
				t.Errorf("kept %+v", ended)
			}
			if kept, _, n, _ := r.Settled(); len(kept) != 1 || n != 1 {
				t.Errorf("kept %+v of %d", kept, n)
			}
		})
	}
}

func TestRequestsAreSafeToLookAt(t *testing.T) {
	r := New(Config{Ask: func(context.Context, hook.Event, hookclient.Transcript, time.Duration) hookclient.Answer {
		return hookclient.Answer{}
	}, Timeout: time.Minute})
	post(r, t.Context(), bash, map[string]string{hook.HeaderEvent: "PermissionRequest"})
	long := strings.Repeat("x", 3*shownText)
	post(r, t.Context(), strings.Replace(bash, "rm -rf", long, 1), map[string]string{hook.HeaderEvent: "PermissionRequest"})
	kept, _, _, _ := r.Settled()
	if q := kept[0]; q.Summary != "rm -rf ⟦U+202E⟧/ ⏎ls" || q.Text != "rm -rf ⟦U+202E⟧/ \nls" || q.Tool != "Bash" {
		t.Errorf("kept %+v", q)
	}
	if q := kept[1]; len(q.Text) > shownText+100 || len([]rune(q.Summary)) > shownLine+1 || !strings.HasSuffix(q.Summary, "/ ⏎ls") {
		t.Errorf("kept %d bytes, %q", len(q.Text), q.Summary)
	}
}

// A request has as long as its hook waits, less what the answer needs to arrive, and never longer
// than the run allows; when its agent goes away it is withdrawn.
func TestPatience(t *testing.T) {
	for remaining, want := range map[string]time.Duration{
		"": 299 * time.Second, "10000": 9500 * time.Millisecond, "999999999": 299 * time.Second, "-1": 299 * time.Second, "soon": 299 * time.Second,
	} {
		var got time.Duration
		r := New(Config{Timeout: 300 * time.Second, Ask: func(_ context.Context, e hook.Event, _ hookclient.Transcript, d time.Duration) hookclient.Answer {
			got = d
			return hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed}
		}})
		post(r, t.Context(), bash, map[string]string{hook.HeaderEvent: "PermissionRequest", hook.HeaderRemaining: remaining})
		if got != want {
			t.Errorf("%s ms: %v, want %v", remaining, got, want)
		}
	}
}

func TestWaitingIsSaidAndTheAgentMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := make(chan report.Request, 1)
		r := New(Config{Timeout: time.Minute, Waits: func(q report.Request) { waits <- q },
			Ask: func(ctx context.Context, _ hook.Event, _ hookclient.Transcript, _ time.Duration) hookclient.Answer {
				<-ctx.Done()
				return hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed}
			}})
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan *httptest.ResponseRecorder)
		go func() { done <- post(r, ctx, bash, map[string]string{hook.HeaderEvent: "PermissionRequest"}) }()
		if q := <-waits; q.Summary == "" {
			t.Errorf("waits: %+v", q)
		}
		leave()
		if w := <-done; w.Code != 204 {
			t.Errorf("the hook got %s", w.Body)
		}
		if kept, _, _, _ := r.Settled(); len(kept) != 1 || kept[0].Verdict != report.Withdrawn || kept[0].LatencyMS != waitsAfter.Milliseconds() {
			t.Errorf("kept %+v", kept)
		}
	})
}

// On a machine that was held up the proxy may hear that the hook has gone before it hears that its
// own time, which ends earlier, is up.
func TestHookThatGoesWhenItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Timeout: 10 * time.Second, Ask: func(ctx context.Context, _ hook.Event, _ hookclient.Transcript, _ time.Duration) hookclient.Answer {
			<-ctx.Done()
			return hookclient.Answer{Why: "the agent went away"}
		}})
		ctx, leave := context.WithTimeout(t.Context(), 10*time.Second)
		defer leave()
		post(r, ctx, bash, map[string]string{hook.HeaderEvent: "PermissionRequest"})
		if kept, _, _, _ := r.Settled(); len(kept) != 1 || kept[0].Verdict != report.Denied || kept[0].By.Kind != report.Timeout {
			t.Errorf("kept %+v", kept)
		}
	})
}

// Other events are handed on, and never trouble the agent.
func TestOtherEvents(t *testing.T) {
	var told []hook.Event
	r := New(Config{Timeout: time.Minute, Tell: func(_ context.Context, e hook.Event) string { told = append(told, e); return "it is away" }})
	w := post(r, t.Context(), `{"session_id":"s","hook_event_name":"Stop"}`, map[string]string{hook.HeaderEvent: "Stop", hook.HeaderHost: "runner%201", hook.HeaderRequestID: "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1"})
	if w.Code != 204 || len(told) != 1 || told[0].Type != "Stop" || told[0].Origin.Host != "runner 1" || told[0].ID != "4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1" {
		t.Errorf("%d, %+v", w.Code, told)
	}
	if _, _, n, lost := r.Settled(); n != 1 || lost != "it is away" {
		t.Errorf("%d events, lost %q", n, lost)
	}
	q := httptest.NewRequest("GET", "/v1/requests", http.NoBody)
	w = httptest.NewRecorder()
	if r.ServeHTTP(w, q); w.Code != 404 {
		t.Errorf("another route: %d", w.Code)
	}
}

// Whatever a broker or somebody in its place answers, only a plain yes is one.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{allow, deny, `{}`, `[]`, "null", `{"hookSpecificOutput":{"decision":{"behavior":"ALLOW"}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := New(Config{Timeout: time.Minute, Ask: func(context.Context, hook.Event, hookclient.Transcript, time.Duration) hookclient.Answer {
			return hookclient.Answer{Answered: true, Body: body}
		}})
		w := post(r, t.Context(), bash, map[string]string{hook.HeaderEvent: "PermissionRequest"})
		kept, _, _, _ := r.Settled()
		got, _ := io.ReadAll(w.Body)
		if kept[0].Verdict == report.Allowed && (string(got) != string(body) || !strings.Contains(string(body), "allow")) {
			t.Errorf("%q became an allow: %s", body, got)
		}
		if kept[0].Verdict != report.Allowed && strings.Contains(string(got), `"behavior":"allow"`) && string(got) != string(body) {
			t.Errorf("%q: the agent got %s", body, got)
		}
	})
}

// What the hook sends beside a request reaches the broker that is asked; the request's own bytes are what
// they were.
func TestTranscriptIsHandedOn(t *testing.T) {
	const said = "{\"said\":1}\n"
	for name, tt := range map[string]struct {
		path, body string
		header     map[string]string
		want       hookclient.Transcript
		status     int
	}{
		"with words":        {"/v1/hooks/context", bash + said, map[string]string{hook.HeaderContextLength: strconv.Itoa(len(said))}, hookclient.Transcript{Text: []byte(said)}, 200},
		"without, and why":  {"/v1/hooks", bash, map[string]string{hook.HeaderContextWhy: hook.SaidOff}, hookclient.Transcript{Why: hook.SaidOff}, 200},
		"longer than it is": {"/v1/hooks/context", "{}", map[string]string{hook.HeaderContextLength: "3"}, hookclient.Transcript{}, 400},
		"no length":         {"/v1/hooks/context", bash + said, nil, hookclient.Transcript{}, 400},
		"another route":     {"/v1/hooks/contexts", bash, nil, hookclient.Transcript{}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			r := New(Config{Timeout: time.Minute, Ask: func(_ context.Context, e hook.Event, got hookclient.Transcript, _ time.Duration) hookclient.Answer {
				asked++
				if string(e.Raw) != bash || string(got.Text) != string(tt.want.Text) || got.Why != tt.want.Why {
					t.Errorf("handed on %s with %+v", e.Raw, got)
				}
				return hookclient.Answer{Answered: true, Body: []byte(allow), Outcome: hook.Allowed}
			}})
			q := httptest.NewRequestWithContext(t.Context(), "POST", tt.path, strings.NewReader(tt.body))
			for name, value := range tt.header {
				q.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			r.ServeHTTP(w, q)
			if w.Code != tt.status || (asked == 1) != (tt.status == 200) {
				t.Errorf("answered %d, asked %d times", w.Code, asked)
			}
		})
	}
}
