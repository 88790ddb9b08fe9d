package hook

import "time"

// Settled is a request that is over, as history keeps it (schema Settled).
type Settled struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionId"`
	// Title is the session's.
	Title string `json:"sessionTitle,omitempty"`
	// Agent is the session's, AgentTitle what people call it.
	Agent      string `json:"agent,omitempty"`
	AgentTitle string `json:"agentTitle,omitempty"`
	ToolName   string `json:"toolName"`
	// Summary is one line of the tool's input, safe to show and shortened. Nobody may decide by it.
	// It is that of what was allowed, where Edited says that this is not what was asked for: then
	// Asked is that of the latter.
	Summary string `json:"summary,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
	// Contained says that it was allowed to run contained, and nobody edited it.
	Contained bool   `json:"contained,omitempty"`
	Asked     string `json:"asked,omitempty"`
	// Changes is, of an edited one, how what was allowed differs from what was asked for: the name of
	// each member that was changed, then lines that begin with "- ", "+ " or two spaces. Safe to show,
	// and cut where it is long.
	Changes string `json:"changes,omitempty"`
	// Answers is one line of what was answered to questions or in a form, safe to show.
	Answers string `json:"answers,omitempty"`
	// Repo is the root of the repository, or the directory where it would have run.
	Repo      string    `json:"repo,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	SettledAt time.Time `json:"settledAt"`
	Outcome   Outcome   `json:"outcome"`
	// Reason is that of an end without a decision, Message what the agent was told.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Unattended says that the agent ran without a terminal, where nobody could have answered.
	Unattended bool `json:"unattended,omitempty"`
	// By is who decided; nil when nobody did.
	By *Decider `json:"by,omitempty"`
	// Delivery is the last that was heard of the answer: delivered, refused, confirmed, overruled.
	Delivery Step `json:"delivery,omitempty"`
	// Failed says that the tool ran and failed, Failure what it said then: one line, safe to show. Where the hook
	// refused the answer, Failure is why.
	Failed  bool   `json:"failed,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// Decider is who or what decided: the Kind of an Approver and its Who.
type Decider struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Verified is that of the Approver.
	Verified bool `json:"verified,omitempty"`
}

// SettledQuery says which requests are meant. A zero field means all of them.
type SettledQuery struct {
	Session, Kind, By, Repo, Tool string
	Outcome                       Outcome
	Since, Until                  time.Time // by SettledAt; Until is not in it
	// Words must all be in the tool's name, its input, the repository or who decided.
	Words string
	// After is the ID of the last one of the page before; Limit how many there are on a page.
	After string
	Limit int
}

// Stats is who and what decided, over time (schema Stats).
type Stats struct {
	Since   time.Time      `json:"since"`
	Step    string         `json:"step"` // hour, day
	Zone    string         `json:"zone"` // in which days and hours begin
	Buckets []StatsBucket  `json:"buckets"`
	By      []StatsDecider `json:"by"` // who decided most first
}

// StatsBucket is one hour or day. Every bucket since Stats.Since is there, also the empty ones.
type StatsBucket struct {
	Start         time.Time `json:"start"`
	AllowedPerson int       `json:"allowedByPerson"`
	DeniedPerson  int       `json:"deniedByPerson"`
	AllowedRule   int       `json:"allowedByRule"`
	DeniedRule    int       `json:"deniedByRule"`
	Expired       int       `json:"expired"`
	Withdrawn     int       `json:"withdrawn"`
	HandedBack    int       `json:"handedBack"`
	// MedianMS and P90MS are how long people took, from the request on; 0 when nobody decided.
	MedianMS int64 `json:"medianMs"`
	P90MS    int64 `json:"p90Ms"`
}

// StatsDecider is what one of them decided.
type StatsDecider struct {
	Decider
	Allowed  int   `json:"allowed"`
	Denied   int   `json:"denied"`
	MedianMS int64 `json:"medianMs"`
}
