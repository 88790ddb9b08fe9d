package hook

import "time"

// InForce is which rules are in force and what is wrong with their files (schema Rules).
type InForce struct {
	// Allowing is false while no rule allows anything, because a file was unusable when the
	// broker started. Rules that deny and ask are in force all the same.
	Allowing bool `json:"allowing"`
	// Problems are why a file, as it is now, is not in force. Notices are about files that are,
	// and say what has less effect than its author may think.
	Problems []RuleProblem `json:"problems"`
	Notices  []RuleProblem `json:"notices"`
	Files    []RuleFile    `json:"files"`
	Rules    []RuleInForce `json:"rules"`
}

// RuleFile is a file of rules.
type RuleFile struct {
	Path  string `json:"path"`
	Layer string `json:"layer"` // managed, user, assent, repository
	State string `json:"state"` // in_force, last_good, broken
	// LoadedAt is when what is in force of it was read; zero when nothing is.
	LoadedAt time.Time `json:"loadedAt,omitzero"`
	// Signed is who signed what is in force of it; nil: nobody.
	Signed *RulesSignature `json:"signed,omitempty"`
	// SignatureProblem says why a signature that is there does not count, so that nobody signed the rules; empty: it counts,
	// or there is none.
	SignatureProblem string `json:"signatureProblem,omitempty"`
}

// The states of a RuleFile.
const (
	FileInForce  = "in_force"
	FileLastGood = "last_good" // as it is now it is unusable; what it said before is in force
	FileBroken   = "broken"    // unusable, and nothing of it is in force
)

// RuleProblem is a mistake in a file of rules, with its line and column.
type RuleProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; 0 when the file as a whole is meant
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// RuleInForce is one rule.
type RuleInForce struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Layer  string `json:"layer"`
	Action Action `json:"action"`
	Shadow bool   `json:"shadow,omitempty"`
	Text   string `json:"text,omitempty"` // as it is written
	// Matches is how many requests it has decided, or would have, since the broker started.
	Matches   int       `json:"matches"`
	LastMatch time.Time `json:"lastMatch,omitzero"`
}
