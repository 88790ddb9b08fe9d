package notify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assent/internal/hook"
	"assent/internal/outlet/notify"
)

// publishing says of every request that it publishes, with all in the sentence that must not travel.
func publishing(*hook.Request) *hook.Effects {
	return &hook.Effects{
		Risk: hook.Danger, Sentence: "Pushes to https://dev:hunter2@git.example/app?key=hunter2 with ghp_0123456789abcdefABCDEF",
		Effects: []hook.Effect{{Effect: "reads", Risk: hook.Calm}, {Effect: "publishes", Risk: hook.Danger}, {Effect: "reads", Risk: hook.Calm}},
	}
}

func withEffects(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Effects = publishing
		r.start()
		f(t, r)
		r.end()
	})
}

func TestContentIsEachDevicesChoice(t *testing.T) {
	for _, tt := range []struct {
		name              string
		content, sentence bool
		want              notify.Message
	}{
		{"none", false, false, notify.Message{}},
		{"a sentence alone is none", false, true, notify.Message{}},
		{"kinds", true, false, notify.Message{Project: "shop", Risk: hook.Danger, Effects: []string{"publishes", "reads"}}},
		{"a sentence", true, true, notify.Message{Project: "shop", Risk: hook.Danger, Effects: []string{"publishes", "reads"}, Sentence: "Pushes to git.example with …"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withEffects(t, func(t *testing.T, r *rig) {
				r.device("phone", func(s *notify.Settings) { s.ShowContent, s.ShowSentence = tt.content, tt.sentence })
				r.ask(func(q *hook.Request) { q.CWD, q.Repo.Root = "/srv/shop/web", "/srv/shop" })
				m := r.got()[0]
				if m.Project != tt.want.Project || m.Risk != tt.want.Risk || !slices.Equal(m.Effects, tt.want.Effects) || m.Sentence != tt.want.Sentence {
					t.Errorf("%+v, want %+v", m, tt.want)
				}
				if plain := string(r.vendor.Got()[0].Plain); strings.Contains(plain, "hunter2") || strings.Contains(plain, "ghp_") {
					t.Errorf("a secret travels: %s", plain)
				}
			})
		})
	}
}

func TestWhatWaitsForLongRingsAgain(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		long := func(q *hook.Request) { q.Deadline = q.CreatedAt.Add(time.Hour) }
		r.device("phone", func(s *notify.Settings) { s.StillWaits = true })
		r.device("other")
		q, quick := r.ask(long), r.ask(long)
		r.allow(quick)
		pass(9 * time.Minute)
		before := len(r.got())
		pass(2 * time.Minute)
		news := r.got()[before:]
		if len(news) != 1 || news[0].Type != "waits" || news[0].RequestID != q.ID {
			t.Errorf("%+v", news)
		}
		pass(30 * time.Minute)
		if n := len(r.got()) - before; n != 1 {
			t.Errorf("%d messages about one request that waits", n)
		}
	})
}

func TestTurnsThatEnd(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.Finished, s.Failed, s.ShowContent = true, true, true })
		r.device("other")
		says := func(kind string) {
			e := hook.Event{Type: kind, Time: time.Now()}
			r.push.Observe(e, hook.Payload{SessionID: "s1", CWD: "/srv/shop"})
			synctest.Wait()
		}
		says(hook.EventUserPromptSubmit)
		pass(10 * time.Second)
		says(hook.EventStop) // who waits for so short looks on
		r.want("")
		says(hook.EventUserPromptSubmit)
		pass(time.Minute)
		says(hook.EventStop)
		says(hook.EventStopFailure)
		pass(time.Minute)
		r.want("finished failed")
		if m := r.got()[0]; m.Project != "shop" {
			t.Errorf("%+v", m)
		}
		r.push.Observe(hook.Event{Type: hook.EventStopFailure, Time: time.Now().Add(-time.Hour)}, hook.Payload{SessionID: "s1"})
		pass(time.Minute)
		r.want("finished failed") // what a start reads again is old
	})
}

// A session that has to be allowed more rings as a request does, and one whose process ended where failures do; once
// each, however often its host says it.
func TestWhatAHostTells(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.Failed, s.ShowSession = true, true })
		r.device("other")
		began := time.Now()
		for range 2 {
			r.push.Blocked("s1", "coder", false, began)
			pass(time.Minute)
		}
		r.push.Blocked("s1", "coder", true, time.Now())
		r.push.Failed("s2", "coder", began)
		r.push.Failed("s2", "coder", began)
		r.push.Failed("s3", "coder", began.Add(-time.Hour)) // what a host says when it comes back is old
		pass(time.Minute)
		got := map[string]int{}
		for _, m := range r.got() {
			got[m.Type+" "+m.Waits+" "+m.SessionID+" "+m.Session]++
		}
		want := map[string]int{"blocked budget s1 coder": 1, "blocked budget s1 ": 1, "blocked time s1 coder": 1, "blocked time s1 ": 1, "failed  s2 coder": 1}
		if !maps.Equal(got, want) {
			t.Errorf("%v", got)
		}
	})
}

// The end of a turn is told once, however often a hook lengthens it, and not while a message of the queue goes
// on with it. Who may send messages, and only they, are told where they can.
func TestDoneIsToldOnceATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		queued, reply := false, true
		r.cfg.TurnOver = func(_ *hook.Event, session string) (bool, bool) { return queued, reply && session == "s1" }
		r.cfg.MaySend = func(device string) bool { return device == "sender" }
		r.start()
		defer r.end()
		wants := func(s *notify.Settings) { s.Finished, s.ShowContent = true, true }
		r.device("sender", wants)
		r.device("approver", wants)
		r.device("quiet")
		says := func(event, session string) {
			r.push.Observe(hook.Event{Type: event, Time: time.Now()}, hook.Payload{SessionID: session, CWD: "/srv/shop"})
			pass(time.Minute)
		}
		told := func(n int, replies string) {
			t.Helper()
			got, found := r.got(), ""
			for _, m := range got {
				if m.Reply != "" {
					found += " " + m.Reply
				}
				if m.Type != "finished" || m.SessionID != "s1" && m.SessionID != "s2" || m.Project != "shop" || m.Sentence != "" {
					t.Errorf("%+v", m)
				}
			}
			if len(got) != n || strings.TrimSpace(found) != replies {
				t.Errorf("%d messages, with replies to %q", len(got), found)
			}
		}
		says(hook.EventUserPromptSubmit, "s1")
		queued = true
		says(hook.EventStop, "s1")
		told(0, "")
		queued = false
		says(hook.EventStop, "s1")
		told(2, "s1")
		says(hook.EventStop, "s1")
		told(2, "s1")
		says(hook.EventUserPromptSubmit, "s1")
		says(hook.EventStop, "s1")
		told(4, "s1 s1")
		reply = false
		says(hook.EventUserPromptSubmit, "s1")
		says(hook.EventStop, "s1")
		told(6, "s1 s1")
		says(hook.EventStop, "s2")
		told(8, "s1 s1")
	})
}

func TestAStopIsToldToAll(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.Quiet = []notify.Hours{{From: "00:00", To: "23:59"}} })
		by := hook.Approver{Kind: "device", Name: "laptop"}
		r.push.Halted(hook.Halt{Acts: []hook.HaltAct{{Act: hook.HaltPause, At: time.Now(), By: by}, {Act: hook.HaltStop, At: time.Now(), By: by}}})
		pass(time.Second)
		r.want("halted")
		if m := r.got()[0]; m.Halt != "stop" || m.By != "laptop" {
			t.Errorf("%+v", m)
		}
	})
}

// TestNewsIsBounded lets far more happen than a device is sent, while its push service is slow.
func TestNewsIsBounded(t *testing.T) {
	withEffects(t, func(t *testing.T, r *rig) {
		r.device("phone", func(s *notify.Settings) { s.Failed = true })
		for range 1000 {
			r.push.Observe(hook.Event{Type: hook.EventStopFailure, Time: time.Now()}, hook.Payload{SessionID: "s1"})
		}
		pass(time.Hour)
		n := len(r.got())
		if n == 0 || n > 16 {
			t.Errorf("%d messages", n)
		}
		if dropped := r.dropped(); n+dropped != 1000 {
			t.Errorf("%d messages, and %d dropped", n, dropped)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		// Once that too much happens, and once that the device is not told, again after each message to it.
		if len(r.said) == 0 || len(r.said) > n+2 {
			t.Errorf("the log says %q", r.said)
		}
	})
}

// dropped is how much news was dropped.
func (r *rig) dropped() int {
	r.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r.push.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "assent_push_news_dropped_total" {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	r.t.Fatal("news that is dropped is not counted")
	return 0
}

// bot is a webhook that says what it got, and may refuse types of messages.
type bot struct {
	mu      sync.Mutex
	got     []string        // guarded by mu
	ids     map[string]bool // guarded by mu; the webhook-ids of news
	refuses func(kind string) bool
}

func (b *bot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var doc struct{ Type string }
	_ = json.NewDecoder(r.Body).Decode(&doc)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses(doc.Type) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.got = append(b.got, doc.Type)
	b.ids[doc.Type+" "+r.Header.Get("webhook-id")] = true
}

func (b *bot) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.got, " ")
}

// withBot runs f with a bot in the file of notices.
func withBot(t *testing.T, refuses func(kind string) bool, f func(t *testing.T, r *rig, b *bot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := &bot{refuses: refuses, ids: map[string]bool{}}
		set := notify.DefaultSettings()
		set.AfterSeconds, set.Finished = 0, true
		r.cfg.Notices = []notify.Notice{{Name: "bot", Webhook: true, URL: "https://bot.example/x", Secret: make([]byte, 24), Settings: set}}
		r.vendor.Answer(b.ServeHTTP)
		r.start()
		f(t, r, b)
		r.end()
	})
}

var everything = hook.Approver{Kind: "device", Name: "laptop"}

func (r *rig) stopsAll() {
	r.push.Halted(hook.Halt{Acts: []hook.HaltAct{{Act: hook.HaltStop, At: time.Now(), By: everything}}})
	synctest.Wait()
}

func (r *rig) turnEnds(session string) {
	r.push.Observe(hook.Event{Type: hook.EventStop, Time: time.Now()}, hook.Payload{SessionID: session})
	synctest.Wait()
}

// A service that refuses a kind of news is told of requests at once all the same, and of other news.
func TestRefusedNewsHoldsUpNothing(t *testing.T) {
	withBot(t, func(kind string) bool { return strings.HasPrefix(kind, "halt.") }, func(t *testing.T, r *rig, b *bot) {
		r.stopsAll()
		pass(5 * time.Minute) // the tries are minutes apart by now
		r.ask()
		if got := b.said(); got != "request.asked" {
			t.Errorf("at once: %q", got)
		}
		r.turnEnds("s2")
		pass(15 * time.Minute)
		if got := b.said(); got != "request.asked turn.finished" {
			t.Errorf("in the end: %q", got)
		}
		if n := r.dropped(); n != 1 {
			t.Errorf("%d dropped", n)
		}
	})
}

// What waited while a service was away comes in order of weight: requests, then the news that still counts.
func TestRequestsGoBeforeNews(t *testing.T) {
	away := true
	withBot(t, func(string) bool { return away }, func(t *testing.T, r *rig, b *bot) {
		for i := range 9 { // one more than is kept
			r.turnEnds(fmt.Sprint("s", i+2))
			pass(time.Millisecond)
		}
		r.stopsAll()
		r.ask()
		pass(time.Minute)
		b.mu.Lock()
		away = false
		b.mu.Unlock()
		pass(10 * time.Minute)
		got := b.said()
		if !strings.HasPrefix(got, "request.asked ") || strings.Count(got, "turn.finished") != 7 || !strings.Contains(got, "halt.stop") {
			t.Errorf("%q", got)
		}
		if n := r.dropped(); n != 2 {
			t.Errorf("%d dropped", n)
		}
	})
}

// A stop that is recorded later than it was done is told of once.
func TestOneStopIsOneMessage(t *testing.T) {
	withBot(t, func(string) bool { return false }, func(t *testing.T, r *rig, b *bot) {
		act := hook.HaltAct{Act: hook.HaltStop, At: time.Now(), By: everything}
		r.push.Halted(hook.Halt{Acts: []hook.HaltAct{act}})
		pass(time.Minute)
		r.push.Halted(hook.Halt{Revision: 2, Acts: []hook.HaltAct{act}})
		pass(time.Minute)
		act.At = time.Now()
		r.push.Halted(hook.Halt{Revision: 3, Acts: []hook.HaltAct{act}})
		pass(time.Minute)
		if got := b.said(); got != "halt.stop halt.stop" {
			t.Errorf("%q", got)
		}
	})
}
