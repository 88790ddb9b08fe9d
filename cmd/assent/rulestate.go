package main

import (
	"context"
	"fmt"

	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

// ruleState asks the broker which rules are in force.
func (c *client) ruleState(ctx context.Context) (f hook.InForce, err error) {
	err = c.call(ctx, "GET", "/v1/rules", nil, &f)
	return f, err
}

// ruleTrouble says in one line what is wrong with the rules, and nothing when nothing is.
func ruleTrouble(f *hook.InForce) string {
	if len(f.Problems) == 0 {
		return ""
	}
	p := f.Problems[0]
	line := "rules: " + show.Line(policy.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Message}.String())
	if n := len(f.Problems) - 1; n > 0 {
		line += fmt.Sprintf(" (and %d more)", n)
	}
	if f.Allowing {
		return line + ". What the file said before is in force."
	}
	return line + ". No rule allows anything until that is fixed."
}

// ruleNote is what the rules tell the approver of a request that waits, on one line.
func ruleNote(v *hook.Verdict) string {
	switch {
	case v == nil || v.Action != hook.ActionAsk:
		return ""
	case v.Note != "":
		by := v.By()
		return show.Line(v.Note) + " (" + show.Line(by.Who()) + ")"
	case v.Rule != "":
		by := v.By()
		return show.Line(by.Who()) + " wants you to decide"
	case v.Reason != "":
		return "not answered by a rule: " + show.Line(v.Reason)
	}
	return ""
}

// warnOfRules tells the user on standard error when a file of rules is broken. It is silent
// where the broker does not say.
func (a *app) warnOfRules(ctx context.Context) {
	b, err := a.broker()
	if err != nil {
		return
	}
	if f, err := b.ruleState(ctx); err == nil {
		if words := ruleTrouble(&f); words != "" {
			fmt.Fprintln(a.err, "assent: "+words)
		}
	}
}
