package hook

// Can is what an agent takes in the answer to a request beside a plain yes and no (schema Can). What
// it does not take is refused and never dropped: some agents run the original of an input that was
// edited, others lose a whole denial.
type Can struct {
	Words     bool `json:"words"`     // of a denial reach the model
	Interrupt bool `json:"interrupt"` // a denial may stop the agent's turn
	Edit      bool `json:"edit"`      // another input may run in the place of the one that was asked for
	Always    bool `json:"always"`    // the agent's own "don't ask again"
	Question  bool `json:"question"`  // its questions can be answered
}

// Refuses says which field of d such an agent cannot take: nil or a *FieldError.
func (c Can) Refuses(d Decision) error {
	switch {
	case len(d.UpdatedInput) > 0 && !c.Edit:
		return BadField("updatedInput", "this agent takes no edited input")
	case len(d.UpdatedPermissions) > 0 && !c.Always:
		return BadField("updatedPermissions", "this agent takes none from its hook")
	case d.Interrupt && !c.Interrupt:
		return BadField("interrupt", "this agent cannot be stopped by its hook")
	case d.Message != "" && !c.Words:
		return BadField("message", "this agent is told no words")
	}
	return nil
}
