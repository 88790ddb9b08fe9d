package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/auth/passkey"
	"assent/internal/fleet"
	"assent/internal/halt"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/notify/notifytest"
	"assent/internal/policy/published"
	"assent/internal/server"
	"assent/internal/store/history"
	"assent/internal/store/kvmirror/kvtest"
	"assent/internal/text/digest"
)

// fort is a server as assent serve builds it, but for the log and the store, which are in
// memory.
type fort struct {
	t       *testing.T
	url     string
	port    string
	handler http.Handler
	log     *logtest.Log
	kv      *kvtest.KV
	auth    *auth.Auth
	broker  *broker.Broker
	past    *memory
	push    *notify.Push
	vendor  *notifytest.Vendor
	always  *keeper
	tokens  map[auth.Role]string
	stolen  string            // the bearer of an admin device
	revoked string            // that of a device that was removed
	used    map[string]string // codes that are spent
	client  *http.Client
	// chief is the device of role admin that lets the others in.
	chief    *auth.Principal
	chiefKey *authtest.Key

	halt   *halt.Store
	fleet  *fleet.Store
	hosts  *fleet.Registry
	rules  *published.Store
	mu     sync.Mutex
	events int // guarded by mu; published
}

func newFort(t *testing.T) *fort {
	t.Helper()
	f := &fort{t: t, log: logtest.New(), kv: kvtest.New(), past: newMemory(t), tokens: map[auth.Role]string{}, used: map[string]string{}}
	ctx := context.Background() // of what is closed below
	var err error
	f.broker, err = broker.New(ctx, broker.Config{Log: f.log, SingleReplica: true, Encode: server.Views{}.Encode, CallKey: claude.CallKey})
	f.must(err)
	f.auth, err = auth.Open(ctx, auth.Config{KV: f.kv, NoOwnerToken: true})
	f.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	f.url = "http://" + l.Addr().String()
	_, f.port, _ = net.SplitHostPort(l.Addr().String())
	f.always = newKeeper(t, f.kv)
	f.vendor = notifytest.New("https://push.example")
	f.push, err = notify.Open(ctx, notify.Config{KV: f.kv, Broker: f.broker, Transport: f.vendor, May: func(string) bool { return true }})
	f.must(err)
	f.halt, err = halt.Open(ctx, halt.Config{KV: f.kv, Logf: t.Logf})
	f.must(err)
	f.fleet, err = fleet.Open(ctx, fleet.Config{KV: f.kv, Logf: t.Logf, Inbox: func(context.Context, string) (fleet.Line, error) { return deaf{}, nil }})
	f.must(err)
	f.hosts, err = fleet.OpenRegistry(ctx, fleet.RegistryConfig{KV: f.kv, Messages: f.fleet, Logf: t.Logf})
	f.must(err)
	_, err = f.hosts.Connect("h", func() {}).Offer(ctx, "workstation", "1", []api.Agent{coder})
	f.must(err)
	f.rules, err = published.Open(ctx, published.Config{KV: f.kv, Logf: t.Logf})
	f.must(err)
	srv, err := server.New(server.Config{Broker: f.broker, Auth: f.auth, Published: f.rules, Halt: f.halt, Messages: f.fleet, Agents: f.hosts, History: f.past, Push: f.push, Grants: f.always.store, Suggest: f.always.proposer, Suggested: f.always.standing, Rules: f.always.book.Eval, InForce: f.always.book.InForce, Assets: page, URL: f.url, Publish: func(context.Context, hook.Event) (uint64, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events++
		return uint64(f.events), nil
	}})
	f.must(err)
	srv.LetSend()
	srv.LetGuess() // all attacks together present more wrong credentials than get an answer in a minute
	f.handler = srv.TCP()
	served := srv.HTTPServer(f.handler)
	done := make(chan struct{})
	go func() { defer close(done); _ = served.Serve(l) }()
	f.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		_ = f.broker.Close()
		_ = served.Close()
		<-done
		_ = srv.Close()
		_ = f.auth.Close()
		_ = f.push.Close()
		_ = f.halt.Close()
		_ = f.hosts.Close()
		_ = f.fleet.Close()
	})

	for _, role := range []auth.Role{auth.RoleSubmit, auth.RoleHost, auth.RoleView, auth.RoleApprove, auth.RoleAdmin} {
		f.tokens[role], _, err = f.auth.CreateToken(ctx, role, string(role), 0)
		f.must(err)
	}
	f.tokens[auth.RoleOperate] = f.tokens[auth.RoleAdmin] // no token has that role by itself
	f.stolen, _, _, _ = f.signedIn()
	bearer, d, nonce, _ := f.signedIn()
	f.must(f.auth.RevokeDevice(ctx, d.ID, hook.Approver{}))
	f.revoked, f.used["nonce"] = bearer, nonce
	f.used["code"] = f.invited()
	_, err = f.auth.Redeem(ctx, f.used["code"], authtest.NewKey().JWK(), "", "")
	f.must(err)
	refused := f.started()
	f.must(f.auth.RefusePairing(context.Background(), refused.Code))
	f.used["secret"] = refused.Secret
	f.used["ticket"], _ = f.auth.NewTicket(f.principal(auth.RoleView))
	_, err = f.auth.RedeemTicket(f.used["ticket"])
	f.must(err)
	return f
}

func (f *fort) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// deaf is a line to a session that nothing is sent on: nobody runs the store.
type deaf struct{}

func (deaf) Send(string, string) error { return nil }
func (deaf) Close()                    {}

// sent is a message that waits to be handed over.
func (f *fort) sent() hook.Message {
	for _, old := range f.fleet.Messages("s1") { // few may wait
		_, err := f.fleet.TakeBack(context.Background(), old.ID)
		f.must(err)
	}
	m, err := f.fleet.Send(context.Background(), hook.Message{ID: uuid.NewString(), Agent: "terminal@x", SessionID: "s1", Kind: "prompt", Prompt: "x"})
	f.must(err)
	return m
}

// toAgent is a message to an agent, signed by a device with this bearer, that can be sent.
func (f *fort) toAgent() (bearer string, m api.NewAgentMessage) {
	for _, old := range f.fleet.Messages(aSession) { // few may wait
		_, err := f.fleet.TakeBack(context.Background(), old.ID)
		f.must(err)
	}
	bearer, d, _, key := f.signedIn()
	return bearer, (&phone{Device: d, key: key}).toAgent("coder", aSession, hook.MessagePrompt, "x", nil)
}

// sentToAgent is the path of a message that waits for a host.
func (f *fort) sentToAgent() string {
	_, m := f.toAgent()
	got, err := f.hosts.Send(context.Background(), hook.Message{ID: m.ID, Agent: "coder", SessionID: m.SessionID, Kind: m.Kind, Prompt: m.Prompt, ExpiresAt: m.ExpiresAt})
	f.must(err)
	return "/v1/agents/coder/messages/" + got.ID
}

// halted does these acts, each of which may have been done already.
func (f *fort) halted(acts ...string) {
	for _, act := range acts {
		_, err := f.halt.Do(context.Background(), hook.HaltAct{Act: act, Seconds: 60, By: hook.Approver{Kind: "token", ID: "t"}}, nil)
		f.must(err)
	}
}

func (f *fort) principal(role auth.Role) auth.Principal {
	p, err := f.auth.Authenticate(f.tokens[role])
	f.must(err)
	return p
}

func (f *fort) invited() string {
	p, err := f.auth.NewPairing(context.Background(), auth.RoleApprove, "", f.url)
	f.must(err)
	return p.Code
}

func (f *fort) invitedMachine() string {
	p, err := f.auth.NewPairing(context.Background(), auth.RoleSubmit, "laptop", f.url)
	f.must(err)
	return p.Code
}

func (f *fort) paired(role auth.Role) (auth.Device, *authtest.Key) {
	key := authtest.NewKey()
	if f.chief == nil {
		p, err := f.auth.NewPairing(context.Background(), auth.RoleAdmin, "", f.url)
		f.must(err)
		f.chiefKey = authtest.NewKey()
		d, err := f.auth.Redeem(context.Background(), p.Code, f.chiefKey.JWK(), "", "")
		f.must(err)
		chief, err := f.auth.Authenticate(f.bearerOf(d, f.chiefKey))
		f.must(err)
		f.chief = &chief
	}
	f.clearStarts()
	s, err := f.auth.StartPairing(context.Background(), key.JWK(), "", auth.Caller{})
	f.must(err)
	waiting, err := f.auth.WaitingDevice(context.Background(), s.Code)
	f.must(err)
	word, err := f.chief.VouchPairing(waiting, role, "", f.chiefKey.Sign(auth.PairText(s.Code, key.JWK(), role, "")))
	f.must(err)
	d, err := f.auth.ConfirmPairing(context.Background(), s.Code, role, "", "", &word)
	f.must(err)
	return d, key
}

func (f *fort) signedIn() (bearer string, d auth.Device, nonce string, key *authtest.Key) {
	d, key = f.paired(auth.RoleAdmin)
	nonce, _, err := f.auth.Challenge(d.ID)
	f.must(err)
	bearer, _, err = f.auth.OpenSession(d.ID, nonce, key.Sign(auth.ChallengeText(d.ID, nonce)))
	f.must(err)
	return bearer, d, nonce, key
}

func (f *fort) bearerOf(d auth.Device, key *authtest.Key) string {
	nonce, _, err := f.auth.Challenge(d.ID)
	f.must(err)
	bearer, _, err := f.auth.OpenSession(d.ID, nonce, key.Sign(auth.ChallengeText(d.ID, nonce)))
	f.must(err)
	return bearer
}

// localhost is where the fort's page can verify people.
func (f *fort) localhost() passkey.Site {
	return passkey.Site{ID: "localhost", Origins: []string{"http://localhost:" + f.port}}
}

// enrolling is a device that has just made a credential.
func (f *fort) enrolling() (bearer string, d auth.Device, doc []byte, key *authtest.Key) {
	bearer, d, _, key = f.signedIn()
	options, err := f.auth.BeginVerification(d.ID, f.localhost())
	f.must(err)
	var o struct{ Challenge string }
	f.must(json.Unmarshal(options, &o))
	return bearer, d, authtest.NewAuthenticator("localhost", f.localhost().Origins[0]).Create(o.Challenge), key
}

func (f *fort) strikeVerification(bearer string, d auth.Device, body string) strike {
	return strike{path: "/v1/devices/" + d.ID + "/verification", token: bearer, body: body, host: "localhost:" + f.port}
}

func (f *fort) rungBearer() string {
	bearer, _, _ := f.rung()
	return bearer
}

// rung is a device that has a push subscription.
func (f *fort) rung() (string, auth.Device, *authtest.Key) {
	bearer, d, _, key := f.signedIn()
	sub, err := notify.ParseSubscription(f.vendor.Subscribe(f.push.State(d.ID).PublicKey).JSON())
	f.must(err)
	f.must(f.push.Put(context.Background(), d.ID, sub, nil))
	return bearer, d, key
}

func (f *fort) clearStarts() {
	for _, w := range f.auth.WaitingDevices() {
		f.must(f.auth.RefusePairing(context.Background(), w.Code))
	}
}

// started is a device that waits.
func (f *fort) started() auth.Start {
	f.clearStarts()
	s, err := f.auth.StartPairing(context.Background(), authtest.NewKey().JWK(), "", auth.Caller{})
	f.must(err)
	return s
}

// token is the id of a token that nobody needs.
func (f *fort) token() string {
	_, tok, err := f.auth.CreateToken(context.Background(), auth.RoleView, "spare", 0)
	f.must(err)
	return tok.ID
}

// remembered is the id of a session that history knows.
func (f *fort) remembered() string {
	f.past.hook("past", "UserPromptSubmit", `,"prompt":"x"`)
	return "past"
}

// waits is the id of a request that waits.
func (f *fort) waits() string {
	r := hook.Request{ID: uuid.NewString(), SessionID: "s1", ToolName: "Bash", Agent: "claude", ToolInput: hook.JSON("{}"), InputSHA256: digest.Of([]byte("{}")), Raw: []byte(`{"tool_input":{}}`)}
	w, err := f.broker.Ask(r)
	f.must(err)
	go func() {
		_, _ = w.Wait(context.Background()) // ends with the broker
		f.broker.Delivered(r.ID)
	}()
	return r.ID
}

// proposed is a request that waits, and the digest of a rule that could be made of it.
func (f *fort) proposed() (r hook.Request, proposal string) {
	raw := []byte(`{"command":"mytool"}`)
	r = f.always.here(hook.Request{ID: uuid.NewString(), SessionID: "s1", ToolName: "Bash", Agent: "claude", ToolInput: raw, InputSHA256: digest.Of(raw), Raw: []byte(`{"tool_input":{"command":"mytool"}}`)})
	w, err := f.broker.Ask(r)
	f.must(err)
	go func() { _, _ = w.Wait(context.Background()) }() // ends with the broker
	p, err := f.always.proposer.Propose(context.Background(), &r)
	f.must(err)
	if len(p.Proposals) == 0 {
		f.t.Fatalf("no proposal: %s", p.Reason)
	}
	return r, p.Proposals[0].Digest
}

// saved is the id of something that is saved. What was saved before is revoked: it would answer
// the next request.
func (f *fort) saved(kind string) string {
	f.clearSaved()
	r, digest := f.proposed()
	x, ok := f.always.proposer.Find(context.Background(), &r, digest)
	if !ok {
		f.t.Fatal("the proposal is gone")
	}
	x.Kind, x.Count = kind, 0
	if kind == hook.SavedGrant {
		x.Count = 3
	}
	x, err := f.always.store.Save(context.Background(), x)
	f.must(err)
	return x.ID
}

func (f *fort) clearSaved() {
	for _, kind := range []string{hook.SavedRule, hook.SavedGrant} {
		for _, x := range f.always.store.List(kind) {
			if x.State(time.Now()) == hook.StateActive {
				_, err := f.always.store.Revoke(context.Background(), kind, x.ID, hook.Approver{Kind: "token"})
				f.must(err)
			}
		}
	}
}

// saving is the body that saves a rule, with more members.
func (f *fort) saving(more fields) string {
	f.clearSaved()
	r, digest := f.proposed()
	body := fields{"requestId": r.ID, "inputSha256": r.InputSHA256, "proposal": digest}
	maps.Copy(body, more)
	return mustJSON(body)
}

var lastUsed = regexp.MustCompile(`,"lastUsed":"[^"]*"`)

// state is everything that an attacker might want to change. When a credential was last used
// is not among it: a stolen one was.
func (f *fort) state() string {
	var b strings.Builder
	values := f.kv.Values()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintln(&b, key, lastUsed.ReplaceAllString(values[key], ""))
	}
	for _, w := range f.auth.WaitingDevices() {
		fmt.Fprintln(&b, "waits", w.Code)
	}
	for _, rec := range f.log.All() {
		switch rec.Step {
		case hook.StepAsked, hook.StepDecided, hook.StepEnded:
			fmt.Fprintln(&b, rec.RequestID, rec.Step)
		}
	}
	sessions, err := f.past.Sessions(context.Background(), history.SessionCursor{}, 1000)
	f.must(err)
	for _, in := range sessions {
		fmt.Fprintln(&b, "session", in.ID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintln(&b, f.events, "events")
	return b.String()
}

// send returns the status, and the headers of the answer.
func (f *fort) send(s strike) (int, http.Header) {
	f.t.Helper()
	r, err := http.NewRequest(s.method, f.url+s.path, strings.NewReader(s.body))
	f.must(err)
	r.Header = s.header
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.host == "none" {
		return f.sendBare(s)
	}
	r.Host = s.host
	res, err := f.client.Do(r)
	f.must(err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		_, err = io.Copy(io.Discard, res.Body)
		f.must(err)
	}
	return res.StatusCode, res.Header
}

// sendBare speaks HTTP/1.0, which has no Host.
func (f *fort) sendBare(s strike) (int, http.Header) {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	f.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.0\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", s.method, s.path, s.token, len(s.body), s.body)
	f.must(err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	f.must(err)
	defer res.Body.Close()
	return res.StatusCode, res.Header
}
