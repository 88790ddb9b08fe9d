package hook

// OutcomeOf is what a decision makes of a request; empty for a behavior that is none.
func OutcomeOf(b Behavior) Outcome {
	switch b {
	case BehaviorAllow:
		return Allowed
	case BehaviorDeny:
		return Denied
	}
	return ""
}

// Sound reports whether a record that settles a request says the same in all its parts. A broker writes no other, and takes
// none for a decision.
func (r *Record) Sound() bool {
	if r.Step == StepEnded {
		return r.Outcome != Allowed && r.Outcome != Denied && r.Outcome != "" && r.Decision == nil && (r.HandBack == nil || r.Outcome == HandedBack)
	}
	return r.Decision != nil && r.HandBack == nil && r.Outcome != "" && r.Outcome == OutcomeOf(r.Decision.Behavior)
}
