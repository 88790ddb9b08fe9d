package broker

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/freeport"
	"assent/internal/hook"
)

// box is a host's end of a connection to a broker, with the agent coder.
type box struct {
	t      *testing.T
	conn   *websocket.Conn
	frames chan api.BrokerFrame
}

func coder() api.Agent {
	return api.Agent{Name: "coder", HostID: "box#0123456789abcdef", Status: api.AgentIdle}
}

func connectBox(t *testing.T, d *rig.Daemon) *box {
	t.Helper()
	base, _ := d.Owner()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+"/v1/host/ws", http.Header{"Authorization": {"Bearer " + d.CreateToken("host", "box")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	b := &box{t: t, conn: conn, frames: make(chan api.BrokerFrame, 100)}
	go func() {
		defer close(b.frames)
		for {
			var f api.BrokerFrame
			if conn.ReadJSON(&f) != nil {
				return
			}
			b.frames <- f
		}
	}()
	b.say(api.HostFrame{Type: api.HostHello, Host: "box", Version: "test", Agents: []api.Agent{coder()}})
	b.next(api.BrokerWelcome)
	return b
}

// next is the next frame of this kind.
func (b *box) next(kind string) api.BrokerFrame {
	b.t.Helper()
	for f := range b.frames {
		if f.Type == kind {
			return f
		}
	}
	b.t.Fatalf("the broker closed before %s", kind)
	return api.BrokerFrame{}
}

func (b *box) say(f api.HostFrame) {
	b.t.Helper()
	if err := b.conn.WriteJSON(f); err != nil {
		b.t.Fatal(err)
	}
}

// spokenToAtBoth has a host connected to one, and its agent found and prompted at the other.
func spokenToAtBoth(t *testing.T, one, other *rig.Daemon) {
	t.Helper()
	b := connectBox(t, one)
	rig.Eventually(t, rig.Soon, "the agent is there at the other broker", func() bool {
		status, body, err := other.Try("GET", "/v1/agents/coder", nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(body), `"status":"idle"`)
	})
	path := "/v1/agents/coder/sessions/" + uuid.NewString() + "/diff"
	asked := make(chan struct{})
	go func() { // what only the host's broker can ask
		defer close(asked)
		f := b.next(api.BrokerAsks)
		b.say(api.HostFrame{Type: api.HostAnswers, ID: f.ID, Answer: &api.HostAnswer{Status: http.StatusOK, Diff: &api.AgentDiff{Directory: "/srv/shop", Diff: strings.Repeat("+x\n", 100_000)}}})
	}()
	var diff api.AgentDiff
	other.Get(path, &diff)
	if <-asked; diff.Directory != "/srv/shop" || len(diff.Diff) != 300_000 || diff.Agent != "coder" {
		t.Errorf("the other broker shows a diff of %q in %q, %d bytes", diff.Agent, diff.Directory, len(diff.Diff))
	}
	defer func() {
		b.conn.Close()
		rig.Eventually(t, rig.Soon, "who has no host any more says so at once", func() bool {
			status, _, err := other.Try("GET", path, nil)
			return err == nil && status == http.StatusServiceUnavailable
		})
	}()
	phone := other.PairBare("admin")
	m := phone.AgentMessage(coder(), uuid.NewString(), hook.MessagePrompt, "hello", nil)
	other.Must("POST", "/v1/agents/coder/messages", phone.Bearer(), m, http.StatusAccepted, nil)
	if f := b.next(api.BrokerMessage); f.Message.ID != m.ID {
		t.Errorf("the host got %+v", f.Message)
	}
	b.say(api.HostFrame{Type: api.HostTaken, ID: "taken", Message: m.ID})
	if f := b.next(api.BrokerAck); !f.OK {
		t.Errorf("taken is answered with %+v", f)
	}
	rig.Eventually(t, rig.Soon, "it is taken at the other broker", func() bool {
		return strings.Contains(string(mustGet(t, other, "/v1/agents/coder/messages/"+m.ID)), `"state":"taken"`)
	})
}

// What a host says of its sessions is told to people once, also when it is connected to a broker that is not the one
// that tells; and by the next one that tells, when that was killed.
func TestAnyBrokersHostIsToldOf(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	rig.NATS(t, rig.TempDir(t), ports[0])
	var mu sync.Mutex
	told, again := map[string]string{}, 0 // what was told, by webhook-id, and how often once more
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var doc struct {
			Type string
			Data struct{ Waits, Session string }
		}
		if json.NewDecoder(r.Body).Decode(&doc) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		if told[id] != "" {
			again++
		}
		told[id] = strings.TrimSpace(doc.Type + " " + doc.Data.Waits)
	}))
	defer service.Close()
	start := func() *rig.Daemon {
		d := rig.NewDaemon(t, "--nats-url", "nats://"+freeport.Address(ports[0]))
		d.WriteNotices(fmt.Sprintf("notices:\n  - {name: bot, webhook: %q, secret: %q, after: 0s, failed: true, finished: true}\n",
			service.URL, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))))
		d.Start()
		return d
	}
	rings := func(d *rig.Daemon) bool {
		return strings.Contains(d.Out.Tail(1<<20), `this broker has the lease "notify"`)
	}
	first, second := start(), start()
	rig.Eventually(t, rig.Soon, "one of them tells", func() bool {
		if rings(second) {
			first, second = second, first
		}
		return rings(first)
	})
	b := connectBox(t, second)
	n := 0
	say := func(session, kind, code string) {
		t.Helper()
		n++
		e := &api.AgentEvent{SessionID: session, Agent: "coder", Kind: kind, Timestamp: time.Now().UTC(), Error: &api.AgentError{Code: code, Message: "why"}}
		b.say(api.HostFrame{Type: api.HostEvent, ID: fmt.Sprint("e", n), Event: e})
		b.say(api.HostFrame{Type: api.HostEvent, ID: fmt.Sprint("e", n), Event: e}) // as when its acknowledgement was lost
		for range 2 {
			if f := b.next(api.BrokerAck); !f.OK {
				t.Fatalf("%s is answered with %+v", kind, f)
			}
		}
	}
	wantTold := func(want ...string) {
		t.Helper()
		rig.Eventually(t, rig.Soon, fmt.Sprint("the service is told ", want), func() bool {
			mu.Lock()
			defer mu.Unlock()
			all := map[string]int{}
			for _, what := range told {
				all[what]++
			}
			for _, w := range want {
				if all[w]--; all[w] < 0 {
					return false
				}
			}
			return len(told) == len(want)
		})
	}
	say("s1", api.AgentBlocked, "BUDGET")
	say("s2", api.AgentBlocked, "TIMEOUT")
	say("s3", api.AgentFailed, "EXIT")
	wantTold("turn.blocked budget", "turn.blocked time", "turn.failed")
	mu.Lock()
	if again > 0 {
		t.Errorf("%d events were told twice", again)
	}
	mu.Unlock()
	first.Kill()                              // perhaps before it wrote that the last one arrived: that is told again, under the same id
	say("s1", api.AgentFailed, "INTERRUPTED") // nobody has the lease now
	wantTold("turn.blocked budget", "turn.blocked time", "turn.failed", "turn.failed")
}
