package server

import (
	"os/exec"
	"testing"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/host/process"
)

// A session whose agent was killed is over for whoever reads it; nothing else is said of it.
func TestAgentGone(t *testing.T) {
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	o := hook.Origin{PID: c.Process.Pid, Process: process.ID(c.Process.Pid)}
	if o.Process == "" {
		t.Skip("processes cannot be told apart here")
	}
	read := func(state feed.AgentState, waits int, same bool) api.Session {
		a := &agentProcesses{} // what another one saw a moment ago would count
		j := api.Session{
			Origin: o, QueueCount: waits, State: state, CurrentRun: &feed.Run{},
			Actors: []feed.Actor{{ActorID: "subagent:a", Running: true}},
		}
		a.add(&j, &feed.Info{Origin: o, SameProcess: same})
		return j
	}
	if j := read(feed.StateWorking, 0, true); j.AgentProcess != api.AgentRuns || j.State != feed.StateWorking || !j.Actors[0].Running {
		t.Errorf("while it runs: %+v", j)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if j := read(feed.StateWorking, 0, true); j.AgentProcess != api.AgentGone || j.State != feed.StateExited || j.CurrentRun != nil || j.Actors[0].Running || !j.EndedAt.IsZero() {
		t.Errorf("killed: %+v", j)
	}
	if j := read(feed.StateBlocked, 1, true); j.State != feed.StateBlocked {
		t.Errorf("killed while a request still waits: %+v", j)
	}
	if j := read(feed.StateWorking, 0, false); j.AgentProcess != "" || j.State != feed.StateWorking {
		t.Errorf("named by one event only: %+v", j)
	}
	if j := read(feed.StateExited, 0, true); j.AgentProcess != "" {
		t.Errorf("over: %+v", j)
	}
	elsewhere := &agentProcesses{}
	if got := elsewhere.look(hook.Origin{PID: o.PID, Process: o.Process + "0"}); got != "" {
		t.Errorf("on another machine: %q", got)
	}
}
