package notify_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		if n := len(r.got()); n == 0 || n > 16 {
			t.Errorf("%d messages", n)
		}
	})
}
