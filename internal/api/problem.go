package api

import (
	"strings"

	"assent/internal/hook"
	"assent/internal/text/show"
)

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// Problem is an error as the API tells it (RFC 9457, schema Problem). It is an error, too: the one
// that a Client returns.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"` // follows from Status
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Field is the first of Errors, for clients that show one.
	Field  string         `json:"field,omitempty"`
	Errors []FieldProblem `json:"errors,omitempty"`
	// Of a conflict.
	Outcome   hook.Outcome   `json:"outcome,omitempty"`
	DecidedBy *hook.Approver `json:"decidedBy,omitempty"`
	Reason    string         `json:"reason,omitempty"` // ended, digest, prompt, rule, proposal, full, older, tree, used, expired
}

// FieldProblem says what is wrong with a header, a parameter or a member of the body.
type FieldProblem struct {
	Field   string `json:"field"`
	Pointer string `json:"pointer,omitempty"` // JSON pointer (RFC 6901), of a body's member
	Problem string `json:"problem"`
}

// Error is the problem in one line that is safe to show.
func (p *Problem) Error() string {
	s := p.Title
	if p.Detail != "" {
		s = p.Detail
	}
	if p.Field != "" && !strings.Contains(s, p.Field) {
		s = p.Field + ": " + s
	}
	if p.DecidedBy != nil && p.Outcome != "" && !strings.Contains(s, p.DecidedBy.Who()) {
		s += " (" + string(p.Outcome) + " by " + ApproverName(p.DecidedBy) + ")"
	}
	return show.Line(s)
}

// ApproverName names who decided, and what it is: "phone, device", and "phone, device, verified" where its
// owner was. A rule's name says that itself.
// It is foreign text, which the caller makes safe to show.
func ApproverName(by *hook.Approver) string {
	who := by.Who()
	if by.Kind != hook.KindRule && who != by.Kind {
		who += ", " + by.Kind
	}
	if by.Verified {
		who += ", verified"
	}
	return who
}
