package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
	"assent/internal/store/presence"
)

// neighbours are what a broker knows of the others, as a test says it.
type neighbours struct {
	self string
	mu   sync.Mutex
	gone bool   // the run "other" is
	held string // by which run; "?": nobody knows
}

func (n *neighbours) set(gone bool, held string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone, n.held = gone, held
}

func (n *neighbours) Self() string { return n.self }

func (n *neighbours) Gone(run string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return run == "other" && n.gone
}

func (n *neighbours) Holder(context.Context, string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held == "?" {
		return "", errors.New("nobody knows")
	}
	return n.held, nil
}

func (n *neighbours) Attached(context.Context, string) error { return nil }
func (n *neighbours) Settled(context.Context, string)        {}

// neighbours lets q wait at a broker called "other", and the rig's know of it.
func (r *rig) neighbours(q hook.Request) *neighbours {
	r.t.Helper()
	mine := &neighbours{self: "mine"}
	r.cfg.Replicas = &neighbours{self: "other"}
	r.elsewhere(q)
	if err := r.b.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Replicas = mine
	r.b = r.open(r.cfg)
	return mine
}

// member is one of several brokers, with its own way to what they share.
type member struct {
	*broker.Broker
	presence *presence.Presence
	kv       *severed
}

// severed is a KV that a broker may be cut off from.
type severed struct {
	kvmirror.KV
	mu  sync.Mutex
	off bool
}

func (s *severed) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

func (s *severed) fails() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return broker.ErrUnavailable
	}
	return nil
}

func (s *severed) Create(ctx context.Context, key string, v []byte) (uint64, error) {
	if err := s.fails(); err != nil {
		return 0, err
	}
	return s.KV.Create(ctx, key, v)
}

func (s *severed) Update(ctx context.Context, key string, v []byte, rev uint64) (uint64, error) {
	if err := s.fails(); err != nil {
		return 0, err
	}
	return s.KV.Update(ctx, key, v, rev)
}

func (s *severed) Delete(ctx context.Context, key string) (uint64, error) {
	if err := s.fails(); err != nil {
		return 0, err
	}
	return s.KV.Delete(ctx, key)
}

// kill is what a kill -9 leaves: nothing is recorded, nor said, any more.
func (m *member) kill() {
	m.kv.cut()
	_ = m.Broker.Close()
	_ = m.presence.Close()
}

func (m *member) stop() {
	_ = m.Broker.Close()
	_ = m.presence.Close()
}

func join(t *testing.T, log *logtest.Log, kv *kvtest.KV, id string) *member {
	t.Helper()
	m := &member{kv: &severed{KV: kv}}
	var err error
	if m.presence, err = presence.Open(context.Background(), presence.Config{KV: m.kv, NotFound: kvtest.ErrKey, ID: id, Format: 1}); err != nil {
		t.Fatal(err)
	}
	if m.Broker, err = broker.New(context.Background(), broker.Config{Log: shared{Log: log}, Replicas: m.presence}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *member) look(t *testing.T, q hook.Request) broker.View {
	t.Helper()
	v, err := m.Get(t.Context(), q.ID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func inCluster(t *testing.T, f func(t *testing.T, log *logtest.Log, a, b, c *member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, kv := logtest.New(), kvtest.New()
		a, b, c := join(t, log, kv, "a"), join(t, log, kv, "b"), join(t, log, kv, "c")
		time.Sleep(30 * time.Second)
		f(t, log, a, b, c)
		for _, m := range []*member{a, b, c} {
			m.stop()
		}
	})
}

// The requests of a broker that was killed are shown as detached, and withdrawn by the others, well before
// their deadlines; the one whose hook went on at another broker is answered there.
func TestKilledBrokersRequestsAreWithdrawn(t *testing.T) {
	inCluster(t, func(t *testing.T, log *logtest.Log, a, b, c *member) {
		lost, moved := newRequest("00000001-0000-4000-8000-000000000000", "s", "x", 1), newRequest("00000002-0000-4000-8000-000000000000", "s", "y", 2)
		moved.Channel = hook.ChannelRemote
		askOn(t, a.Broker, lost)
		askOn(t, a.Broker, moved)
		synctest.Wait()
		a.kill()
		w := askOn(t, b.Broker, moved)
		time.Sleep(presence.SilentAfter + 5*time.Second)
		if v := c.look(t, lost); !v.Detached || v.State != broker.Pending {
			t.Errorf("after its broker fell silent: %+v", v)
		}
		time.Sleep(35 * time.Second)
		if v := c.look(t, lost); v.Outcome != hook.Withdrawn || v.Reason != hook.ReasonDetached {
			t.Errorf("a request whose broker was killed is %s %s %s", v.State, v.Outcome, v.Reason)
		}
		time.Sleep(2 * time.Minute)
		if v := c.look(t, moved); v.State != broker.Pending || v.Detached {
			t.Fatalf("one whose hook went on at another broker is %s %s, detached %v", v.State, v.Outcome, v.Detached)
		}
		if _, err := c.Decide(t.Context(), moved.ID, allow(moved), phone); err != nil {
			t.Fatal(err)
		}
		if w.waits() || w.answer.Outcome != hook.Allowed {
			t.Errorf("its hook got %+v, %v", w.answer, w.err)
		}
	})
}

// A broker that begins anew proves that its former run is over: nobody waits for it to fall silent.
func TestRestartedBrokerProvesItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, kv := logtest.New(), kvtest.New()
		a, b := join(t, log, kv, "a"), join(t, log, kv, "b")
		defer b.stop()
		time.Sleep(30 * time.Second)
		q := newRequest("00000001-0000-4000-8000-000000000000", "s", "x", 1)
		askOn(t, a.Broker, q)
		synctest.Wait()
		a.kill()
		a = join(t, log, kv, "a")
		defer a.stop()
		time.Sleep(5 * time.Second)
		for _, m := range []*member{a, b} {
			if v := m.look(t, q); !v.Detached {
				t.Errorf("after the restart of its broker: %+v", v)
			}
		}
		time.Sleep(30 * time.Second)
		if v := b.look(t, q); v.Outcome != hook.Withdrawn {
			t.Errorf("half a minute later: %s %s", v.State, v.Outcome)
		}
	})
}

// A request of which its broker does not know that it was recorded, and says so to its hook, is withdrawn when
// the record turns up and no hook comes for it; one that comes, here or elsewhere, is answered.
func TestLateRecordIsNoGhost(t *testing.T) {
	inCluster(t, func(t *testing.T, log *logtest.Log, a, b, c *member) {
		var qs []hook.Request
		for i, id := range []string{"1", "2", "3"} {
			q := newRequest("0000000"+id+"-0000-4000-8000-000000000000", "s", id, uint64(i+1))
			qs = append(qs, q)
			log.PauseTail(true)
			log.Inject(func(rec hook.Record) logtest.Fault {
				return logtest.Fault{LoseAck: rec.Step == hook.StepAsked, Blind: true}
			})
			if _, err := a.Ask(q); !errors.Is(err, broker.ErrUnavailable) {
				t.Fatalf("Ask: %v", err)
			}
			log.Inject(nil)
			log.PauseTail(false)
			synctest.Wait()
		}
		here, there := askOn(t, a.Broker, qs[1]), askOn(t, b.Broker, qs[2])
		time.Sleep(20 * time.Second)
		if v := c.look(t, qs[0]); v.Outcome != hook.Withdrawn {
			t.Errorf("a record without a hook is %s %s", v.State, v.Outcome)
		}
		time.Sleep(2 * time.Minute)
		for i, w := range []*waiting{here, there} {
			q := qs[i+1]
			if _, err := c.Decide(t.Context(), q.ID, allow(q), phone); err != nil {
				t.Errorf("hook %d: %v", i, err)
			}
			if w.waits() || w.answer.Outcome != hook.Allowed {
				t.Errorf("hook %d got %+v, %v", i, w.answer, w.err)
			}
		}
	})
}
