package broker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/broker"
	"assent/internal/hook"
)

func mcp(q *hook.Request)   { q.Source = hook.SourceMCP }
func alone(q *hook.Request) { q.NoDedup = true }

func call(id string) func(*hook.Request) {
	return func(q *hook.Request) { q.ToolUseID = id }
}

// Hook and permission prompt tool ask about one call: one request, one answer, whoever was first.
func TestDuplicates(t *testing.T) {
	for name, ways := range map[string][2]func(*hook.Request){
		"hook first":             {call("t1"), func(q *hook.Request) { mcp(q); call("t1")(q) }},
		"tool first":             {func(q *hook.Request) { mcp(q); call("t1")(q) }, call("t1")},
		"the id is missing":      {func(*hook.Request) {}, func(q *hook.Request) { mcp(q); call("t1")(q) }},
		"a subagent":             {func(q *hook.Request) { subagent(q); call("t1")(q) }, func(q *hook.Request) { mcp(q); call("t1")(q) }},
		"remote":                 {func(q *hook.Request) { remote(q); call("t1")(q) }, func(q *hook.Request) { remote(q); mcp(q) }},
		"of a host's agent":      {func(q *hook.Request) { q.Hosted = "s coder"; call("t1")(q) }, func(q *hook.Request) { mcp(q); call("t1")(q) }},
		"of one, the tool first": {func(q *hook.Request) { mcp(q); call("t1")(q) }, func(q *hook.Request) { q.Hosted = "s coder"; call("t1")(q) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				first, second := r.request(`"ls"`, ways[0]), r.request(`"ls"`, ways[1])
				one, two := r.ask(first), r.ask(second)
				r.wantPending(first)
				r.decide(first, deny(first, "no"))
				for _, w := range []*waiting{one, two} {
					if a := w.got(); a.Outcome != hook.Denied || a.Decision.Message != "no" {
						t.Errorf("answer %+v", a)
					}
				}
				r.wantSteps(second, "")
				r.wantSteps(first, "asked decided:denied")
			})
		})
	}
}

// What is not certainly the same call is asked by itself.
func TestNoDuplicates(t *testing.T) {
	type way = func(*hook.Request)
	both := func(ways ...way) way {
		return func(q *hook.Request) {
			for _, w := range ways {
				w(q)
			}
		}
	}
	for name, ways := range map[string][2]way{
		"two hooks":       {call("t1"), call("t1")},
		"two tools":       {mcp, mcp},
		"other call":      {call("t1"), both(mcp, call("t2"))},
		"other session":   {call("t1"), both(mcp, call("t1"), func(q *hook.Request) { q.SessionID = "s2" })},
		"other input":     {call("t1"), both(mcp, call("t1"), func(q *hook.Request) { q.InputSHA256 = "sha of another" })},
		"other tool":      {call("t1"), both(mcp, call("t1"), func(q *hook.Request) { q.ToolName = "Edit" })},
		"other subagent":  {both(subagent, call("t1")), both(mcp, func(q *hook.Request) { q.AgentID = "sub2" })},
		"equal calls":     {alone, both(mcp, call("t1"))},
		"equal calls too": {call("t1"), both(mcp, call("t1"), alone)},
		"a form":          {func(q *hook.Request) { q.Event = hook.EventElicitation }, mcp},
		"uninspectable":   {call("t1"), both(mcp, call("t1"), func(q *hook.Request) { q.Uninspectable = "repeated member" })},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				first, second := r.request(`"ls"`, ways[0]), r.request(`"ls"`, ways[1])
				one, two := r.ask(first), r.ask(second)
				r.wantPending(first, second)
				r.decide(first, allow(first))
				if one.got().Outcome != hook.Allowed {
					t.Error("the first has no answer")
				}
				if !two.waits() {
					t.Error("the second took the answer to another request")
				}
			})
		})
	}
}

// Three ask: which two belong together nobody can say, when none of them knows its call.
func TestDuplicatesOfThree(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b, c := r.request(`"ls"`), r.request(`"ls"`), r.request(`"ls"`, mcp)
		for _, q := range []hook.Request{a, b, c} {
			r.ask(q)
		}
		r.wantPending(a, b, c)
	})
}

// A duplicate is one of two: a third that knows the same call is asked by itself.
func TestDuplicatesArePairs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b, c := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1")), r.request(`"ls"`, mcp, call("t1"))
		for _, q := range []hook.Request{a, b, c} {
			r.ask(q)
		}
		r.wantPending(a, c)
	})
}

// The slower way finds the answer that the quicker one got, but only for its own call, and not once
// the call is over.
func TestDuplicateComesLate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first := r.request(`"ls"`, call("t1"))
		r.ask(first)
		r.decide(first, allow(first))
		unnamed := r.request(`"ls"`, mcp)
		if r.b.HasDuplicate(&unnamed) {
			t.Error("an answer is given to a request that does not name its call")
		}
		late := r.request(`"ls"`, mcp, call("t1"))
		if !r.b.HasDuplicate(&late) {
			t.Error("the late one is not known to be a duplicate")
		}
		if a := r.ask(late).got(); a.Outcome != hook.Allowed {
			t.Errorf("answer %+v", a)
		}
		r.wantSteps(late, "")
		r.observe("PostToolUse", first)
		later := r.request(`"ls"`, mcp, call("t1"))
		if r.ask(later); r.b.HasDuplicate(&later) {
			t.Error("a call that is over has an answer to give")
		}
		r.wantPending(later)
	})
}

// The request waits as long as one of the two does, and ends when the first of them has to.
func TestDuplicateLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"))
		one, two := r.ask(first), r.ask(second)
		one.hangUp()
		r.wantPending(first)
		two.hangUp()
		r.wantPending()
		r.wantSteps(first, "asked ended:withdrawn/hangup")
	})
}

func TestDuplicateIsImpatient(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"), within(time.Minute), denying)
		one, two := r.ask(first), r.ask(second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if a := one.got(); a.Outcome != hook.Expired {
			t.Errorf("answer %+v", a)
		}
		if a := two.got(); a.Outcome != hook.Expired {
			t.Errorf("answer %+v", a)
		}
		r.wantSteps(first, "asked ended:expired/deadline")
	})
}

// After a restart both come back, in any order, and are still one request.
func TestDuplicatesComeBack(t *testing.T) {
	for name, order := range map[string][2]int{"in order": {0, 1}, "the other way round": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				q := []hook.Request{r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"))}
				old := []*waiting{r.ask(q[0]), r.ask(q[1])}
				r.kill()
				for _, w := range old {
					if err := w.failed(); !strings.Contains(err.Error(), "stopping") {
						t.Errorf("%v", err)
					}
				}
				again := []*waiting{r.ask(q[order[0]]), r.ask(q[order[1]])}
				r.wantPending(q[0])
				r.decide(q[0], allow(q[0]))
				for _, w := range again {
					if a := w.got(); a.Outcome != hook.Allowed {
						t.Errorf("answer %+v", a)
					}
				}
				r.wantSteps(q[1], "")
			})
		})
	}
}

// While the log does not take the first, the second is not left waiting for nothing.
func TestDuplicateOfTheUnrecorded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.log.Down(true)
		one, two := r.ask(r.request(`"ls"`, call("t1"))), r.ask(r.request(`"ls"`, mcp, call("t1")))
		time.Sleep(15 * time.Second)
		one.failed()
		two.failed()
		r.log.Down(false)
	})
}

// What approvers and rules look at must be the same for both: an answer for one directory, machine
// or project, or to what another credential asked, is no answer for another.
func TestDuplicatesShareTheirContext(t *testing.T) {
	for name, other := range map[string]func(*hook.Request){
		"other directory":  func(q *hook.Request) { q.CWD = "/srv/production" },
		"other machine":    func(q *hook.Request) { q.Host = "elsewhere" },
		"other project":    func(q *hook.Request) { q.ProjectDir = "/srv/production" },
		"other branch":     func(q *hook.Request) { q.Repo.Branch = "release" },
		"other label":      func(q *hook.Request) { q.AgentLabel = "toy" },
		"other mode":       func(q *hook.Request) { q.PermissionMode = "plan" },
		"other credential": func(q *hook.Request) { q.Submitter = "token:2" },
		"unnamed, another subagent": func(q *hook.Request) {
			q.AgentID, q.ToolUseID = "sub", ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				first := r.request(`"make deploy"`, mcp, call("t1"))
				second := r.request(`"make deploy"`, call("t1"), other)
				one, two := r.ask(first), r.ask(second)
				r.wantPending(first, second)
				r.decide(first, allow(first))
				if one.got().Outcome != hook.Allowed || !two.waits() {
					t.Error("one answer went to both")
				}
			})
		})
	}
}

// What the rules decided about a request is its answer, not what a person says to its duplicate.
func TestRuledIsNoDuplicate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first := r.request(`"ls"`, mcp, call("t1"))
		second := r.request(`"ls"`, call("t1"), func(q *hook.Request) { q.Verdict = &hook.Verdict{Action: hook.ActionDeny, Rule: "no"} })
		r.ask(first)
		two := r.ask(second)
		r.decide(first, allow(first))
		if !two.waits() {
			t.Errorf("what a rule denies was answered %+v", two.got())
		}
	})
}

// Which of several equal calls a request is about nobody knows better after a restart.
func TestAloneAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first := r.request(`"ls"`, alone)
		r.ask(first)
		r.kill()
		first.NoDedup = false // nothing is known of its call any more
		r.ask(first)
		tool := r.request(`"ls"`, mcp, call("t1"))
		two := r.ask(tool)
		r.wantPending(first, tool)
		r.decide(first, allow(first))
		if !two.waits() {
			t.Error("one answer for two calls")
		}
	})
}

// Approvers see how long there really is.
func TestDuplicatesShowTheirDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"), within(time.Minute))
		r.ask(first)
		r.ask(second)
		if got := r.get(first).Deadline; !got.Equal(second.Deadline) {
			t.Errorf("shown until %v, answered at %v", got, second.Deadline)
		}
	})
}

// Attach takes nobody in who has no duplicate, so that no request gets past the rules.
func TestAttachIsForDuplicates(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"))
		if w, err := r.b.Attach(second); w != nil || err != nil {
			t.Errorf("%v %v", w, err)
		}
		r.wantPending()
		r.ask(first)
		w, err := r.b.Attach(second)
		if err != nil || w == nil || w.ID() != first.ID {
			t.Fatalf("%v %v", w, err)
		}
		r.decide(first, allow(first))
		if a, err := w.Wait(t.Context()); err != nil || a.Outcome != hook.Allowed {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// A broker that is killed after the decision gives the one that comes back that answer, once.
func TestDecidedDuplicatesComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"))
		r.ask(first)
		r.ask(second)
		r.decide(first, allow(first))
		r.kill()
		for _, q := range []hook.Request{second, first} {
			if a := r.ask(q).got(); a.Outcome != hook.Allowed {
				t.Errorf("answer %+v", a)
			}
		}
		r.wantSteps(second, "")
		r.wantPending()
	})
}

// A broker that stops sends a duplicate away rather than have it judged as a request of its own.
func TestAttachWhileStopping(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.request(`"ls"`, call("t1")), r.request(`"ls"`, mcp, call("t1"))
		r.ask(first)
		r.b.Close()
		if w, err := r.b.Attach(second); w != nil || !errors.Is(err, broker.ErrStopping) {
			t.Errorf("%v %v", w, err)
		}
	})
}

// A form has no duplicate: it is no call.
func TestFormIsNoDuplicate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		form := func(q *hook.Request) { q.Event = hook.EventElicitation }
		first, second := r.request(`{}`, form), r.request(`{}`, form, mcp)
		third := r.request(`{}`, mcp)
		for _, q := range []hook.Request{first, second, third} {
			r.ask(q)
		}
		r.wantPending(first, second, third)
	})
}
