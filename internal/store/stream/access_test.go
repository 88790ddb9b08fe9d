package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

// outsider is a program that has read nats-info.json.
type outsider struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	old     nats.JetStreamContext
	refused chan error // permission violations
}

func reader(t *testing.T, s *Stream) *outsider {
	t.Helper()
	text, err := os.ReadFile(s.infoPath())
	if err != nil {
		t.Fatal(err)
	}
	var info NATSInfo
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	if info != s.Info() || !info.JetStream || info.Stream != "HOOK_EVENTS" || info.Subjects != "hooks.>" || info.Port == 0 {
		t.Fatalf("nats-info.json says %s", text)
	}
	o := &outsider{refused: make(chan error, 100)}
	o.nc, err = nats.Connect(info.URL, nats.Token(info.Token), nats.ReconnectWait(10*time.Millisecond), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		o.refused <- err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.nc.Close)
	if o.js, err = jetstream.New(o.nc); err != nil {
		t.Fatal(err)
	}
	if o.old, err = o.nc.JetStream(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestReaderMayRead(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Listen: "127.0.0.1:0"})
	ctx := t.Context()
	old := fullEvent()
	mustPublish(t, s, old)
	r := reader(t, s)

	check := func(t *testing.T, want hook.Event, subject string, data []byte, id string) {
		t.Helper()
		if subject != "hooks."+want.Type || !bytes.Equal(data, want.Raw) || id != want.ID {
			t.Errorf("got %s %q %s", subject, data, id)
		}
	}
	t.Run("jetstream durable, all, explicit ack", func(t *testing.T) {
		st, err := r.js.Stream(ctx, "HOOK_EVENTS")
		if err != nil {
			t.Fatal(err)
		}
		c, err := st.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: "coop-x", FilterSubject: "hooks.>", DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		check(t, old, m.Subject(), m.Data(), m.Headers().Get("Nats-Msg-Id"))
		if err := m.DoubleAck(ctx); err != nil {
			t.Error(err)
		}
		c, err = r.js.Consumer(ctx, "HOOK_EVENTS", "coop-x")
		if err != nil {
			t.Fatal(err)
		}
		if info := c.CachedInfo(); info.AckFloor.Stream != 1 {
			t.Errorf("acknowledged to %d", info.AckFloor.Stream)
		}
	})
	t.Run("jetstream ephemeral, new, one type", func(t *testing.T) {
		c, err := r.js.CreateConsumer(ctx, "HOOK_EVENTS", jetstream.ConsumerConfig{
			FilterSubject: "hooks.Stop", DeliverPolicy: jetstream.DeliverNewPolicy, AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := c.Messages()
		if err != nil {
			t.Fatal(err)
		}
		defer messages.Stop()
		mustPublish(t, s, fullEvent())
		e := fullEvent()
		e.Type = "Stop"
		mustPublish(t, s, e)
		m, err := messages.Next(jetstream.NextMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		check(t, e, m.Subject(), m.Data(), m.Headers().Get("Nats-Msg-Id"))
		if err := m.Ack(); err != nil {
			t.Error(err)
		}
	})
	t.Run("jetstream ordered", func(t *testing.T) {
		c, err := r.js.OrderedConsumer(ctx, "HOOK_EVENTS", jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		check(t, old, m.Subject(), m.Data(), m.Headers().Get("Nats-Msg-Id"))
	})
	t.Run("nats.go push, ephemeral and durable", func(t *testing.T) {
		for _, opts := range [][]nats.SubOpt{
			{nats.DeliverAll(), nats.AckExplicit()},
			{nats.DeliverAll(), nats.AckExplicit(), nats.Durable("coop-push")},
			{nats.OrderedConsumer()},
		} {
			sub, err := r.old.SubscribeSync("hooks.>", append(opts, nats.BindStream("HOOK_EVENTS"))...)
			if err != nil {
				t.Fatal(err)
			}
			m, err := sub.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			check(t, old, m.Subject, m.Data, m.Header.Get("Nats-Msg-Id"))
			_ = m.Ack()
		}
	})
	t.Run("nats.go pull, durable", func(t *testing.T) {
		sub, err := r.old.PullSubscribe("hooks.>", "coop-pull", nats.BindStream("HOOK_EVENTS"))
		if err != nil {
			t.Fatal(err)
		}
		ms, err := sub.Fetch(1, nats.MaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		check(t, old, ms[0].Subject, ms[0].Data, ms[0].Header.Get("Nats-Msg-Id"))
		if err := ms[0].AckSync(); err != nil {
			t.Error(err)
		}
	})
	t.Run("delete its consumers", func(t *testing.T) {
		if err := r.js.DeleteConsumer(ctx, "HOOK_EVENTS", "coop-x"); err != nil {
			t.Error(err)
		}
	})
	for len(r.refused) > 0 {
		t.Errorf("refused: %v", <-r.refused)
	}
}

// Everything but reading is refused, by the server's own word or by silence, and leaves the
// streams as they were.
func TestReaderMayNothingElse(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Listen: "127.0.0.1:0"})
	ctx := t.Context()
	mustPublish(t, s, fullEvent())
	mustAppend(t, s, asked(t), 0)
	mustPut(t, s, "secret", []byte("x"))
	r := reader(t, s)

	// Subjects that must be refused to publish on, with any reply.
	for _, subject := range []string{
		"hooks.Stop", "hooks.PermissionRequest", "approvals.x", "$KV.ASSENT_STATE.secret",
		"$JS.API.STREAM.PURGE.HOOK_EVENTS", "$JS.API.STREAM.DELETE.HOOK_EVENTS", "$JS.API.STREAM.UPDATE.HOOK_EVENTS",
		"$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.INFO.EVENTS",
		"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.CREATE.HOOK_EVENTS", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
		"$JS.API.STREAM.MSG.DELETE.HOOK_EVENTS", "$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
		"$JS.API.STREAM.SNAPSHOT.HOOK_EVENTS", "$JS.API.STREAM.RESTORE.MINE", "$JS.API.STREAM.INFO.KV_ASSENT_STATE",
		"$JS.API.CONSUMER.CREATE.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS.c", "$JS.API.CONSUMER.CREATE.EVENTS.c.hooks.>",
		"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.c", "$JS.API.CONSUMER.NAMES.EVENTS", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.c",
		"$JS.ACK.EVENTS.c.1.1.1.1.1", "$JS.FC.EVENTS.c.x",
		"assent.api.CONSUMER.CREATE.EVENTS", "assent.api.CONSUMER.CREATE.EVENTS.c", "assent.mirror.x",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.USER.INFO", "_INBOX.x", "anything",
	} {
		if err := r.nc.PublishRequest(subject, "_INBOX.x.y", []byte(`{"name":"MINE","subjects":["mine"]}`)); err != nil {
			t.Fatal(err)
		}
		r.expectRefusal(t, "Publish to", subject)
	}
	for _, subject := range []string{"hooks.>", "hooks.Stop", ">", "$SYS.>", "$JS.>", "assent.mirror.>", "assent.>", "approvals.>", "$KV.>", "_R_.>"} {
		sub, err := r.nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		r.expectRefusal(t, "Subscription to", subject)
		_ = sub.Unsubscribe()
	}

	// What the server answers, it sends where the request says. None of it may become an
	// event, or a command.
	pull, err := r.js.CreateConsumer(ctx, HookEvents, jetstream.ConsumerConfig{Durable: "tricky", AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{
		"hooks.Stop", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.PURGE.HOOK_EVENTS", "$JS.API.STREAM.DELETE.HOOK_EVENTS",
		"assent.api.CONSUMER.CREATE.EVENTS", "approvals.x",
	} {
		for _, ask := range []string{
			"$JS.API.INFO", "$JS.API.STREAM.INFO.HOOK_EVENTS", "$JS.API.CONSUMER.INFO.HOOK_EVENTS.tricky", "$JS.API.CONSUMER.MSG.NEXT.HOOK_EVENTS.tricky",
		} {
			if err := r.nc.PublishRequest(ask, target, nil); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.old.AddConsumer(HookEvents, &nats.ConsumerConfig{DeliverSubject: target, AckPolicy: nats.AckNonePolicy})
		t.Logf("push consumer to %s: %v", target, err)
	}
	if _, err := pull.Info(ctx); err != nil { // an answer: the requests before it are done
		t.Fatal(err)
	}
	mustPublish(t, s, fullEvent()) // gives the push consumers something to deliver
	for seen := uint64(0); seen < 2; {
		st, err := r.js.Stream(ctx, HookEvents)
		if err != nil {
			t.Fatal(err)
		}
		seen = st.CachedInfo().State.LastSeq
	}
	if err := r.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if last := mustPublish(t, s, fullEvent()); last != 3 {
		t.Errorf("EVENTS ends at %d, not 3: something was injected", last)
	}
	state, err := s.events.streamState(ctx, s.events.js, EventsStream)
	if err != nil || state.Msgs != 3 || state.Consumers != 0 { // the mirror's own is not counted
		t.Errorf("EVENTS has %d messages and %d consumers, %v; want 3 and none", state.Msgs, state.Consumers, err)
	}
	state, err = s.record.streamState(ctx, s.record.js, RecordStream)
	if err != nil || state.Msgs != 1 {
		t.Errorf("APPROVALS has %d messages, %v", state.Msgs, err)
	}
	for len(r.refused) > 0 {
		t.Errorf("refused: %v", <-r.refused)
	}
}

// expectRefusal waits for the server to refuse a subject.
func (o *outsider) expectRefusal(t *testing.T, verb, subject string) {
	t.Helper()
	select {
	case err := <-o.refused:
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), verb+" \""+subject+"\"") {
			t.Errorf("%s %s: %v", verb, subject, err)
		}
	case <-time.After(patience):
		t.Errorf("%s %s was not refused", verb, subject)
	}
}

func TestReaderNeedsTheToken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir, Listen: "127.0.0.1:0"})
	info := s.Info()
	for _, opts := range [][]nats.Option{nil, {nats.Token("")}, {nats.Token("x")}, {nats.UserInfo("core", "")}} {
		nc, err := nats.Connect(info.URL, opts...)
		if err == nil {
			nc.Close()
			t.Error("connected without the token")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.infoPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nats-info.json after Close: %v", err)
	}
	again := open(t, Config{Dir: dir, Listen: "127.0.0.1:0"})
	if again.Info().Token == info.Token {
		t.Error("the token is the old one")
	}
}

func TestListenOnATakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := &testLog{}
	s := open(t, Config{Listen: l.Addr().String(), Logf: log.Logf})
	if s.Info().Port == l.Addr().(*net.TCPAddr).Port || s.Info().Port == 0 {
		t.Errorf("listens on %d", s.Info().Port)
	}
	if !log.has("is taken") {
		t.Errorf("log: %q", log.lines)
	}
	r := reader(t, s)
	port := s.Info().Port
	s.events.fail(errors.New("a test"), true)
	awaitHealthy(t, s)
	if s.Info().Port != port {
		if log.count("taken") == 1 { // else another program took it meanwhile, as the log says
			t.Errorf("after a restart the port is %d, was %d", s.Info().Port, port)
		}
		return
	}
	for { // the outsider's client comes back by itself
		if _, err := r.js.Stream(t.Context(), HookEvents); err == nil {
			return
		} else if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestNoListener(t *testing.T) {
	s := open(t, Config{})
	if s.Info() != (NATSInfo{}) {
		t.Errorf("info %+v", s.Info())
	}
	if _, err := os.Stat(s.infoPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nats-info.json: %v", err)
	}
}
