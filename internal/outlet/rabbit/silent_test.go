package rabbit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/outlet/rabbit"
)

// TestConfirmsThatAreLost: what was confirmed to nobody comes twice, also in the middle of what
// came later; who drops what it has seen gets all in order.
func TestConfirmsThatAreLost(t *testing.T) {
	t.Parallel()
	url := shareURL(t)
	bind(t, url, "lost")
	p := newProxy(t, url)
	s := newEvents()
	publish(t, p.url, s)
	got := reader(t, url, "lost")
	p.swallow(basicAck)
	for i := range 9 {
		s.write("s", i, "")
		inOrder(t, got.take(1), "s", i)
	}
	p.swallow(0)
	p.cut()
	for i := range 9 {
		s.write("s", i+9, "")
	}
	inOrder(t, got.take(9), "s", 9)
	if got.repeats != 9 {
		t.Errorf("%d came twice, want 9", got.repeats)
	}
}

// hasty is long enough for an answer that comes, also where the machine is held up for some
// seconds, and ends the wait for one that does not. It is longer than a connection without
// heartbeats would last.
const hasty = 10 * time.Second

// TestSilentServer: a server that is there, with heartbeats, and never answers is given up, and
// the log and a metric say so.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	url := shareURL(t)
	var rows sync.WaitGroup // all at once: they do nothing but wait
	defer rows.Wait()
	for name, answer := range map[string]uint32{
		"channel.open": channelOpenOK, "exchange.declare": exchangeDeclareOK, "confirm.select": confirmSelectOK, "a confirm": basicAck,
	} {
		rows.Go(func() {
			t.Run(name, func(t *testing.T) {
				queue := strings.ReplaceAll(name, " ", "-")
				bind(t, url, queue)
				p := newProxy(t, url)
				p.swallow(answer)
				s := newEvents()
				cfg := rabbit.Config{URL: p.url}
				cfg.Hasten(hasty)
				pub := publishWith(t, cfg, s)
				for i := range 20 {
					s.write(queue, i, "")
				}
				eventually(t, "it is given up twice", func() bool { return pub.metric("assent_amqp_unanswered_total") >= 2 })
				if !strings.Contains(pub.said(), "RabbitMQ sends no answer") || strings.HasSuffix(pub.said(), " is back") || strings.Count(pub.said(), "is away") != 1 {
					t.Errorf("it says %s", pub.said())
				}
				if pub.metric("assent_amqp_connected") != 0 {
					t.Error("it counts as connected")
				}
				p.swallow(0)
				got := reader(t, url, queue)
				mine := 0
				for mine < 20 { // the others' come too
					if m := got.take(1); strings.HasPrefix(toolUse(t, m[0]), queue+"-") {
						inOrder(t, m, queue, mine)
						mine++
					}
				}
				eventually(t, "it is back", func() bool {
					return strings.HasSuffix(pub.said(), " is back") && pub.metric("assent_amqp_connected") == 1
				})
			})
		})
	}
}

func TestSilentServerOfAConsumer(t *testing.T) {
	t.Parallel()
	url := shareURL(t)
	var rows sync.WaitGroup // all at once: they do nothing but wait
	defer rows.Wait()
	for name, answer := range map[string]uint32{
		"channel.open": channelOpenOK, "exchange.declare": exchangeDeclareOK, "queue.declare": queueDeclareOK, "basic.consume": basicConsumeOK, "a confirm": basicAck, "basic.get": basicGetOK,
	} {
		rows.Go(func() {
			t.Run(name, func(t *testing.T) {
				queue := strings.ReplaceAll(name, " ", "-")
				p := newProxy(t, url)
				s := &sink{broken: answer == basicAck || answer == basicGetOK}
				cfg := rabbit.ConsumerConfig{URL: p.url, Queue: queue, Store: s.store, Logf: s.logf}
				cfg.Hasten(hasty)
				if answer != basicGetOK {
					p.swallow(answer)
				}
				run := func() (stop func()) {
					c, err := rabbit.NewConsumer(cfg)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error, 1)
					go func() { done <- c.Run(ctx) }()
					stop = sync.OnceFunc(func() { cancel(); <-done })
					t.Cleanup(stop)
					return stop
				}
				stop := run()
				if s.broken {
					eventually(t, "the queue is there", func() bool { return waiting(t, url, queue) == 0 })
					send(t, url, "", queue, "bad one")
				}
				if answer == basicGetOK { // it is asked for at the next start
					eventually(t, "it is set aside", func() bool { return waiting(t, url, queue+".failed") == 1 })
					stop()
					p.swallow(answer)
					run()
				}
				eventually(t, "it is given up twice", func() bool { return p.silences() >= 2 && s.said("RabbitMQ sends no answer") })
				p.swallow(0)
				s.fix(false)
				eventually(t, "the queue is there", func() bool { return waiting(t, url, queue) >= 0 })
				send(t, url, "", queue, "good")
				eventually(t, "it is stored", func() bool { return s.has("good")[0] > 0 })
				if answer == basicGetOK {
					eventually(t, "and the other", func() bool { return s.has("bad one")[0] > 0 })
				}
			})
		})
	}
}

// TestLargeMessages: however many wait in RabbitMQ, few of them are in memory.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	url := shareURL(t)
	p := newProxy(t, url)
	const size, most = 4 << 20, 48 << 20 // of the socket's buffers, too
	var stored, ahead int64
	end := make(chan struct{})
	cfg := rabbit.ConsumerConfig{URL: p.url, Queue: "own", Store: func(_ context.Context, bodies [][]byte) []error {
		// All that would come meanwhile has come when nothing new does for a while.
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for before, quiet := int64(0), 0; quiet < 10; <-tick.C {
			now := p.passed()
			if now-stored > most {
				break
			}
			if quiet++; now != before {
				before, quiet = now, 0
			}
		}
		ahead = max(ahead, p.passed()-stored)
		for _, b := range bodies {
			stored += int64(len(b))
			if len(b) == 0 {
				close(end)
			}
		}
		return make([]error, len(bodies))
	}}
	cfg.Logf = t.Logf
	body := strings.Repeat("x", size)
	ch := channel(t, url)
	if _, err := ch.QueueDeclare("own", true, false, false, false, map[string]any{"x-expires": int64(7 * 24 * 3600 * 1000)}); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		send(t, url, "", "own", body)
	}
	send(t, url, "", "own", "") // the last
	c, err := rabbit.NewConsumer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	select {
	case <-end:
	case <-time.After(patience):
		t.Errorf("not within %v: the last one", patience)
	}
	cancel()
	<-done
	if stored != 40*size {
		t.Errorf("%d bytes were stored", stored)
	}
	if ahead > most {
		t.Errorf("%d MiB were read ahead", ahead>>20)
	}
	t.Logf("at most %d MiB were on their way", ahead>>20)
}
