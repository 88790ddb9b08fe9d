package claude

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

// deviceKey signs messages as a paired device does.
type deviceKey struct{ key *ecdsa.PrivateKey }

func newKey(t *testing.T) deviceKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return deviceKey{key}
}

func (k deviceKey) jwk() hook.JWK {
	point, err := k.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	return hook.JWK{Kty: "EC", Crv: "P-256", X: text(point[1:33]), Y: text(point[33:])}
}

func (k deviceKey) thumbprint() string { return auth.Thumbprint(k.jwk()) }

func (k deviceKey) sign(m *hook.Message) {
	sum := sha256.Sum256(auth.MessageText(*m))
	r, s, err := ecdsa.Sign(rand.Reader, k.key, sum[:])
	if err != nil {
		panic(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	jwk := k.jwk()
	m.Signature, m.PublicKey = base64.RawURLEncoding.EncodeToString(sig), &jwk
}

// orders is the end of a host's connection that a broker has, with as much of a broker as that takes. What a
// real one makes of it is tested with it.
type orders struct {
	url string
	key deviceKey

	mu       sync.Mutex
	messages []hook.Message
	heard    []api.HostFrame
	seen     map[string]bool // ids of frames
	hello    int
	hostID   string // that the host said
	conn     *websocket.Conn
}

func newOrders(t *testing.T) *orders {
	o := &orders{key: newKey(t), seen: map[string]bool{}}
	srv := httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(srv.Close)
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.conn != nil {
			o.conn.Close()
		}
	})
	o.url = srv.URL
	return o
}

func (o *orders) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/host/ws" || r.Header.Get("Authorization") != "Bearer host-token" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	over := make(chan struct{})
	defer close(over)
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
			}
		}
	}()
	for {
		var f api.HostFrame
		if conn.ReadJSON(&f) != nil {
			return
		}
		o.take(conn, f)
	}
}

// take is one frame of the host.
func (o *orders) take(conn *websocket.Conn, f api.HostFrame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, f)
	switch f.Type {
	case api.HostHello:
		o.conn, o.hostID = conn, f.Agents[0].HostID
		welcome := api.BrokerFrame{Type: api.BrokerWelcome, Lease: 30}
		for _, m := range o.messages {
			if m.State == hook.MessageTaken || m.State == hook.MessageStarted {
				welcome.Held = append(welcome.Held, api.HeldMessage{ID: m.ID, State: m.State})
			}
		}
		o.say(welcome)
		for _, m := range o.messages {
			if m.State == hook.MessageSent {
				o.say(api.BrokerFrame{Type: api.BrokerMessage, Message: &m})
			}
		}
		o.hello++
		return
	case api.HostAgents:
		return
	}
	ack := api.BrokerFrame{Type: api.BrokerAck, ID: f.ID, OK: true}
	if i := slices.IndexFunc(o.messages, func(m hook.Message) bool { return m.ID == f.Message }); i >= 0 && !o.seen[f.ID] {
		m := &o.messages[i]
		state := map[string]hook.MessageState{api.HostTaken: hook.MessageTaken, api.HostStarted: hook.MessageStarted, api.HostEnded: hook.MessageEnded, api.HostRefused: hook.MessageRefused, api.HostLost: hook.MessageLost}[f.Type]
		if m.State == hook.MessageEnded || m.State == hook.MessageRefused {
			ack.OK = false
		} else {
			m.State, m.Outcome, m.Command = state, f.Outcome, f.Command
			m.Steps = append(m.Steps, hook.MessageStep{State: state, At: time.Now(), Why: f.Why})
		}
		ack.State = m.State
	}
	o.seen[f.ID] = true
	o.say(ack)
}

// say writes to the host that is connected, if one is. Called with mu.
func (o *orders) say(f api.BrokerFrame) {
	if o.conn != nil {
		_ = o.conn.WriteJSON(f)
	}
}

// make signs a message to the agent coder.
func (o *orders) make(session, kind, prompt string, options *hook.MessageOptions) hook.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := hook.Message{
		HostID: o.hostID, ID: uuid.NewString(), Agent: "coder", SessionID: session, Kind: kind, Prompt: prompt, Options: options,
		ExpiresAt: time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339), State: hook.MessageSent,
		Steps: []hook.MessageStep{{State: hook.MessageSent, At: time.Now()}},
	}
	o.key.sign(&m)
	return m
}

func (o *orders) put(m hook.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.messages = append(o.messages, m)
	o.say(api.BrokerFrame{Type: api.BrokerMessage, Message: &m})
}

func (o *orders) send(session, kind, prompt string, options *hook.MessageOptions) string {
	m := o.make(session, kind, prompt, options)
	o.put(m)
	return m.ID
}

// again sends a message once more, whatever became of it.
func (o *orders) again(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		if m.ID == id {
			o.say(api.BrokerFrame{Type: api.BrokerMessage, Message: &m})
		}
	}
}

func (o *orders) message(id string) hook.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		if m.ID == id {
			return m
		}
	}
	return hook.Message{}
}

// event is the last event of this kind.
func (o *orders) event(session, kind string) *api.AgentEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range slices.Backward(o.heard) {
		if f.Event != nil && f.Event.SessionID == session && f.Event.Kind == kind {
			return f.Event
		}
	}
	return nil
}

func (o *orders) frames() []api.HostFrame {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.heard)
}

func (o *orders) hellos() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hello
}
