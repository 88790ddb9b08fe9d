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
	// agentPause is how long what was seen of a process counts.
	agentPause = 2 * time.Second
	// mostAgents is how many sessions of a list are looked after, the newest ones.
	mostAgents = 100
)

// agentProcesses looks whether the processes of agents on this machine still run. An agent that is killed
// tells nobody, and its session would be at work for ever. What is seen here is told to whoever
// reads a session, and nothing is recorded: nobody saw how the session ended.
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

// add says whether the session's agent still runs, where that can be told. One event alone may have
// come by way of a process between the agent and its hook.
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
