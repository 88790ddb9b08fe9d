package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/agent/claude"
	"assent/internal/auth"
	"assent/internal/hook"
	"assent/internal/policy/published"
	"assent/internal/server"
	"assent/internal/store/kvmirror/kvtest"
	"assent/schemas"
)

const origin = "http://127.0.0.1:7717"

// rig is a whole server over pipes: the real broker on a log in memory, real HTTP, a clock that
// the bubble turns.
type rig struct {
	t      *testing.T
	log    *logtest.Log
	kv     *kvtest.KV
	saved  *kvtest.KV // of what approvers saved; nil without
	broker *broker.Broker
	auth   *auth.Auth
	server *server.Server
	tcp    *pipeListener
	unix   *pipeListener
	lines  *logLines
	tokens map[auth.Role]string
	ids    map[auth.Role]string
	chief  *phone // the first device of role admin, which lets others in

	mu        sync.Mutex
	events    []hook.Event  // guarded by mu
	publishes error         // guarded by mu
	slow      time.Duration // what a publish takes; set before use
	ready     error         // guarded by mu
	stops     []func()
}

// bubble runs f with a fresh rig in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, server.Config{})
		defer g.stop()
		f(t, g)
	})
}

var page fs.FS = fstest.MapFS{
	"index.html":          {Data: []byte("<!doctype html><title>assent</title>")},
	"app-5J2ZQ4XK.js":     {Data: []byte("export {}")},
	"icon.svg":            {Data: []byte("<svg/>")},
	"app-5J2ZQ4XK.js.map": {Data: []byte("{}")},
}

func newRig(t *testing.T, cfg server.Config) *rig {
	t.Helper()
	return newRigOn(t, cfg, kvtest.New())
}

// newRigOn is a rig whose credentials are those of kv, as of a broker that begins again.
func newRigOn(t *testing.T, cfg server.Config, kv *kvtest.KV) *rig {
	t.Helper()
	g := &rig{t: t, log: logtest.New(), kv: kv, lines: &logLines{}, tokens: map[auth.Role]string{}, ids: map[auth.Role]string{}}
	ctx := context.Background()
	var err error
	if g.broker, err = broker.New(ctx, broker.Config{Log: g.log, SingleReplica: true, Encode: cfg.Views.Encode, CallKey: claude.CallKey}); err != nil {
		t.Fatal(err)
	}
	if g.auth, err = auth.Open(ctx, auth.Config{KV: g.kv, Record: g.log, NoOwnerToken: true}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []auth.Role{auth.RoleSubmit, auth.RoleHost, auth.RoleView, auth.RoleApprove, auth.RoleAdmin} {
		secret, token, err := g.auth.CreateToken(ctx, role, string(role), 0)
		if err != nil {
			t.Fatal(err)
		}
		g.tokens[role], g.ids[role] = secret, token.ID
	}
	g.tokens[auth.RoleOperate] = g.tokens[auth.RoleAdmin] // no token has that role by itself
	if cfg.Published, err = published.Open(ctx, published.Config{KV: g.kv}); err != nil {
		t.Fatal(err)
	}
	g.stops = append(g.stops, func() { _ = cfg.Published.Close() })
	cfg.Broker, cfg.Auth, cfg.Publish = g.broker, g.auth, g.publish
	cfg.Ready = func() error { g.mu.Lock(); defer g.mu.Unlock(); return g.ready }
	cfg.Assets, cfg.URL, cfg.Version = page, origin, "test"
	cfg.PublicURLs = append(cfg.PublicURLs, "https://box.example")
	if cfg.Log == nil {
		cfg.Log = zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), g.lines, zap.DebugLevel))
	}
	if g.server, err = server.New(cfg); err != nil {
		t.Fatal(err)
	}
	g.tcp, g.unix = g.serve(g.server.TCP()), g.serve(g.server.Unix())
	return g
}

func (g *rig) serve(h http.Handler) *pipeListener {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := g.server.HTTPServer(h)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	g.stops = append(g.stops, func() { _ = srv.Close(); <-done })
	return l
}

// stop ends everything in the order of a stopping broker.
func (g *rig) stop() {
	_ = g.broker.Close()
	for _, stop := range g.stops {
		stop()
	}
	if err := g.server.Close(); err != nil {
		g.t.Error(err)
	}
	_ = g.auth.Close()
}

func (g *rig) publish(_ context.Context, e hook.Event) (uint64, error) {
	time.Sleep(g.slow)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.publishes != nil {
		return 0, g.publishes
	}
	g.events = append(g.events, e)
	return uint64(len(g.events)), nil
}

// published returns what was published, and lets publishing fail with err from now on.
func (g *rig) published() []hook.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]hook.Event(nil), g.events...)
}

func (g *rig) failPublishing(err error) { g.mu.Lock(); g.publishes = err; g.mu.Unlock() }
func (g *rig) failReady(err error)      { g.mu.Lock(); g.ready = err; g.mu.Unlock() }

// call is one HTTP request. Zero fields are what a well-behaved client with no token sends.
type call struct {
	method, path, body, token string
	header                    map[string]string
	host                      string
	unix                      bool
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (g *rig) request(ctx context.Context, c call) *http.Request {
	if c.method == "" {
		c.method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, c.method, origin+c.path, strings.NewReader(c.body))
	if err != nil {
		g.t.Fatal(err)
	}
	if c.host != "" {
		r.Host = c.host
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if len(c.body) > 1<<20 {
		r.Header.Set("Expect", "100-continue") // else a refusal may cross the body and be lost
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	return r
}

// do sends c on a connection of its own.
func (g *rig) do(ctx context.Context, c call) reply {
	l := g.tcp
	if c.unix {
		l = g.unix
	}
	tr := &http.Transport{DialContext: l.dial, DisableKeepAlives: true, DisableCompression: true, ExpectContinueTimeout: time.Second}
	res, err := tr.RoundTrip(g.request(ctx, c))
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(b), err}
}

func (g *rig) call(c call) reply {
	g.t.Helper()
	r := g.do(context.Background(), c)
	if r.err != nil {
		g.t.Fatalf("%s %s: %v", c.method, c.path, r.err)
	}
	g.checkReply(c, r)
	return r
}

// checkReply holds what every answer on TCP must have.
func (g *rig) checkReply(c call, r reply) {
	g.t.Helper()
	if len(r.header.Values("Set-Cookie")) > 0 {
		g.t.Errorf("%s %s sets a cookie", c.method, c.path)
	}
	if r.status >= 400 && r.body != "" {
		if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
			g.t.Errorf("%s %s: %d with %q", c.method, c.path, r.status, ct)
		}
		valid(g.t, "Problem", r.body)
	}
	if c.unix {
		return
	}
	for k, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := r.header.Get(k); got != want {
			g.t.Errorf("%s %s: %s is %q", c.method, c.path, k, got)
		}
	}
	if csp := r.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") {
		g.t.Errorf("%s %s: CSP %q", c.method, c.path, csp)
	}
	if strings.HasPrefix(c.path, "/v1/") && r.header.Get("Cache-Control") != "no-store" {
		g.t.Errorf("%s %s: Cache-Control %q", c.method, c.path, r.header.Get("Cache-Control"))
	}
}

// valid checks a document against its schema.
func valid(t *testing.T, schema, doc string) {
	t.Helper()
	if err := schemas.Validate(schema, []byte(doc)); err != nil {
		t.Errorf("%v\n%s", err, doc)
	}
}

// validList checks each element.
func validList(t *testing.T, schema, doc string) []json.RawMessage {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(doc), &list); err != nil {
		t.Fatalf("no list: %v\n%s", err, doc)
	}
	for _, e := range list {
		valid(t, schema, string(e))
	}
	return list
}

func decode[T any](t *testing.T, doc string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return v
}

// waiting is a hook that waits for its answer.
type waiting struct {
	id     string
	reply  chan reply
	cancel context.CancelFunc
}

// raise starts a hook with this payload and lets everything come to rest.
func (g *rig) raise(c call) *waiting {
	g.t.Helper()
	w := &waiting{reply: make(chan reply, 1)}
	if c.method = http.MethodPost; c.path == "" {
		c.path = "/v1/hooks"
	}
	if c.header == nil {
		c.header = map[string]string{}
	}
	if _, ok := c.header[hook.HeaderRequestID]; !ok {
		c.header[hook.HeaderRequestID] = uuid.NewString()
	}
	w.id = c.header[hook.HeaderRequestID]
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		defer w.cancel()
		w.reply <- g.do(ctx, c)
	}()
	synctest.Wait()
	return w
}

// bash is a PermissionRequest payload.
func bash(command string) string {
	b, err := json.Marshal(map[string]any{
		"session_id": "s1", "cwd": "/home/dev/project", "hook_event_name": "PermissionRequest", "permission_mode": "default",
		"tool_name": "Bash", "tool_input": map[string]string{"command": command, "description": "words"},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

type requestDoc struct {
	ID, State, Outcome, Delivery, InputSHA256, Raw, Reason string
	RawBase64                                              []byte
	Detached, Partial                                      bool
	ToolInput                                              json.RawMessage
	DecidedBy                                              *hook.Approver
	Response                                               json.RawMessage
	Deadline                                               time.Time
	Uninspectable                                          string
	Context                                                *hook.Context
	Shown                                                  *struct {
		Verb   string
		Fields []struct{ Name, Text, Kind string }
	}
	Units       []struct{ Program, Text string }
	Doubts      []struct{ Why string }
	AllowedHere int
	Sentence    string
	Marks       []hook.RiskMark
}

func (g *rig) get(id string) requestDoc {
	g.t.Helper()
	r := g.call(call{path: "/v1/requests/" + id, token: g.tokens[auth.RoleView]})
	if r.status != http.StatusOK {
		g.t.Fatalf("get %s: %d %s", id, r.status, r.body)
	}
	valid(g.t, "PermissionRequest", r.body)
	return decode[requestDoc](g.t, r.body)
}

func (g *rig) decide(id, body string) reply {
	g.t.Helper()
	return g.call(call{method: http.MethodPost, path: "/v1/requests/" + id + "/decision", body: body, token: g.tokens[auth.RoleApprove]})
}

// dial opens a WebSocket as a program does.
func (g *rig) socket(query, token string, header http.Header) (*websocket.Conn, *http.Response, error) {
	if header == nil {
		header = http.Header{}
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	d := websocket.Dialer{NetDialContext: g.tcp.dial}
	return d.Dial("ws"+strings.TrimPrefix(origin, "http")+"/v1/ws"+query, header)
}

// pipeListener serves connections in memory, which a bubble understands.
type pipeListener struct {
	from   string // the address of the next connections' other end; "" is a pipe's
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c, s := net.Pipe()
	if l.from != "" {
		s = addressed{s, l.from}
	}
	select {
	case l.conns <- s:
		return c, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// logLines collects the log.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *logLines) Sync() error { return nil }
func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	from string
}

func (a addressed) RemoteAddr() net.Addr { return address(a.from) }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug in the test
	}
	return string(b)
}
