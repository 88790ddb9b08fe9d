package executor

import (
	"math"
	"strconv"
	"strings"
	"time"

	"assent/internal/agent/claude/streamjson"
)

// usage begins the ids of the requests for what was spent; usageBase is the rest of that of a process's first one.
const (
	usage     = "usage-"
	usageBase = "base"
)

// meter is how it stands with what the process was asked. It is asked after each call of the model, so that the
// cost of one call at most is not known when it is killed.
type meter struct {
	call  string // the last one that was seen
	asked int    // calls that the answer that is waited for will cover; 0: none is
	asks  int
}

// called takes note of a line of the call with this id.
func (s *session) called(now time.Time, id string) {
	if id == "" || id == s.call {
		return
	}
	s.call = id
	s.unmetered++
	s.ask(now)
}

// ask asks the process what it has spent, unless it was asked and has not said.
func (s *session) ask(now time.Time) {
	if s.asked > 0 || s.stopping != "" {
		return
	}
	s.asks++
	if s.write(now, streamjson.Usage(usage+strconv.Itoa(s.asks))) {
		s.asked = s.unmetered
	}
}

// metered takes what the process says that it has spent, if e does. A client that cannot say so says at the end
// of the turn. What nobody asked for, or was answered before, is not taken: another program wrote that, or an earlier host
// asked, and this one asks again.
func (s *session) metered(now time.Time, e streamjson.Event) bool {
	id, ours := strings.CutPrefix(e.Request, usage)
	if !ours || !e.Metered && !e.Failed {
		return false
	}
	if e.Failed {
		return true
	}
	switch {
	case id == usageBase && s.fresh:
	case s.asked > 0 && id == strconv.Itoa(s.asks):
		s.unmetered -= min(s.unmetered, s.asked)
		s.asked = 0
	default:
		return true
	}
	_ = s.note(entry{At: now, Cost: &e.CostUSD, Base: id == usageBase})
	if s.unmetered > 0 {
		s.ask(now)
	}
	return true
}

// outdated says why the process that runs must not be given o, but the next one: it was begun with another budget than the
// session has with o, or with another program or in another mode than agents.yaml names now. A program cannot be told
// another budget, and a mode that its owner has taken back must not go on.
func (s *session) outdated(o Order) string {
	agent, left, why := s.h.ceilings(s, o)
	switch {
	case why != "":
		return ""
	case s.process.Budget > 0 && math.Abs(left+s.cost()-s.process.Budget) > least/2:
		return "its budget is another now"
	case s.process.Mode != agent.Mode:
		return "agents.yaml names another mode now"
	case s.process.CLI != agent.CLI:
		return "agents.yaml names another program now"
	}
	return ""
}
