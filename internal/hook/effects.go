package hook

// Risk says how bad what a request would do could be. It informs people: no rule allows for it.
type Risk string

// The risks, least first.
const (
	Calm      Risk = "calm"      // reads, inside the project
	Normal    Risk = "normal"    // writes, inside the project
	Attention Risk = "attention" // network, publishing, installing, outside the project, unknown
	Danger    Risk = "danger"    // cannot be undone, secrets, more rights, assent or the agent's guard, code from the network
)

// Level orders risks: 0 for Calm, 3 for Danger. Any other text is as high as Danger.
func (r Risk) Level() int {
	switch r {
	case Calm:
		return 0
	case Normal:
		return 1
	case Attention:
		return 2
	}
	return 3
}

// Effects say what a request would do, in assent's words and never in the agent's. They are worked
// out from the request whenever it is shown, and are not part of the record.
type Effects struct {
	Risk Risk `json:"risk"`
	// Sentence is the headline: "Deletes 2 folders outside the project; pushes to origin/main".
	Sentence string `json:"sentence"`
	// RiskReason is the one reason for the risk, a sentence; empty where the risk is Calm or Normal.
	RiskReason string `json:"riskReason,omitempty"`
	// Action is what a button names where the risk is Attention: "Allow" Action, as in "Allow
	// publish"; empty otherwise.
	Action  string   `json:"action,omitempty"`
	Effects []Effect `json:"effects"`
	// MoreEffects is how many of those found were left out, none of them worse than those that are here.
	MoreEffects int `json:"moreEffects,omitempty"`
	// Marks are the parts of a shell command that are the reason for Attention or Danger.
	Marks []RiskMark `json:"marks,omitempty"`
}

// Effect is one thing that a request would do (schema Effect).
type Effect struct {
	// Effect is what kind of thing it is, one of the words of the schema: reads, deletes, publishes.
	Effect string `json:"effect"`
	// Object is what it is done to, safe to look at and cut where it is long: a path relative to the
	// repository, a host, a branch, a table. Empty where there is none.
	Object  string `json:"object"`
	Outside bool   `json:"outside"` // the object lies outside the project
	Risk    Risk   `json:"risk"`
	// Text says the effect in words: "Deletes build/".
	Text string `json:"text"`
}

// RiskMark is a part of a shell command, in UTF-16 code units of the command as it is shown.
type RiskMark struct {
	Start int  `json:"start"`
	End   int  `json:"end"`
	Risk  Risk `json:"risk"` // Attention or Danger
}
