package fleet

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/api"
)

// agentName is narrow because a name is a word of subjects and addresses.
var agentName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// checkAgent says what is wrong with an agent that a host offers, "" if nothing, and leaves out of it what no
// host may say, and what is too long.
//
// What an agent can have its host say, as a cost or a pull request, is left out by itself: an agent that makes up a figure
// is not to be lost sight of, nor to be out of reach of a cancel, because of it.
func checkAgent(a *api.Agent) string {
	switch {
	case !agentName.MatchString(a.Name):
		return "want a name of up to 63 of a-z, 0-9, - and _"
	case a.Executor != nil && !slices.Contains([]string{"claude", "codex", "gemini", "custom"}, a.Executor.Kind):
		return "its executor is of no known kind"
	}
	for _, x := range a.Sessions {
		if x.SessionID == "" || len(x.SessionID) > maxSessionID {
			return "one of its sessions is none"
		}
	}
	a.Sessions = slices.Clone(a.Sessions)
	if len(a.Sessions) > maxHostSessions { // what works is what somebody may want to stop
		slices.SortStableFunc(a.Sessions, func(x, y api.AgentSession) int {
			return cmp.Compare(idle(x), idle(y))
		})
		a.Sessions = a.Sessions[:maxHostSessions]
	}
	for i := range a.Sessions {
		x := &a.Sessions[i]
		x.CostUSD = KnownCost(x.CostUSD)
		if x.PR != nil && !IsPullRequest(x.PR.URL) {
			x.PR = nil
		}
		if x.Turn != nil {
			turn := *x.Turn
			turn.CostUSD = KnownCost(turn.CostUSD)
			x.Turn = &turn
		}
	}
	if a.Status != api.AgentBusy {
		a.Status, a.ActiveSessionID = api.AgentIdle, ""
	}
	if a.HostID != "" && !api.IsHostID(a.HostID) {
		return "its hostId is none"
	}
	a.Description = clipBytes(a.Description, maxWords)
	a.Tags = slices.Clone(a.Tags[:min(len(a.Tags), maxTags)])
	for i := range a.Tags {
		a.Tags[i] = clipBytes(a.Tags[i], maxWords)
	}
	if a.Executor != nil {
		x := *a.Executor
		x.Version, x.CLI = clipBytes(x.Version, maxWords), clipBytes(x.CLI, maxPlace)
		a.Executor = &x
	}
	if a.Project != nil {
		x := *a.Project
		x.Name, x.Path, x.Repo = clipBytes(x.Name, maxWords), clipBytes(x.Path, maxPlace), clipBytes(x.Repo, maxPlace)
		a.Project = &x
	}
	return ""
}

// idle is 1 where a session does not work, else 0.
func idle(s api.AgentSession) int {
	if s.Status == api.AgentBusy {
		return 0
	}
	return 1
}

// KnownCost is a cost that a host says, in USD; 0, which is not known, where it can be none.
func KnownCost(cost float64) float64 {
	if !(cost >= 0 && cost <= api.MaxCost) {
		return 0
	}
	return cost
}

// IsPullRequest says whether what a host calls the address of a pull request may be shown as one.
func IsPullRequest(url string) bool {
	return strings.HasPrefix(url, "https://") && len(url) <= maxPullRequest && utf8.ValidString(url)
}

func clipBytes(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
