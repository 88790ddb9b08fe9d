package hook

import "time"

// Action is what the rules want to become of a request.
type Action string

// The actions.
const (
	ActionAllow Action = "allow"
	ActionAsk   Action = "ask" // a person decides
	ActionDeny  Action = "deny"
)

// ContainRead is the one way in which a command runs contained: it can read, and nothing else.
const ContainRead = "read"

// MinContain is the lowest Landlock ABI that keeps a contained command from writing.
const MinContain = 3

// Verdict is what the rules in force say about a request. The zero value is what they say where
// there are none: a person is asked.
//
// The JSON is what the record keeps of it (schema Verdict).
type Verdict struct {
	Action Action `json:"action"`
	// Rule is the id of the rule that says so, and File where it stands. Both are empty when no
	// rule matched.
	Rule string `json:"rule,omitempty"`
	File string `json:"file,omitempty"`
	// Saved are what approvers saved that an allow rests on, by id: it counts only as long as
	// none of them is over.
	Saved []string `json:"saved,omitempty"`
	// Reason is one sentence for a person: why no rule allowed it.
	Reason string `json:"reason,omitempty"`
	// Contain, of an allow, says that it holds only for a command that runs contained: ContainRead. What
	// cannot do that has to ask.
	Contain string `json:"contain,omitempty"`
	// Note is the rule's, for the approver.
	Note string `json:"note,omitempty"`
	// Shadow is what rules that are only tried out would have said.
	Shadow []Shadow `json:"shadow,omitempty"`

	// From is the file whose rules say so: File, or the one that uses that pack. Empty: several do, or none.
	From string `json:"-"`
	// Programs are what a contained command runs, by name.
	Programs []string `json:"-"`
	// ContainReads and ContainEnv are absolute paths that it may read besides the project, and variables that it keeps.
	ContainReads []string `json:"-"`
	ContainEnv   []string `json:"-"`
	// UpdatedInput is the tool's input by which it runs contained. The decision keeps it.
	UpdatedInput JSON `json:"-"`
	// Message is the rule's, for the agent, with a denial. The decision keeps it.
	Message string `json:"-"`
	// Signed is the signature of the rules that it comes from, nil where there is none. The decision keeps it.
	Signed *RulesSignature `json:"-"`
	// Timeout is how long the request may wait by the rule, 0 for no bound of its own, and
	// OnTimeout what it is answered then. The request's deadline keeps them.
	Timeout   time.Duration `json:"-"`
	OnTimeout Fallback      `json:"-"`
}

// Shadow is a rule that was not asked, only watched.
type Shadow struct {
	Action Action `json:"action"`
	Rule   string `json:"rule"`
	File   string `json:"file,omitempty"`
}

// Decides reports whether nobody needs to be asked.
func (v *Verdict) Decides() bool {
	return v != nil && (v.Action == ActionAllow || v.Action == ActionDeny)
}

// By is the rule as an approver. A denial that no rule asked for is that of the defaults.
func (v *Verdict) By() Approver {
	id := v.Rule
	if id == "" {
		id = "defaults"
	}
	return Approver{Kind: KindRule, ID: id, Name: id, File: v.File}
}
