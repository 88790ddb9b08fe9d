package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/outlet/notify/notifytest"
	"assent/internal/store/kvmirror/kvtest"
	"assent/schemas"
)

// rig is a broker whose requests ring at a push service of ours, on the clock of a bubble.
type rig struct {
	t      *testing.T
	log    *logtest.Log
	kv     *kvtest.KV
	broker *broker.Broker
	vendor *notifytest.Vendor
	push   *notify.Push
	cfg    notify.Config
	stop   context.CancelFunc
	ran    chan error

	mu      sync.Mutex
	revoked map[string]bool // guarded by mu
	said    []string        // guarded by mu; the log
}

// inBubble runs f with a rig that start has started.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		f(t, r)
		r.end()
		for _, w := range r.vendor.Wrong() {
			t.Errorf("the push service refused a message: %s", w)
		}
	})
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, log: logtest.New(), kv: kvtest.New(), vendor: notifytest.New("https://push.example"), revoked: map[string]bool{}}
	r.cfg = notify.Config{
		KV: r.kv, Transport: r.vendor, URL: "https://box.example",
		May: func(device string) bool { r.mu.Lock(); defer r.mu.Unlock(); return !r.revoked[device] },
		Logf: func(format string, args ...any) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said = append(r.said, fmt.Sprintf(format, args...))
		},
	}
	return r
}

// start begins a broker and its ringing (again).
func (r *rig) start() {
	r.t.Helper()
	var err error
	if r.broker, err = broker.New(context.Background(), broker.Config{Log: r.log, SingleReplica: true}); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Broker = r.broker
	if r.push, err = notify.Open(context.Background(), r.cfg); err != nil {
		r.t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.ran = make(chan error, 1)
	p := r.push
	go func() { r.ran <- p.Run(ctx) }()
	synctest.Wait()
}

// end stops it, as a broker does that stops.
func (r *rig) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.ran; !errors.Is(err, context.Canceled) {
		r.t.Errorf("Run: %v", err)
	}
	_ = r.push.Close()
	_ = r.broker.Close()
}

// device subscribes one, which rings at once.
func (r *rig) device(id string, change ...func(*notify.Settings)) *notifytest.Browser {
	r.t.Helper()
	b := r.vendor.Subscribe(r.push.State(id).PublicKey)
	set := notify.DefaultSettings()
	set.AfterSeconds = 0
	for _, c := range change {
		c(&set)
	}
	sub, err := notify.ParseSubscription(b.JSON())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.push.Put(context.Background(), id, sub, &set); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return b
}

// ask raises a request.
func (r *rig) ask(change ...func(*hook.Request)) hook.Request {
	r.t.Helper()
	raw := []byte(`{"tool_input":{"command":"secret-command"}}`)
	q := hook.Request{
		ID: uuid.NewString(), SessionID: "s1", CWD: "/home/dev/project", ToolName: "Bash", ToolInput: hook.JSON(`{"command":"secret-command"}`),
		InputSHA256: strings.Repeat("0", 64), PayloadSHA256: strings.Repeat("1", 64), Raw: raw, Agent: "claude",
		CreatedAt: time.Now(), Deadline: time.Now().Add(10 * time.Minute), OnTimeout: hook.Abstain, Channel: hook.ChannelSocket,
	}
	for _, c := range change {
		c(&q)
	}
	w, err := r.broker.Ask(q)
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { _, _ = w.Wait(context.Background()) }()
	synctest.Wait()
	return q
}

func (r *rig) allow(q hook.Request) {
	r.t.Helper()
	if _, err := r.broker.Decide(context.Background(), q.ID, hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: q.InputSHA256}, hook.Approver{Kind: "device", ID: "d"}); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// got are the messages that arrived, checked against their schema.
func (r *rig) got() []notify.Message {
	r.t.Helper()
	var list []notify.Message
	for _, g := range r.vendor.Got() {
		if err := schemas.Validate("PushMessage", g.Plain); err != nil {
			r.t.Errorf("%v\n%s", err, g.Plain)
		}
		if strings.Contains(string(g.Plain), "secret") {
			r.t.Errorf("a message holds the input: %s", g.Plain)
		}
		var m notify.Message
		if err := json.Unmarshal(g.Plain, &m); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// types are the types of the messages that arrived.
func (r *rig) types() string {
	var list []string
	for _, m := range r.got() {
		list = append(list, m.Type)
	}
	return strings.Join(list, " ")
}

func (r *rig) want(types string) {
	r.t.Helper()
	if got := r.types(); got != types {
		r.t.Errorf("the device was told %q, want %q", got, types)
	}
}

func TestARequestRingsAndItsEndReplacesIt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		q := r.ask()
		r.want("asked")
		m := r.got()[0]
		if m.RequestID != q.ID || m.Waits != "permission" || m.Session != "" || m.Waiting != 1 {
			t.Errorf("%+v", m)
		}
		r.allow(q)
		r.want("asked settled")
		m = r.got()[1]
		if len(m.Gone) != 1 || m.Gone[0].ID != q.ID || m.Gone[0].Outcome != "allowed" || m.Waiting != 0 {
			t.Errorf("%+v", m)
		}
		asked, settled := r.vendor.Got()[0], r.vendor.Got()[1]
		if asked.Topic != strings.ReplaceAll(q.ID, "-", "") || settled.Topic != asked.Topic {
			t.Errorf("topics %q and %q", asked.Topic, settled.Topic)
		}
		if asked.Urgency != "high" || asked.TTL != 600 || settled.Urgency != "normal" || asked.Subject != "https://box.example" {
			t.Errorf("%+v, %+v", asked, settled)
		}
		if s := r.push.State("phone"); !s.Subscribed || s.Service != "push.example" || s.LastSentAt.IsZero() || s.Trouble != "" {
			t.Errorf("state %+v", s)
		}
	})
}

func TestOnlyWhatIsUndecidedAfterAWhileRings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.AfterSeconds = 30 })
		quick := r.ask()
		pass(20 * time.Second)
		slow := r.ask()
		r.allow(quick)
		pass(29 * time.Second)
		r.want("")
		pass(time.Second)
		r.want("asked")
		if r.got()[0].RequestID != slow.ID {
			t.Errorf("rang for %s", r.got()[0].RequestID)
		}
	})
}

func TestARuleAnswersAndNothingRings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		q := hook.Request{
			ID: uuid.NewString(), SessionID: "s1", ToolName: "Bash", Raw: []byte("{}"), InputSHA256: strings.Repeat("0", 64), PayloadSHA256: strings.Repeat("1", 64),
			CreatedAt: time.Now(), Deadline: time.Now().Add(time.Minute), OnTimeout: hook.Abstain, Channel: hook.ChannelSocket, Agent: "claude",
			Verdict: &hook.Verdict{Action: hook.ActionAllow, Rule: "a", File: "/rules.yaml"},
		}
		w, err := r.broker.Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.AnswerByRule(hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: q.InputSHA256}, hook.Approver{Kind: hook.KindRule, ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		r.want("")
		if r.vendor.Tries() != 0 {
			t.Error("something was sent")
		}
	})
}

func TestManyAtOnceAreOneMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		var all []hook.Request
		for range 1000 {
			all = append(all, r.ask())
		}
		pass(time.Minute)
		list := r.got()
		if len(list) > 5 {
			t.Fatalf("%d messages for a burst: %s", len(list), r.types())
		}
		if last := list[len(list)-1]; last.Type != "many" || last.Waiting != 1000 {
			t.Errorf("the last is %+v", last)
		}
		for _, q := range all {
			r.allow(q)
		}
		pass(5 * time.Minute)
		gone := map[string]int{}
		list = r.got()
		for _, m := range list {
			for _, g := range m.Gone {
				gone[g.ID]++
			}
		}
		for _, m := range list {
			if m.Type == "asked" && gone[m.RequestID] != 1 {
				t.Errorf("a notification stays: %+v", m)
			}
		}
		if gone["many"] != 1 || list[len(list)-1].Waiting != 0 {
			t.Errorf("%v, %+v", gone["many"], list[len(list)-1])
		}
		if n := r.vendor.Tries(); n > 15 {
			t.Errorf("%d messages in all", n)
		}
	})
}

// The numbers of notifications and of messages stay small however long it goes on.
func TestALongDayIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		shown := map[string]bool{}
		var open []hook.Request
		for i := range 400 {
			open = append(open, r.ask(func(q *hook.Request) { q.Deadline = q.CreatedAt.Add(12 * time.Hour) }))
			if i%3 == 2 {
				r.allow(open[0])
				open = open[1:]
			}
			pass(5 * time.Second)
		}
		for _, m := range r.got() {
			for _, g := range m.Gone {
				if !shown[g.ID] {
					t.Errorf("%s is gone and was never there", g.ID)
				}
				delete(shown, g.ID)
			}
			switch m.Type {
			case "asked":
				shown[m.RequestID] = true
			case "many":
				shown["many"] = true
			}
			if len(shown) > 33 {
				t.Fatalf("%d notifications at once", len(shown))
			}
		}
		for _, q := range open {
			r.allow(q)
		}
		pass(time.Minute)
		if last := r.got()[len(r.got())-1]; last.Waiting != 0 {
			t.Errorf("the last is %+v", last)
		}
	})
}

func TestQuietHours(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		// The bubble's clock begins at midnight UTC, which is 01:00 in Berlin.
		r.device("phone", func(s *notify.Settings) {
			s.TimeZone, s.Quiet = "Europe/Berlin", []notify.Hours{{From: "22:00", To: "07:00"}}
		})
		long := func(q *hook.Request) { q.Deadline = q.CreatedAt.Add(24 * time.Hour) }
		gone, stays := r.ask(long), r.ask(long)
		pass(time.Hour)
		r.allow(gone)
		pass(5*time.Hour - time.Second)
		r.want("")
		pass(time.Second)
		r.want("asked")
		if r.got()[0].RequestID != stays.ID {
			t.Errorf("%+v", r.got()[0])
		}
	})
}

func TestSessions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		in := func(id string) func(*hook.Request) {
			return func(q *hook.Request) { q.SessionID, q.CWD = id, "/home/dev/"+id+"\u202e" }
		}
		r.device("mutes", func(s *notify.Settings) { s.Sessions = notify.Choice{Mode: "mute", IDs: []string{"a"}} })
		r.device("only", func(s *notify.Settings) {
			s.Sessions, s.ShowSession = notify.Choice{Mode: "only", IDs: []string{"a"}}, true
		})
		a, b := r.ask(in("a")), r.ask(in("b"))
		pass(time.Minute)
		r.want("asked asked")
		for _, m := range r.got() {
			switch m.RequestID {
			case a.ID:
				if !strings.HasPrefix(m.Session, "a") || strings.Contains(m.Session, "\u202e") {
					t.Errorf("session %q", m.Session)
				}
			case b.ID:
				if m.Session != "" {
					t.Errorf("a device that did not want it got the name %q", m.Session)
				}
			}
		}
	})
}

func TestASubscriptionThatIsGoneGoes(t *testing.T) {
	for _, how := range []string{"410", "404"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				b := r.device("phone", func(s *notify.Settings) { s.ShowSession = true })
				if how == "410" {
					r.vendor.Unsubscribe(b)
				} else {
					r.vendor.Answer(func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) })
				}
				r.ask()
				pass(time.Hour)
				if n := r.vendor.Tries(); n != 1 {
					t.Errorf("%d tries", n)
				}
				if s := r.push.State("phone"); s.Subscribed || !s.Settings.ShowSession || s.Trouble == "" {
					t.Errorf("%+v", s)
				}
				r.vendor.Answer(nil)
				r.device("phone")
				r.ask()
				r.want("asked")
			})
		})
	}
}

func TestARevokedDeviceIsToldNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		r.device("other")
		r.mu.Lock()
		r.revoked["phone"] = true
		r.mu.Unlock()
		r.ask()
		pass(time.Minute)
		r.want("asked")
		if r.push.State("phone").Subscribed || !r.push.State("other").Subscribed {
			t.Error("the subscription of the revoked device stays, or the other's is gone")
		}
		for key := range r.kv.Values() {
			if strings.Contains(key, "phone") {
				t.Errorf("%s stays", key)
			}
		}
	})
}

// A push service that fails is tried again, less and less often, and gets no stale message then.
func TestAPushServiceThatFails(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"400": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"302": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://push.example/x")
			w.WriteHeader(302)
		},
		"hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		},
		"junk": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-9999999999999999999")
			w.WriteHeader(999)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.device("phone")
				r.vendor.Answer(answer)
				first := r.ask()
				pass(time.Minute)
				if n := r.vendor.Tries(); n < 3 || n > 8 {
					t.Errorf("%d tries in a minute", n)
				}
				if s := r.push.State("phone"); s.Trouble == "" || !s.Subscribed {
					t.Errorf("%+v", s)
				}
				pass(8 * time.Minute)
				r.allow(first)
				second := r.ask()
				r.vendor.Answer(nil)
				pass(6 * time.Minute)
				r.want("asked")
				if r.got()[0].RequestID != second.ID || r.push.State("phone").Trouble != "" {
					t.Errorf("%+v, %+v", r.got()[0], r.push.State("phone"))
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				if len(r.said) != 2 || strings.Contains(strings.Join(r.said, ""), "push.example") {
					t.Errorf("the log says %q", r.said)
				}
			})
		})
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		r.vendor.Answer(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "120"); w.WriteHeader(429) })
		r.ask()
		pass(119 * time.Second)
		if n := r.vendor.Tries(); n != 1 {
			t.Errorf("%d tries", n)
		}
		r.vendor.Answer(nil)
		pass(2 * time.Second)
		r.want("asked")
	})
}

// One device's service hangs; the others are told all the same.
func TestASlowServiceHoldsUpNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		slow := r.device("slow")
		r.device("quick")
		r.vendor.Answer(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(slow.Endpoint, req.URL.Path) {
				<-req.Context().Done()
				return
			}
			w.WriteHeader(201)
		})
		began := time.Now()
		r.ask()
		if r.push.State("quick").LastSentAt.IsZero() || time.Since(began) > 0 {
			t.Error("the quick one waits for the slow one")
		}
	})
}

// After a start of the broker what waits rings again; what was told before and is settled now is
// taken back.
func TestAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.device("phone")
		q := r.ask(func(q *hook.Request) { q.Channel = hook.ChannelRemote })
		key := r.push.State("phone").PublicKey
		r.end()
		r.start()
		if r.push.State("phone").PublicKey != key {
			t.Error("the key is another, so every device would have to subscribe again")
		}
		pass(time.Second)
		r.want("asked asked")
		pass(2 * time.Minute) // no hook came back
		r.want("asked asked settled")
		if g := r.got()[2].Gone; len(g) != 1 || g[0].ID != q.ID || g[0].Outcome != "withdrawn" {
			t.Errorf("%+v", g)
		}
	})
}

// The one that tells does so for the hooks of all, and the others for none.
func TestAnotherReplicasRequestIsRungFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.device("phone")
		// A second broker on the same record and store, with a vendor of its own to tell them apart.
		b, err := broker.New(context.Background(), broker.Config{Log: r.log})
		if err != nil {
			t.Fatal(err)
		}
		cfg := r.cfg
		other := notifytest.New("https://push.example")
		var mine atomic.Bool
		cfg.Broker, cfg.Transport, cfg.Mine = b, other, mine.Load
		p, err := notify.Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- p.Run(ctx) }()
		synctest.Wait()
		r.ask()
		pass(time.Minute)
		r.want("asked")
		if other.Tries() != 0 {
			t.Error("both replicas ring")
		}
		mine.Store(true)
		pass(time.Minute)
		if other.Tries() != 1 {
			t.Errorf("who took over rang %d times", other.Tries())
		}
		if p.State("phone").PublicKey != r.push.State("phone").PublicKey {
			t.Error("the replicas have different keys")
		}
		cancel()
		<-ran
		_ = p.Close()
		_ = b.Close()
		r.end()
	})
}

func TestTestMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		if err := r.push.Test(ctx, "phone"); !errors.Is(err, notify.ErrNotSubscribed) {
			t.Errorf("%v", err)
		}
		pass(3 * time.Second)
		b := r.device("phone")
		if err := r.push.Test(ctx, "phone"); err != nil {
			t.Error(err)
		}
		r.want("test")
		if err := r.push.Test(ctx, "phone"); !errors.Is(err, notify.ErrBusy) {
			t.Errorf("%v", err)
		}
		pass(3 * time.Second)
		r.vendor.Unsubscribe(b)
		var unsent *notify.SendError
		if err := r.push.Test(ctx, "phone"); !errors.As(err, &unsent) || r.push.State("phone").Subscribed {
			t.Errorf("%v", err)
		}
	})
}
