package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/digest"
)

const (
	askedID    = "0199f0a0-0000-7000-8000-000000000001"
	askedInput = `{"command": "rm -rf build"}`
	askedRaw   = `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/home/dev/shop","tool_name":"Bash","tool_input":` + askedInput + `}`
)

// honest is what a broker says of a request: with the payload, where whole.
func honest(raw string, whole bool) map[string]any {
	r := map[string]any{
		"id": askedID, "sessionId": "s", "state": "pending", "number": 7, "agent": "claude", "toolName": "Bash", "cwd": "/home/dev/shop",
		"toolInput": json.RawMessage(`{"command":"rm -rf build"}`), "inputSha256": digest.Of([]byte(askedInput)), "host": "box",
		"shown":     map[string]any{"verb": "Run", "fields": []map[string]string{{"name": "command", "text": "rm -rf build", "kind": "code"}}},
		"createdAt": "2026-11-28T10:00:00Z", "deadline": "2026-11-28T11:00:00Z", "onTimeout": "ask", "allowedHere": 9, "sentence": "Lists files.",
	}
	if whole {
		r["raw"] = raw
	}
	return r
}

// liar is a broker that says what it likes, and an approver before it.
type liar struct {
	*httptest.Server
	t       *testing.T
	request atomic.Pointer[map[string]any] // GET of the request; nil: 404
	live    chan string                    // messages of the WebSocket; closed: the credential was revoked
	decided atomic.Int32
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{t: t, live: make(chan string)}
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer mine" {
			writeProblem(w, problem{Status: http.StatusUnauthorized})
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/requests/" + askedID:
			if said := l.request.Load(); said != nil {
				_ = json.NewEncoder(w).Encode(*said)
				return
			}
			writeProblem(w, problem{Status: http.StatusNotFound})
		case "GET /v1/requests":
			_ = json.NewEncoder(w).Encode([]any{honest(askedRaw, false), nil, map[string]any{"id": "x/../y", "state": "pending", "sessionId": "s"}, map[string]any{"id": "old", "state": "ended"}})
		case "POST /v1/ws/ticket":
			_, _ = io.WriteString(w, `{"ticket":"broker's","expiresAt":"2026-11-28T11:00:00Z"}`)
		case "POST /v1/requests/" + askedID + "/decision":
			l.decided.Add(1)
			_, _ = io.Copy(w, r.Body)
		case "GET /v1/ws":
			conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			for m := range l.live {
				_ = conn.WriteMessage(websocket.TextMessage, []byte(m))
			}
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(closeRevoked, "revoked"))
		}
	}))
	t.Cleanup(broker.Close)
	to, err := url.Parse(broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	l.Server = httptest.NewUnstartedServer(nil)
	h, err := NewApprover(ApproverConfig{
		Assets: fstest.MapFS{}, Broker: to, Client: api.NewClient(api.ClientConfig{URL: broker.URL}), Transport: http.DefaultTransport,
		Host: l.Listener.Addr().String(), Views: Views{Effects: func(r *hook.Request) *hook.Effects {
			return &hook.Effects{Sentence: "Of " + string(r.ToolInput), Effects: []hook.Effect{}}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Config.Handler = h
	l.Start()
	t.Cleanup(l.Close)
	return l
}

func (l *liar) call(method, path, body string, out any) int {
	l.t.Helper()
	r, err := http.NewRequest(method, l.URL+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer mine")
	res, err := l.Client().Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		l.t.Fatal(err)
	}
	return res.StatusCode
}

// allow has the page allow the request, as if it had signed what it was given; it returns what stands against it.
func (l *liar) allow(sum string) string {
	l.t.Helper()
	was := l.decided.Load()
	var p problem
	l.call("POST", "/v1/requests/"+askedID+"/decision", `{"behavior":"allow","inputSha256":"`+sum+`"}`, &p)
	if (p.Detail == "") != (l.decided.Load() == was+1) {
		l.t.Errorf("%q, and the broker has got %d", p.Detail, l.decided.Load()-was)
	}
	return p.Detail
}

// TestApproverReads: whatever the broker says of a request, the page is given what the payload says, and an allow of
// anything else stays here.
func TestApproverReads(t *testing.T) {
	good := digest.Of([]byte(askedInput))
	const other = `{"hook_event_name":"PermissionRequest","session_id":"s","cwd":"/home/dev/shop","tool_name":"Bash","tool_input":{"command":"ls"}}`
	for name, c := range map[string]struct {
		lie     func(r map[string]any)
		command string // that the page is given
		sum     string // that it signs
		why     string
	}{
		"nothing":      {func(map[string]any) {}, "rm -rf build", good, ""},
		"the sentence": {func(r map[string]any) { r["sentence"], r["risk"] = "Lists files.", "calm" }, "rm -rf build", good, ""},
		"a field":      {func(r map[string]any) { r["shown"].(map[string]any)["fields"].([]map[string]string)[0]["text"] = "ls" }, "rm -rf build", good, whyLies},
		"the input":    {func(r map[string]any) { r["toolInput"] = json.RawMessage(`{"command":"ls"}`) }, "rm -rf build", good, whyLies},
		"what was edited": {func(r map[string]any) {
			r["allowed"] = map[string]any{"shown": map[string]any{"verb": "List", "fields": []any{}}}
		}, "rm -rf build", good, ""},
		"the tool":       {func(r map[string]any) { r["toolName"] = "Read" }, "rm -rf build", good, whyLies},
		"the directory":  {func(r map[string]any) { r["cwd"] = "/tmp" }, "rm -rf build", good, whyLies},
		"the event":      {func(r map[string]any) { r["event"] = "Elicitation" }, "rm -rf build", good, whyLies},
		"the digest":     {func(r map[string]any) { r["inputSha256"] = digest.Of([]byte("x")) }, "rm -rf build", good, whyLies},
		"the payload":    {func(r map[string]any) { r["raw"], r["toolInput"], r["shown"] = other, nil, nil }, "ls", good, whyLies},
		"what is signed": {func(map[string]any) {}, "rm -rf build", digest.Of([]byte("x")), whyOther},
		"no payload":     {func(r map[string]any) { delete(r, "raw") }, "rm -rf build", good, "cannot be read here"},
		"two commands": {func(r map[string]any) {
			in := `{"command":"ls","command":"rm"}`
			r["raw"] = strings.Replace(askedRaw, askedInput, in, 1)
			r["toolInput"], r["inputSha256"], r["shown"] = json.RawMessage(in), digest.Of([]byte(in)), nil
		}, `{"command":"ls","command":"rm"}`, digest.Of([]byte(`{"command":"ls","command":"rm"}`)), "repeated or case-varied member command"},
		"the agent":                {func(r map[string]any) { r["agent"] = "codex" }, "rm -rf build", good, whyAgent},
		"a member in another case": {func(r map[string]any) { r["State"], r["STATE"] = "ended", "ended" }, "rm -rf build", good, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t)
			said := honest(askedRaw, true)
			c.lie(said)
			l.request.Store(&said)
			var r api.Request
			if status := l.call("GET", "/v1/requests/"+askedID, "", &r); status != http.StatusOK || r.ID != askedID {
				t.Fatalf("%d %+v", status, r)
			}
			if len(r.Fields()) == 0 || r.Fields()[0].Text != c.command || r.State != "pending" || r.Allowed != nil || r.AllowedHere != 0 || r.Host != "box" {
				t.Errorf("the page is given %+v, %+v", r.Shown, r)
			}
			if r.Effects == nil || !strings.HasPrefix(r.Sentence, "Of {") {
				t.Errorf("its effects are %+v", r.Effects)
			}
			if c.why != whyOther && r.Uninspectable != c.why && (c.why == "" || !strings.Contains(r.Uninspectable, c.why)) {
				t.Errorf("against it stands %q, want %q", r.Uninspectable, c.why)
			}
			if why := l.allow(c.sum); !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
				t.Errorf("the allow is met with %q, want %q", why, c.why)
			}
			var p problem
			if status := l.call("POST", "/v1/requests/"+askedID+"/decision", `{"behavior":"deny","inputSha256":"`+r.InputSHA256+`"}`, &p); status != http.StatusOK {
				t.Errorf("a denial is met with %d %+v", status, p)
			}
		})
	}
}

// TestApproverRemembers: a request that was given out in two ways is not allowed any more, and neither is one that was not given out.
func TestApproverRemembers(t *testing.T) {
	l := newLiar(t)
	good := digest.Of([]byte(askedInput))
	if why := l.allow(good); !strings.Contains(why, whyNotSeen) {
		t.Errorf("not seen: %q", why)
	}
	said := honest(askedRaw, true)
	l.request.Store(&said)
	var list []api.Request
	l.call("GET", "/v1/requests", "", &list)
	if len(list) != 4 || list[0].Sentence != "Of "+askedInput || list[0].Raw != "" || list[1].ID != "" || list[2].Uninspectable != whyNoWhole || list[3].State != "ended" {
		t.Errorf("listed: %+v", list)
	}
	if why := l.allow(good); why != "" {
		t.Errorf("seen: %q", why)
	}
	second := honest(askedRaw, true)
	second["raw"] = strings.Replace(askedRaw, "rm -rf build", "ls", 1)
	second["inputSha256"], second["toolInput"], second["shown"] = digest.Of([]byte(`{"command": "ls"}`)), nil, nil
	l.request.Store(&second)
	var r api.Request
	if l.call("GET", "/v1/requests/"+askedID, "", &r); r.Uninspectable != whyChanged {
		t.Errorf("the second is given with %q", r.Uninspectable)
	}
	l.request.Store(&said)
	if l.call("GET", "/v1/requests/"+askedID, "", &r); r.Uninspectable != whyChanged {
		t.Errorf("the first is given with %q", r.Uninspectable)
	}
	if why := l.allow(good); !strings.Contains(why, whyChanged) {
		t.Errorf("after another: %q", why)
	}
	var s shownInputs
	for i := range maxShown + 2 {
		s.note(string(rune('a'+i)), "d\n", "")
	}
	if len(s.m) != maxShown || len(s.order) != maxShown || s.refuse("a", "d") != whyNotSeen || s.refuse(string(rune('a'+maxShown)), "d") != "" {
		t.Errorf("%d are remembered", len(s.m))
	}
}

// TestApproverSocket: the live messages bring requests as they are read here, and what is no certain message ends the WebSocket.
func TestApproverSocket(t *testing.T) {
	l := newLiar(t)
	said := honest(askedRaw, true)
	l.request.Store(&said)
	open := func() *websocket.Conn {
		t.Helper()
		var ticket api.Ticket
		if l.call("POST", "/v1/ws/ticket", "", &ticket); ticket.Ticket == "" || ticket.Ticket == "broker's" {
			t.Fatalf("the ticket is %q", ticket.Ticket)
		}
		conn, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(l.URL, "http")+"/v1/ws?ticket="+ticket.Ticket, nil)
		if err != nil {
			t.Fatalf("%v %+v", err, res)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	live := func(requests ...map[string]any) (snapshot, changes string) {
		var list []any
		for _, r := range requests {
			list = append(list, map[string]any{"seq": 8, "request": r})
		}
		a, errA := json.Marshal(requests)
		b, errB := json.Marshal(list)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return `{"type":"snapshot","epoch":"e","seq":7,"requests":` + string(a) + `,"sessions":[{"id":"s"}]}`, `{"type":"changes","epoch":"e","seq":8,"changes":` + string(b) + `}`
	}
	lie := honest(askedRaw, false)
	lie["sentence"], lie["shown"] = "Lists files.", map[string]any{"verb": "List", "fields": []any{}}
	snapshot, changes := live(lie)
	conn := open()
	var m struct {
		Type     string           `json:"type"`
		Epoch    string           `json:"epoch"`
		Requests []*api.Request   `json:"requests"`
		Sessions []map[string]any `json:"sessions"`
		Changes  []struct {
			Seq     uint64       `json:"seq"`
			Request *api.Request `json:"request"`
		} `json:"changes"`
	}
	for _, text := range []string{snapshot, changes} {
		l.live <- text
		if err := conn.ReadJSON(&m); err != nil || m.Epoch != "e" {
			t.Fatalf("%v %+v", err, m)
		}
	}
	if r := m.Requests[0]; len(m.Sessions) != 1 || r.Fields()[0].Text != "rm -rf build" || r.Sentence != "Of "+askedInput || r.Raw != "" {
		t.Errorf("the snapshot has %+v", m.Requests[0])
	}
	if c := m.Changes[0]; m.Type != "changes" || c.Seq != 8 || c.Request.Fields()[0].Text != "rm -rf build" {
		t.Errorf("the change is %+v", c)
	}
	l.live <- `{}`
	if _, b, err := conn.ReadMessage(); err != nil || string(b) != `{}` {
		t.Errorf("%v: %s", err, b)
	}
	close(l.live)
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, closeRevoked) {
		t.Errorf("revoked: %v", err)
	}
	for _, text := range []string{
		strings.Replace(snapshot, `"requests"`, `"requests":[],"requests"`, 1),
		strings.Replace(snapshot, `"requests"`, `"Requests"`, 1),
		strings.Replace(changes, `"changes":`, `"Changes":[],"changes":`, 1),
		`[]`, `{"type":"snapshot","requests":7}`, `{"type":"changes","changes":[7]}`,
	} {
		if out, err := (&approver{}).message(t.Context(), nil, []byte(text)); err == nil {
			t.Errorf("%s is passed on as %s", text, out)
		}
	}
}

func FuzzApproverMessage(f *testing.F) {
	for _, text := range []string{`{"type":"snapshot","requests":[{"id":"x","state":"ended"}]}`, `{"type":"changes","changes":[{"seq":1,"request":null}]}`, `{"type":"halt","halt":{}}`, `{"\u0074ype":1}`, `{}`, `[`} {
		f.Add(text)
	}
	a := &approver{Server: &Server{log: zap.NewNop()}}
	as := api.NewClient(api.ClientConfig{URL: "http://127.0.0.1:1"})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, askedID[:8]) {
			return
		}
		out, err := a.message(t.Context(), as, []byte(text))
		if err == nil && !json.Valid(out) {
			t.Errorf("%q becomes %q", text, out)
		}
	})
}
