package fleet

import (
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
func checkAgent(a *api.Agent) string {
	switch {
	case !agentName.MatchString(a.Name):
		return "want a name of up to 63 of a-z, 0-9, - and _"
	case len(a.Sessions) > maxHostSessions:
		return "it has too many sessions"
	case a.Executor != nil && !slices.Contains([]string{"claude", "codex", "gemini", "custom"}, a.Executor.Kind):
		return "its executor is of no known kind"
	}
	for _, x := range a.Sessions {
		if x.SessionID == "" || len(x.SessionID) > maxSessionID || !(x.CostUSD >= 0 && x.CostUSD <= MaxCost) {
			return "one of its sessions is none"
		}
	}
	// What is no pull request's address is left out: for the sake of a link nobody loses sight of a session.
	a.Sessions = slices.Clone(a.Sessions)
	for i := range a.Sessions {
		if pr := a.Sessions[i].PR; pr != nil && !IsPullRequest(pr.URL) {
			a.Sessions[i].PR = nil
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

// IsPullRequest says whether what a host calls the address of a pull request may be shown as one.
func IsPullRequest(url string) bool {
	return strings.HasPrefix(url, "https://") && len(url) <= maxPullRequest && utf8.ValidString(url)
}

func clipBytes(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
