package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/host/transcript"
)

func (r *rig) now(has string, stop bool) {
	r.mu.Lock()
	r.has, r.stop = has, stop
	r.mu.Unlock()
	r.Wake()
	synctest.Wait()
}

// A session of a host's agent is spoken to through its host, which looks at who signed it and at its ceilings: its inbox
// and its hooks are no way around that, for the owner of the broker neither.
func TestAHostsSessionHasNoOtherWay(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.prompt("its own turn") // so that it could be reached by the end of that
		r.now("coder", false)
		owner := message("a", "x")
		owner.By, owner.Signature, owner.PublicKey = hook.Approver{Kind: hook.KindOwner, Name: "owner"}, "", nil
		for _, open := range []bool{false, true} {
			r.inbox(open)
			for _, m := range []hook.Message{owner, message("b", "x")} {
				var writer *WriterError
				if _, err := r.Store.Send(t.Context(), m); !errors.As(err, &writer) || !strings.Contains(err.Error(), "the agent coder") {
					t.Errorf("by %s, inbox %v: %v", m.By.Kind, open, err)
				}
			}
		}
		if got := r.handed(); len(got) > 0 {
			t.Errorf("the inbox was handed %q", got)
		}
	})
}

// Nor is what was sent to the session while a terminal had it handed over once an agent has it.
func TestWhatWaitedIsNotForTheHostsAgent(t *testing.T) {
	for name, bar := range map[string]func(*rig){
		nowHosted:  func(r *rig) { r.now("coder", false) },
		nowStopped: func(r *rig) { r.now("", true) },
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.prompt("a turn")
			r.send("a", "wait for the end of the turn")
			r.wants("a", sent)
			bar(r)
			if out := r.event("Stop", ""); out != "" {
				t.Errorf("%s: the hook printed %s", name, out)
			}
			r.inbox(true)
			r.now("", false)
			if m := r.wants("a", sent, refused); m.Steps[1].Why != name {
				t.Errorf("%s: %+v", name, m.Steps)
			}
			if got := r.handed(); len(got) > 0 {
				t.Errorf("%s: the inbox was handed %q", name, got)
			}
		})
	}
}

// A message that is on its way to a host's agent says whose session it is, also before the host has.
func TestASessionIsHostedFromItsFirstMessageOn(t *testing.T) {
	withRegistry(t, func(t *testing.T, r *rig, g *Registry, l *Link) {
		r.inbox(true)
		if _, err := g.Send(t.Context(), forCoder("a", "s", hook.MessagePrompt, "x")); err != nil {
			t.Fatal(err)
		}
		var writer *WriterError
		if _, err := r.Store.Send(t.Context(), message("b", "y")); !errors.As(err, &writer) {
			t.Errorf("%v", err)
		}
		for _, state := range []hook.MessageState{taken, started, ended} {
			r.report("a", state)
		}
		if _, err := r.Store.Send(t.Context(), message("c", "y")); err != nil {
			t.Errorf("a terminal has it: %v", err)
		}
	})
}

// Which sessions a host's agents have a process for is known while it is away, and not once its token is revoked.
func TestWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		known := true
		g, err := OpenRegistry(context.Background(), RegistryConfig{KV: r.kv, Messages: r.Store, Known: func(string) bool { return known }, Logf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		l := g.Connect(workstation, func() {})
		var sessions []api.AgentSession
		for _, state := range []string{api.AgentIdle, api.AgentBusy, api.SessionEnded, api.SessionBlocked} {
			sessions = append(sessions, api.AgentSession{SessionID: state, Status: state, StartedAt: time.Now()})
		}
		if problems, err := l.Offer(t.Context(), "here", "1", []api.Agent{{Name: "coder", Status: api.AgentBusy, Sessions: sessions}}); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		works := func() (all string) {
			for _, s := range sessions {
				if g.Works(s.SessionID) == "coder" {
					all += s.SessionID + " "
				}
			}
			return all
		}
		if got, want := works(), api.AgentIdle+" "+api.AgentBusy+" "; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		l.Close()
		time.Sleep(2 * Lease)
		if got, want := works(), api.AgentIdle+" "+api.AgentBusy+" "; got != want {
			t.Errorf("away: %q, want %q", got, want)
		}
		known = false
		if got := works(); got != "" {
			t.Errorf("revoked: %q", got)
		}
	})
}

// What the session did not take is not handed over again by whom or when it would not have been handed over at first.
func TestWhatMayNotBeHandedOverIsNotHandedOverAgain(t *testing.T) {
	for why, bar := range map[string]func(*rig){
		nowHosted:  func(r *rig) { r.has = "coder" },
		nowStopped: func(r *rig) { r.stop = true },
		noSender:   func(r *rig) { r.left = true },
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.inbox(true)
			r.stands(transcript.Absent)
			r.send("a", "x")
			if got := r.handed(); len(got) != 1 {
				t.Fatalf("%s: handed over: %q", why, got)
			}
			r.mu.Lock()
			bar(r)
			r.mu.Unlock()
			time.Sleep(lookTime + time.Second)
			if m := r.wants("a", sent, taken, lostNow); !strings.HasSuffix(m.Steps[2].Why, ": "+why) {
				t.Errorf("%s: %+v", why, m.Steps)
			}
			if got := r.handed(); len(got) != 1 {
				t.Errorf("%s: handed over: %q", why, got)
			}
		})
	}
}

// The last event of a session says whose it is, wherever that was taken: nothing else has to have come here. What a
// program says that an agent started, with a session of its own, is not of the agent's.
func TestAnEventSaysWhoseItsSessionIs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.inbox(true)
		at := time.Now()
		seen := func(kind, hosted, by string, at time.Time) {
			t.Helper()
			p := hook.Payload{SessionID: "s", Type: kind}
			r.Seen(&hook.Event{Type: kind, Agent: "claude", Submitter: by, Time: at, Origin: hook.Origin{Hosted: hosted}}, &p, func() hook.Detail { return hook.Detail{} })
		}
		is := func(why, want string) {
			t.Helper()
			if got := r.hostedBy("s"); got != want {
				t.Errorf("%s: %q, want %q", why, got, want)
			}
		}
		seen("SessionStart", "other coder", self, at)
		is("a session of its own", "")
		seen("SessionStart", "s coder", self, at.Add(time.Second))
		is("the agent's", "the agent coder")
		var writer *WriterError
		if _, err := r.Store.Send(t.Context(), message("a", "x")); !errors.As(err, &writer) {
			t.Errorf("%v", err)
		}
		seen("Stop", "", self, at)
		seen("Stop", "", "user:2@here", at.Add(2*time.Second))
		is("what was late, and another's", "the agent coder")
		seen("SessionStart", "", self, at.Add(3*time.Second))
		is("in a terminal", "")
		seen("SessionStart", "s", self, at.Add(4*time.Second))
		is("of an agent without a name", "an agent of a host")
		r.mu.Lock()
		r.dead = true
		r.mu.Unlock()
		is("its process is gone", "")
	})
}

// A host that says it has another's session, as whoever stole its token can, keeps nobody from that: not from stopping it, nor
// from knowing that it works. Nor does what a revoked one said last count.
func TestAHostSpeaksOfItsOwnSessionsOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		revoked := ""
		g, err := OpenRegistry(context.Background(), RegistryConfig{KV: r.kv, Messages: r.Store, Known: func(id string) bool { return id != revoked }, Logf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		offer := func(host, agent, status string) {
			t.Helper()
			l := g.Connect(host, func() {})
			sessions := []api.AgentSession{{SessionID: "s", Status: status, StartedAt: time.Now(), Turn: &api.AgentTurn{Outcome: hook.OutcomeCompleted, At: time.Now()}}}
			if problems, err := l.Offer(t.Context(), host, "1", []api.Agent{{Name: agent, Status: api.AgentBusy, Sessions: sessions}}); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
		}
		offer(workstation, "coder", api.AgentBusy)
		if _, err := g.Send(t.Context(), forCoder("a", "s", hook.MessagePrompt, "x")); err != nil {
			t.Fatal(err)
		}
		r.report("a", taken)
		offer("stolen", "evil", api.SessionEnded)
		for range 20 { // in whatever order the hosts are looked at
			if rests, _ := g.Rests("s", time.Now()); rests {
				t.Fatal("the session is said to rest")
			}
			if got := g.Works("s"); got != "coder" {
				t.Fatalf("the session is of %q", got)
			}
		}
		if g.SpeaksFor("stolen", "s") || !g.SpeaksFor(workstation, "s") || !g.SpeaksFor("stolen", "another") {
			t.Error("the wrong one speaks for it")
		}
		stop := forCoder("b", "s", hook.MessageCancel, "")
		if _, err := g.Send(t.Context(), stop); err != nil {
			t.Errorf("it cannot be stopped: %v", err)
		}
		revoked = workstation
		if !g.SpeaksFor("stolen", "s") {
			t.Error("a host whose token was made anew has lost its sessions")
		}
		revoked = "stolen"
		offer("stolen", "evil", api.SessionEnded)
		if _, ok := g.Rests("never", time.Now()); ok != "" || g.SpeaksFor("stolen", "never") {
			t.Error("a revoked one is heard")
		}
	})
}
