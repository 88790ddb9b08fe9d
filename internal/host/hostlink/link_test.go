package hostlink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/host/executor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// signed is a message, and the thumbprint of the key that signed it.
func signed(t *testing.T, m hook.Message) (hook.Message, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	jwk := hook.JWK{Kty: "EC", Crv: "P-256", X: text(point[1:33]), Y: text(point[33:])}
	sum := sha256.Sum256(auth.MessageText(m))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	m.Signature, m.PublicKey = text(sig), &jwk
	return m, auth.Thumbprint(jwk)
}

const thisHost = "box#0123456789abcdef"

func message() hook.Message {
	return hook.Message{
		ID: "11111111-1111-4111-8111-111111111111", HostID: thisHost, Agent: "coder", SessionID: "22222222-2222-4222-8222-222222222222", Kind: hook.MessagePrompt,
		Prompt: "go on", Options: &hook.MessageOptions{BudgetUSD: 2, TimeoutSeconds: 90}, ExpiresAt: time.Now().Add(time.Minute).UTC().Format(time.RFC3339),
	}
}

// Every member that a device signs counts, and so does whose key it is.
func TestVerify(t *testing.T) {
	m, print := signed(t, message())
	o, why := orderOf(m, thisHost, []string{print})
	if why != "" || o.ID != m.ID || o.Session != m.SessionID || o.Prompt != "go on" || o.By != print || o.BudgetUSD != 2 || o.Timeout != 90*time.Second {
		t.Errorf("%+v, %s", o, why)
	}
	_, other := signed(t, message())
	if _, why := orderOf(m, thisHost, []string{other}); !strings.Contains(why, "not accepted here") || !strings.Contains(why, "device:"+print) {
		t.Error(why)
	}
	if _, why := orderOf(m, thisHost, nil); why == "" {
		t.Error("nobody is accepted, and it is obeyed")
	}
	for name, change := range map[string]func(*hook.Message){
		"id": func(m *hook.Message) { m.ID += "1" }, "agent": func(m *hook.Message) { m.Agent = "x" }, "session": func(m *hook.Message) { m.SessionID = "x" },
		"kind": func(m *hook.Message) { m.Kind = hook.MessageCancel }, "prompt": func(m *hook.Message) { m.Prompt = "stop" },
		"options": func(m *hook.Message) { m.Options = nil }, "time": func(m *hook.Message) { m.ExpiresAt = time.Now().Add(time.Hour).UTC().Format(time.RFC3339) },
		"host": func(m *hook.Message) { m.HostID = "box#fedcba9876543210" }, "no host": func(m *hook.Message) { m.HostID = "" },
		"no signature": func(m *hook.Message) { m.Signature = "" }, "no key": func(m *hook.Message) { m.PublicKey = nil },
	} {
		forged := m
		change(&forged)
		if _, why := orderOf(forged, thisHost, []string{print}); why == "" {
			t.Errorf("%s: it is obeyed", name)
		}
	}
	for want, change := range map[string]func(*hook.Message){
		"a day ahead": func(m *hook.Message) { m.ExpiresAt = time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339) },
		"no time":     func(m *hook.Message) { m.ExpiresAt = "tomorrow" },
		// What was signed for another host that has an agent of this name, or for whichever, is not for this one.
		"for the host": func(m *hook.Message) { m.HostID = "box#fedcba9876543210" },
		"this host":    func(m *hook.Message) { m.HostID = "" },
		"none":         func(m *hook.Message) { m.Options = &hook.MessageOptions{BudgetUSD: -1} },
	} {
		m := message()
		change(&m)
		m, print := signed(t, m)
		if _, why := orderOf(m, thisHost, []string{print}); !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

// fake does nothing of what it is told, and remembers it.
type fake struct {
	mu      sync.Mutex
	offered []executor.Order
	refused map[string]string
	outbox  []api.HostFrame
	ends    int
	halted  []bool
	acked   chan string
	forgot  []string
	made    bool // a session
	// stoppers may cancel while nobody is accepted.
	stoppers []string
}

func (f *fake) Offer(o executor.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offered = append(f.offered, o)
	f.outbox = append(f.outbox, api.HostFrame{Type: api.HostTaken, ID: o.ID + "-taken", Message: o.ID})
}
func (f *fake) Refuse(id, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[id] = why
}
func (f *fake) Held([]api.HeldMessage)   {}
func (f *fake) Stoppers(string) []string { return f.stoppers }
func (f *fake) Acked(id string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outbox = nil
	f.acked <- id
}
func (f *fake) Halt(stopped bool) { f.mu.Lock(); f.halted = append(f.halted, stopped); f.mu.Unlock() }
func (f *fake) Forget(sessions []string) {
	f.mu.Lock()
	f.forgot = append(f.forgot, sessions...)
	f.mu.Unlock()
}
func (f *fake) Forgotten() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := f.forgot
	f.forgot = nil
	return done
}
func (f *fake) Disconnected() { f.mu.Lock(); f.ends++; f.mu.Unlock() }
func (f *fake) Answer(_ context.Context, ask api.HostAsk) api.HostAnswer {
	return api.HostAnswer{Status: http.StatusConflict, Detail: ask.What + " of " + ask.Session}
}

func (f *fake) Agents() []api.Agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := api.Agent{Name: "coder"}
	if f.made {
		a.Sessions = []api.AgentSession{{SessionID: "s", Status: api.AgentIdle}}
	}
	return []api.Agent{a}
}
func (f *fake) Outbox() []api.HostFrame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]api.HostFrame(nil), f.outbox...)
}

// A frame that was not acknowledged when the connection ended comes again with the next one.
func TestRunGoesOn(t *testing.T) {
	m, print := signed(t, message())
	var connections atomic.Int32
	heard := make(chan api.HostFrame, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/host/ws" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		connection := connections.Add(1)
		var f api.HostFrame
		if conn.ReadJSON(&f) != nil || f.Type != api.HostHello || len(f.Agents) != 1 || f.Agents[0].HostID != thisHost {
			t.Errorf("hello: %+v", f)
			return
		}
		_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerWelcome, Lease: 30, Stopped: connection == 1})
		if connection == 1 {
			_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerMessage, Message: &m})
		}
		for conn.ReadJSON(&f) == nil {
			heard <- f
			if connection == 1 {
				return // without an acknowledgement
			}
			_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerHalt, Stopped: true})
			_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerAck, ID: f.ID, OK: true})
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4401, ""), time.Now().Add(time.Second))
		}
	}))
	defer srv.Close()
	f := &fake{refused: map[string]string{}, acked: make(chan string, 1)}
	err := Run(t.Context(), Config{
		ID: thisHost, URL: srv.URL, Token: "secret", Name: "box", Version: "1", Executor: f, Accept: func() ([]string, error) { return []string{print}, nil },
		Changed: make(chan struct{}), Logf: t.Logf,
	})
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("%v", err)
	}
	if first, again := <-heard, <-heard; first.ID != m.ID+"-taken" || again.ID != first.ID {
		t.Errorf("%+v, %+v", first, again)
	}
	if id := <-f.acked; id != m.ID+"-taken" || len(f.offered) != 1 || len(f.refused) != 0 || f.ends != 2 || fmt.Sprint(f.halted) != "[true false true]" {
		t.Errorf("%s, %+v", id, f)
	}
}

// A token that is refused is not tried again.
func TestRunEndsWhereItIsNotWanted(t *testing.T) {
	for code, want := range map[int]string{http.StatusUnauthorized: "refuses the token", http.StatusForbidden: "refuses the token", http.StatusNotFound: "knows no hosts"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }))
		err := Run(context.Background(), Config{URL: srv.URL, Name: "box", Executor: &fake{}, Logf: t.Logf})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", code, err)
		}
		srv.Close()
	}
}

// What the broker asks is answered beside the messages.
func TestWhatIsAsked(t *testing.T) {
	heard := make(chan api.HostFrame, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		var f api.HostFrame
		_ = conn.ReadJSON(&f)
		_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerWelcome, Lease: 30})
		_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerAsks, ID: "q", Ask: &api.HostAsk{What: api.AskDiff, Session: "s"}})
		if conn.ReadJSON(&f) == nil {
			heard <- f
		}
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4401, ""), time.Now().Add(time.Second))
	}))
	defer srv.Close()
	f := &fake{refused: map[string]string{}, acked: make(chan string, 1)}
	err := Run(t.Context(), Config{
		ID: thisHost, URL: srv.URL, Token: "secret", Name: "box", Version: "1", Executor: f, Accept: func() ([]string, error) { return nil, nil },
		Changed: make(chan struct{}), Logf: t.Logf,
	})
	if a := <-heard; a.Type != api.HostAnswers || a.ID != "q" || a.Answer == nil || a.Answer.Status != http.StatusConflict || a.Answer.Detail != "diff of s" {
		t.Errorf("%+v, then %v", a, err)
	}
}

// Until a message is over it tells the broker whose the session is, and from then on the list of agents does: the broker has
// that first, however short the turn was.
func TestWhoseTheSessionIsIsToldFirst(t *testing.T) {
	f := &fake{refused: map[string]string{}, acked: make(chan string, 1)}
	heard := make(chan api.HostFrame, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		var frame api.HostFrame
		_ = conn.ReadJSON(&frame)
		f.mu.Lock()
		f.made, f.outbox = true, []api.HostFrame{{Type: api.HostEnded, ID: "e", Message: "m"}}
		f.mu.Unlock()
		_ = conn.WriteJSON(api.BrokerFrame{Type: api.BrokerWelcome, Lease: 30})
		for range 2 {
			var frame api.HostFrame
			if conn.ReadJSON(&frame) == nil {
				heard <- frame
			}
		}
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4401, ""), time.Now().Add(time.Second))
	}))
	defer srv.Close()
	_ = Run(t.Context(), Config{
		ID: thisHost, URL: srv.URL, Token: "secret", Name: "box", Version: "1", Executor: f, Accept: func() ([]string, error) { return nil, nil },
		Changed: make(chan struct{}), Logf: t.Logf,
	})
	if first, then := <-heard, <-heard; first.Type != api.HostAgents || len(first.Agents) != 1 || len(first.Agents[0].Sessions) != 1 || then.Type != api.HostEnded {
		t.Errorf("%+v, then %+v", first, then)
	}
}

// While agents.yaml cannot be used, who was accepted before can still cancel; nobody can do anything else.
func TestCancelWhileNobodyIsAccepted(t *testing.T) {
	for kind, want := range map[string]bool{hook.MessageCancel: true, hook.MessagePrompt: false, hook.MessageResume: false, hook.MessageHandover: false} {
		m := message()
		if m.Kind = kind; hook.Wordless(kind) {
			m.Prompt, m.Options = "", nil
		}
		m, print := signed(t, m)
		for _, stoppers := range [][]string{{print}, {"another"}, nil} {
			f := &fake{refused: map[string]string{}, stoppers: stoppers}
			l := &link{cfg: Config{ID: thisHost, Executor: f, Accept: func() ([]string, error) { return []string{print}, errors.New("agents.yaml:3: a tab") }, Logf: t.Logf}}
			l.order(m)
			if taken := len(f.offered) == 1; taken != (want && len(stoppers) > 0 && stoppers[0] == print) || taken == (len(f.refused) == 1) {
				t.Errorf("%s by one of %v: %d offered, %v", kind, stoppers, len(f.offered), f.refused)
			}
		}
	}
}
