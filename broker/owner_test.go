package broker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/broker/logtest"
	"assent/internal/hook"
)

// by lets a request come from a submitter, with a secret's hash.
func by(submitter, secretHash string) func(*hook.Request) {
	return func(q *hook.Request) { q.Submitter, q.ReattachSHA256 = submitter, secretHash }
}

// tell feeds an event of q's session that came from a submitter.
func (r *rig) tell(submitter, kind string, q hook.Request) {
	ev, p := r.event(kind, q)
	ev.Submitter = submitter
	r.b.Observe(ev, p)
	synctest.Wait()
}

var others = map[string]string{"another token": "token:b", "a user of the same name": "user:1000@h2", "another user": "user:1001@h1", "nobody known": ""}

// Whoever may submit can name any session: what others tell of it settles nothing, proves nothing
// and forgets nothing.
func TestOthersSettleNothing(t *testing.T) {
	for name, other := range others {
		for _, mine := range []string{"token:a", "user:1000@h1"} {
			t.Run(name+" for "+mine, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					allowed, denied, waits := r.request("ls", by(mine, "")), r.request("rm", by(mine, "")), r.request("id", by(mine, ""))
					for _, q := range []hook.Request{allowed, denied, waits} {
						r.ask(q)
					}
					r.decide(allowed, allow(allowed))
					r.decide(denied, deny(denied, "no"))
					for _, kind := range []string{"PostToolUse", "PostToolUseFailure", "Stop", "StopFailure", "SubagentStop", "PostToolBatch", "UserPromptSubmit", "SessionEnd"} {
						for _, q := range []hook.Request{allowed, denied, waits} {
							r.tell(other, kind, q)
						}
					}
					followUpsDone()
					r.wantPending(waits)
					r.wantSteps(allowed, "asked decided:allowed")
					r.wantSteps(denied, "asked decided:denied")
					r.restartOrKill(len(name)%2 == 0)
					again := r.ask(waits)
					r.tell(other, "SessionEnd", waits)
					r.wantPending(waits)
					// Its own still do, and what others said before took nothing away.
					r.tell(mine, "PostToolUse", allowed)
					r.tell(mine, "PostToolUse", denied)
					r.tell(mine, "PostToolUse", waits)
					followUpsDone()
					if a := again.got(); a.Outcome != hook.Withdrawn {
						t.Errorf("its own event: %+v", a)
					}
					r.wantSteps(allowed, "asked decided:allowed confirmed")
					r.wantSteps(denied, "asked decided:denied overruled")
				})
			})
		}
	}
}

func (r *rig) restartOrKill(kill bool) {
	if kill {
		r.kill()
		return
	}
	r.restart()
}

// A record of an earlier version names no submitter. Everybody's events settle it, as they did then,
// until its hook comes back and says whose it is.
func TestSubmitterOfAnEarlierRecord(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		old, known := r.request("a"), r.request("b")
		r.ask(old)
		r.ask(known)
		r.restart()
		wOld, again := r.ask(old), known
		again.Submitter = "token:a"
		wKnown := r.ask(again)
		r.tell("token:b", "Stop", old)
		if wOld.got().Outcome != hook.Withdrawn || !wKnown.waits() {
			t.Error("wrong answers")
		}
		r.tell("token:a", "Stop", known)
		if wKnown.got().Outcome != hook.Withdrawn {
			t.Error("its own event did not settle it")
		}
	})
}

// who comes under the id of a request, and whether they are its hook.
var comers = map[string]struct {
	asked, comes func(*hook.Request)
	own          bool
}{
	"the hook":                          {by("token:a", "h1"), by("token:a", "h1"), true},
	"the hook, with another credential": {by("token:a", "h1"), by("token:b", "h1"), true},
	"another secret":                    {by("token:a", "h1"), by("token:a", "h2"), false},
	"no secret":                         {by("token:a", "h1"), by("token:a", ""), false},
	"no secret, another credential":     {by("token:a", "h1"), by("token:b", ""), false},
	"a hook without secrets":            {by("token:a", ""), by("token:a", ""), true},
	"another's, without secrets":        {by("token:a", ""), by("token:b", ""), false},
	"another's secret where none was":   {by("token:a", ""), by("token:b", "h1"), false},
	"a record of an earlier version":    {by("", ""), by("token:a", "h1"), true},
}

// Only the hook that asked gets the answer: while it waits, once it is decided, when memory has
// forgotten it, and after a restart.
func TestStrangerDoesNotReattach(t *testing.T) {
	stages := map[string]func(r *rig, q hook.Request){
		"waiting":         func(*rig, hook.Request) {},
		"waiting, killed": func(r *rig, _ hook.Request) { r.kill() },
		"decided":         func(r *rig, q hook.Request) { r.decide(q, allow(q)) },
		"decided, killed": func(r *rig, q hook.Request) { r.decide(q, allow(q)); r.kill() },
		"forgotten": func(r *rig, q hook.Request) {
			r.decide(q, allow(q))
			r.tell(q.Submitter, "Stop", q)
		},
	}
	for stage, reach := range stages {
		for name, c := range comers {
			t.Run(stage+"/"+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					q := r.request("x", c.asked)
					r.ask(q)
					reach(r, q)
					comes := q
					c.comes(&comes)
					before := r.steps(q)
					w := r.ask(comes)
					if c.own {
						if w.waits() {
							r.decide(q, allow(q))
						}
						if a := w.got(); a.Outcome != hook.Allowed {
							t.Errorf("its own hook got %+v", a)
						}
						return
					}
					if err := w.failed(); !errors.Is(err, broker.ErrStranger) {
						t.Errorf("a stranger got %v", err)
					}
					r.wantSteps(q, before)
				})
			})
		}
	}
}

// The record tells another replica whose a request is, before its memory does, and that a stranger
// leaves it says nothing about its own hook.
func TestReattachProvesItselfToAReplica(t *testing.T) {
	for name, c := range comers {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				cfg := r.cfg
				cfg.SingleReplica = false
				r.b.Close()
				r.b = r.open(cfg)
				q := r.request("x", c.asked, remote)
				own := r.ask(q)
				replica := r.open(cfg)
				defer replica.Close()
				comes := q
				c.comes(&comes)
				w := askOn(t, replica, comes)
				if !c.own {
					if err := w.failed(); !errors.Is(err, broker.ErrStranger) {
						t.Errorf("a stranger got %v", err)
					}
					r.wantPending(q)
				}
				r.decide(q, allow(q))
				if own.got().Outcome != hook.Allowed || c.own && w.got().Outcome != hook.Allowed {
					t.Error("wrong answers")
				}
				r.tell(q.Submitter, "Stop", q)
				replica2 := r.open(cfg)
				defer replica2.Close()
				late := askOn(t, replica2, comes)
				if c.own {
					if late.got().Outcome != hook.Allowed {
						t.Error("the decision is not given out")
					}
				} else if err := late.failed(); !errors.Is(err, broker.ErrStranger) {
					t.Errorf("a stranger got %v from the record", err)
				}
			})
		})
	}
}

// A decision is given out until the hook has given up, however long the record keeps it.
func TestReattachEndsWithTheDeadline(t *testing.T) {
	for _, secret := range []string{"h1", ""} {
		inBubble(t, func(t *testing.T, r *rig) {
			q := r.request("x", by("token:a", secret), within(time.Minute))
			r.ask(q)
			r.decide(q, allow(q))
			time.Sleep(time.Until(q.Deadline))
			if a := r.ask(q).got(); a.Outcome != hook.Allowed {
				t.Errorf("at the deadline: %+v", a)
			}
			time.Sleep(3 * time.Second)
			for range 2 {
				if err := r.ask(q).failed(); !errors.Is(err, broker.ErrStranger) {
					t.Errorf("after it: %v", err)
				}
				r.kill()
			}
		})
	}
}

// A hook of the version before has no secret. Its answer is given out again until it was delivered.
func TestReattachWithoutASecretIsForUndelivered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		q := r.request("x", by("user:1000@h1", ""))
		r.ask(q)
		r.decide(q, allow(q))
		r.b.Delivered(q.ID)
		followUpsDone()
		for range 2 {
			if err := r.ask(q).failed(); !errors.Is(err, broker.ErrStranger) {
				t.Errorf("a delivered answer is given out again: %v", err)
			}
			r.kill()
		}
	})
}

// Who takes the id of a duplicate does not get its answer.
func TestDuplicateComesBackWithItsSecret(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first := r.request(`"ls"`, call("t1"), by("token:a", "h1"))
		second := r.request(`"ls"`, mcp, call("t1"), by("token:a", "h2"))
		r.ask(first)
		r.ask(second)
		r.wantPending(first)
		r.decide(first, allow(first))
		stranger := second
		stranger.ReattachSHA256 = "h3"
		if w := r.ask(stranger); !w.waits() {
			t.Errorf("a stranger got %+v, %v", w.answer, w.err)
		}
		r.wantPending(stranger) // a request of its own
		other := second
		other.ID, other.Submitter = "00000099-0000-4000-8000-000000000000", "token:b"
		if r.b.HasDuplicate(&other) {
			t.Error("the request of another submitter is a duplicate")
		}
	})
}

// A stranger comes to a broker that has not heard of the request yet, and is refused when it has:
// the request goes on waiting for its own hook, at the other replica.
func TestStrangerWhoComesFirstEndsNothing(t *testing.T) {
	for name, c := range comers {
		if c.own {
			continue
		}
		for _, ch := range []hook.Channel{hook.ChannelSocket, hook.ChannelRemote, hook.ChannelPlain} {
			t.Run(name+"/"+string(ch), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					cfg := r.cfg
					cfg.SingleReplica = false
					r.b.Close()
					r.b = r.open(cfg)
					replica := r.open(cfg)
					defer replica.Close()
					q := r.request("x", c.asked)
					q.Channel = ch
					comes := q
					c.comes(&comes)
					r.log.Inject(func(rec hook.Record) logtest.Fault {
						if rec.Request != nil && rec.Request.ReattachSHA256 == comes.ReattachSHA256 && rec.Request.Submitter == comes.Submitter {
							return logtest.Fault{Delay: 100 * time.Millisecond} // the owner's comes first
						}
						return logtest.Fault{}
					})
					w := askOn(t, r.b, comes)
					synctest.Wait()
					own := askOn(t, replica, q)
					time.Sleep(time.Second)
					if err := w.failed(); !errors.Is(err, broker.ErrStranger) {
						t.Errorf("a stranger got %v", err)
					}
					time.Sleep(time.Minute)
					if !own.waits() {
						t.Fatalf("the stranger ended the request: %+v", own.answer)
					}
					r.wantPending(q)
					r.decide(q, allow(q))
					if own.got().Outcome != hook.Allowed {
						t.Error("wrong answer")
					}
				})
			})
		}
	}
}
