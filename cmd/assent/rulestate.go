package main

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// checkRules is the doctor's look at the rules.
func (a *app) checkRules(ctx context.Context) check {
	c := check{Name: "rules", Status: "ok"}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := a.broker()
	var f hook.InForce
	if err == nil {
		f, err = b.ruleState(ctx)
	}
	if err != nil {
		c.Status, c.Detail, c.Fix = "warn", "not known: "+err.Error(), "set ASSENT_TOKEN to a token of role view"
		return c
	}
	if words := ruleTrouble(&f); words != "" {
		c.Status, c.Detail, c.Fix = "warn", strings.TrimPrefix(words, "rules: "), "fix the file; it is read again by itself. assent rules check FILE says all that is wrong"
		if !f.Allowing {
			c.Status = "fail"
		}
		return c
	}
	if len(f.Files) == 0 {
		c.Detail = "no file of rules; every request waits for a person"
		return c
	}
	var paths []string
	for _, file := range f.Files {
		paths = append(paths, file.Path)
	}
	c.Detail = counted(len(f.Rules), "rule") + " of " + strings.Join(paths, ", ")
	return c
}
