package server

import (
	"sync"
	"time"

	"assent/internal/api"
	"assent/internal/feed"
	"assent/internal/hook"
	"assent/internal/host/process"
)

const (
	// agentPause is how long a look at a process is reused.
	agentPause = 2 * time.Second
	// mostAgents is for how many sessions of a list, the newest ones, the process is checked.
	mostAgents = 100
)

// agentProcesses looks whether the processes of agents on this machine still run. An agent that is killed
// sends no last event, and its session would seem at work for ever. The result is only shown with a
// session and never recorded: how the session ended is unknown.
type agentProcesses struct {
	mu   sync.Mutex
	seen map[agentProcess]seen // guarded by mu; at most twice mostAgents
}

type agentProcess struct {
	pid     int
	process string
}

type seen struct {
	at    time.Time
	state string
}

// look says whether the agent at this origin runs.
func (a *agentProcesses) look(o hook.Origin) string {
	if o.PID <= 0 || o.Process == "" {
		return ""
	}
	key := agentProcess{o.PID, o.Process}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if was, ok := a.seen[key]; ok && now.Sub(was.at) < agentPause {
		return was.state
	}
	state := ""
	switch process.Look(o.PID, o.Process) {
	case process.Runs:
		state = api.AgentRuns
	case process.Gone:
		state = api.AgentGone
	}
	if a.seen == nil || len(a.seen) >= 2*mostAgents {
		a.seen = map[agentProcess]seen{}
	}
	a.seen[key] = seen{now, state}
	return state
}

// add notes whether the session's agent still runs, where that is known. One event is not enough: it
// may name a process between the agent and its hook.
func (a *agentProcesses) add(j *api.Session, in *feed.Info) {
	if !in.SameProcess || in.Origin.PID != j.PID || in.Origin.Process != j.Process || j.State == feed.StateExited {
		return
	}
	j.AgentProcess = a.look(j.Origin)
	if j.AgentProcess != api.AgentGone || j.QueueCount > 0 {
		return
	}
	j.State, j.StateSince, j.CurrentRun = feed.StateExited, time.Time{}, nil
	actors := make([]feed.Actor, len(j.Actors))
	for i, x := range j.Actors {
		x.Running = false
		actors[i] = x
	}
	j.Actors = actors
}
