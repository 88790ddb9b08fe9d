package replay

import "assent/internal/hook"

// Kind is one way in which a request can go otherwise than it went.
type Kind struct {
	Name  string // a stable word
	Words string // for a person: what happened, and what would
}

// Kinds are the ways in which a request can go otherwise, the most telling first. Read-only.
var Kinds = [...]Kind{
	{"denied-now-allowed", "denied by a person, would be ALLOWED BY RULE"},
	{"ruled-denied-now-allowed", "denied by a rule, would be ALLOWED BY RULE"},
	{"open-now-allowed", "allowed by nobody, would be ALLOWED BY RULE"},
	{"changed-now-allowed", "allowed by a person with changes, would be allowed as it came"},
	{"allowed-now-denied", "allowed, would be denied by rule"},
	{"open-now-denied", "answered by nobody, would be denied by rule"},
	{"denied-now-denied", "denied by a person, would be denied by rule"},
	{"denied-now-asked", "denied by a rule, would be asked"},
	{"ruled-now-asked", "allowed by a rule, would be asked"},
	{"allowed-now-allowed", "allowed by a person, would be allowed by rule"},
}

// kindOf says how a request would go otherwise; ok is false when it would go as it went.
func kindOf(p *Past, now hook.Action) (kind int, ok bool) {
	ruled := p.By != nil && p.By.Kind == hook.KindRule
	allowed := p.Outcome == hook.Allowed || p.Outcome == hook.Withdrawn && p.Reason == hook.ReasonToolRan
	denied := p.Outcome == hook.Denied
	name := ""
	switch now {
	case hook.ActionAllow:
		switch {
		case denied && ruled:
			name = "ruled-denied-now-allowed"
		case denied:
			name = "denied-now-allowed"
		case !allowed:
			name = "open-now-allowed"
		case p.Edited:
			name = "changed-now-allowed"
		case !ruled:
			name = "allowed-now-allowed"
		}
	case hook.ActionDeny:
		switch {
		case allowed:
			name = "allowed-now-denied"
		case !denied:
			name = "open-now-denied"
		case !ruled:
			name = "denied-now-denied"
		}
	case hook.ActionAsk:
		switch {
		case ruled && denied:
			name = "denied-now-asked"
		case ruled && allowed:
			name = "ruled-now-asked"
		}
	}
	for i, k := range Kinds {
		if k.Name == name {
			return i, true
		}
	}
	return 0, false
}
