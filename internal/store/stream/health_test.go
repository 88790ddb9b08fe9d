package stream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/broker"
)

// silentJS sends nothing while it is silent: the server seems to hang.
type silentJS struct {
	jetstream.JetStream
	silent atomic.Bool
}

func (s *silentJS) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if s.silent.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.JetStream.PublishMsg(ctx, msg, opts...)
}

// When no acknowledgement comes, the writes on their way time out together, those in line fail
// with them, and later ones fail at once; none hangs on.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	log := &testLog{}
	log.show(t)
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, Logf: log.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	js := &silentJS{JetStream: s.record.js}
	first := asked(t)
	after := mustAppend(t, s, first, 0)
	s.record.js = js
	js.silent.Store(true)
	var wg sync.WaitGroup
	for range 5 * s.record.kind.inFlight {
		wg.Go(func() {
			_, err := s.Append(context.Background(), asked(t), 0)
			if !errors.Is(err, broker.ErrUnavailable) {
				t.Errorf("append: %v", err)
			}
		})
	}
	wg.Wait()
	if !log.has("no acknowledgement") {
		t.Error("the log does not say why")
	}
	if err := s.Healthy(); err == nil {
		t.Error("healthy although nothing is acknowledged")
	}
	js.silent.Store(false)
	awaitHealthy(t, s)
	mustAppend(t, s, decided(first.RequestID), after)
}

// While the machine is held up nobody can say anything, and that is no silence of the engine.
func TestSilenceOfAnEngine(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(ms) * time.Millisecond) }
	type look struct{ now, heard, want int } // milliseconds
	for name, looks := range map[string][]look{
		"silent":            {{75, 0, 75}, {150, 0, 150}, {230, 0, 230}},
		"it says something": {{75, 0, 75}, {150, 140, 10}, {225, 140, 85}},
		"as we look":        {{75, 0, 75}, {150, 75, 75}},
		"held up":           {{75, 0, 75}, {9000, 0, 225}, {9075, 0, 300}},
		"heard, held up":    {{75, 0, 75}, {9000, 100, 150}},
	} {
		s := silence{lastLook: at(0)}
		for i, l := range looks {
			if got := s.look(at(l.now), at(l.heard)); got != time.Duration(l.want)*time.Millisecond {
				t.Errorf("%s, look %d: %v, want %d ms", name, i, got, l.want)
			}
		}
	}
	for dir, patience := range map[string]time.Duration{"embedded": writeTimeout, "": clusterTimeout} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(engineKind{inFlight: 1}, t.Logf)
			e.dir = dir
			defer e.cancel()
			acknowledged := e.untilSilent(0, func(error) { t.Error("gave up in time") })
			begun := time.Now()
			var gaveUp time.Duration
			ended := e.untilSilent(0, func(error) { gaveUp = time.Since(begun) })
			time.Sleep(patience / 4)
			acknowledged(true)
			time.Sleep(time.Minute)
			synctest.Wait()
			if late := gaveUp - patience/4 - patience; late < 0 || late > silenceStep {
				t.Errorf("%q gave up after %v, want %v after the last acknowledgement", dir, gaveUp, patience)
			}
			ended(false)
		})
	}
}

// A silence that ended well may come again, and last longer; who shows nothing slow any more is trusted less in time.
func TestPatienceFollowsTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(engineKind{inFlight: 1}, t.Logf)
		e.dir = "embedded"
		defer e.cancel()
		wants := func(what string, want time.Duration) {
			t.Helper()
			if got := e.patience(); got != want {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		write := func(d time.Duration) {
			ended := e.untilSilent(0, func(error) {})
			time.Sleep(d)
			ended(true)
		}
		wants("nothing is known", writeTimeout)
		write(10 * time.Millisecond)
		wants("a quick disk", writeTimeout)
		e.slow.shown(2*time.Second, time.Now()) // as a probe does
		wants("an fsync of two seconds", 6*time.Second)
		var gaveUp time.Duration
		begun := time.Now()
		ended := e.untilSilent(0, func(error) { gaveUp = time.Since(begun) })
		time.Sleep(time.Minute)
		ended(false)
		if late := gaveUp - 6*time.Second; late < 0 || late > silenceStep {
			t.Errorf("gave up after %v", gaveUp)
		}
		write(5 * time.Second)
		wants("one of five seconds", 15*time.Second)
		e.slow.shown(time.Hour, time.Now())
		wants("one of an hour", longestPatience)
		time.Sleep(slowMemory)
		write(10 * time.Millisecond)
		wants("minutes later", longestPatience)
		time.Sleep(slowMemory)
		write(10 * time.Millisecond)
		wants("quick again", writeTimeout)
	})
}

// What is large takes a slow disk its time, and all else that waits behind it: a write that is given up each time would
// never be recorded.
func TestPatienceFollowsTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(engineKind{inFlight: 3}, t.Logf)
		e.dir = "embedded"
		defer e.cancel()
		begun := time.Now()
		var gaveUp []time.Duration
		note := func(error) { gaveUp = append(gaveUp, time.Since(begun)) }
		large, alike, small := e.untilSilent(7*slowestDisk, note), e.untilSilent(7*slowestDisk, note), e.untilSilent(100, note)
		time.Sleep(7 * time.Second)
		alike(true)
		time.Sleep(time.Second)
		if len(gaveUp) > 0 {
			t.Errorf("gave up after %v", gaveUp)
		}
		large(true)
		time.Sleep(writeTimeout + silenceStep)
		small(false)
		synctest.Wait()
		if len(gaveUp) != 1 || gaveUp[0] < 8*time.Second+writeTimeout {
			t.Errorf("once what is large is there it gave up after %v", gaveUp)
		}
		if got := e.patience(); len(e.underWay) > 0 || got != writeTimeout {
			t.Errorf("under way is still %v; small ones are waited for %v", e.underWay, got)
		}
	})
}

// What an engine without a disk that complains cannot do now it may soon; but not for ever, nor with one that is broken.
func TestPassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(engineKind{inFlight: 1}, t.Logf)
		e.dir = "embedded"
		defer e.cancel()
		wants := func(what string, want bool) {
			t.Helper()
			if err := e.unavailable(errSilent); errors.Is(err, broker.ErrPassing) != want || !errors.Is(err, broker.ErrUnavailable) {
				t.Errorf("%s: %v, passing is to be %v", what, err, want)
			}
		}
		wants("nothing is silent", false)
		e.fail(errSilent, false)
		wants("just now", true)
		time.Sleep(silencePasses / 2)
		e.fail(errSilent, false) // again
		time.Sleep(silencePasses / 2)
		wants("for long", false)
		e.untilSilent(0, func(error) {})(true)
		e.fail(errSilent, false)
		wants("anew", true)
		e.fail(errors.New("no space left on device"), true)
		wants("the disk is full", false)
	})
}

func TestMeansBroken(t *testing.T) {
	for text, want := range map[string]bool{
		"Filestore [EVENTS] Critical write error: write x: no space left on device":                true,
		"JetStream stream 'CORE > EVENTS' critical write error: x":                                 true,
		"JetStream failed to store a msg on stream '$G > APPROVALS': x":                            true,
		"JetStream out of File resources, will be DISABLED":                                        true,
		"Filesystem permission denied while writing msg, disabling JetStream: x":                   true,
		"127.0.0.1:4 - cid:9 - Client parser ERROR, proto='JetStream critical write error'":        false,
		"127.0.0.1:4 - cid:9 - \"v1:go:JetStream no space left on device\" - Authentication Error": false,
		"JetStream request limit reached":                                                          false,
		"":                                                                                         false,
	} {
		if got := meansBroken(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// In a quiet time no write has failed yet, and only a probe finds out that none would work.
func TestProbeTries(t *testing.T) {
	for _, which := range []string{"events", "record"} {
		t.Run(which, func(t *testing.T) {
			s, err := Open(t.Context(), Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Probe(t.Context()); err != nil {
				t.Fatalf("a new stream: %v", err)
			}
			e := s.events
			if which == "record" {
				e = s.record
			}
			js := &silentJS{JetStream: e.js}
			e.js = js
			js.silent.Store(true)
			if err := s.Healthy(); err != nil {
				t.Fatalf("nothing was written, and yet: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := s.Probe(ctx); err == nil {
				t.Error("a stream that does not answer passes for one that takes writes")
			}
			js.silent.Store(false)
			if err := s.Probe(t.Context()); err != nil {
				t.Errorf("it answers again: %v", err)
			}
			// A probe leaves no trace.
			for _, name := range []string{EventsStream, RecordStream} {
				if n, size, err := s.Size(t.Context(), name); n != 0 || size != 0 || err != nil {
					t.Errorf("%s holds %d messages, %d bytes, %v", name, n, size, err)
				}
			}
		})
	}
}
