// Package explained is what programs are told of how the rules read a call.
package explained

import (
	"encoding/json"

	"assent/internal/hook"
	"assent/internal/policy"
)

// Document is what assent rules explain says as JSON. Places are bytes of the command.
type Document struct {
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Cwd       string          `json:"cwd"`
	Verdict   hook.Action     `json:"verdict"`
	Contain   string          `json:"contain,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	File      string          `json:"file,omitempty"`
	Layer     policy.Layer    `json:"layer,omitempty"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message,omitempty"`
	Note      string          `json:"note,omitempty"`
	TimeoutMs int64           `json:"timeoutMs,omitempty"`
	OnTimeout hook.Fallback   `json:"onTimeout,omitempty"`
	Shadow    []Shadow        `json:"shadow,omitempty"`
	Refused   []Refusal       `json:"refused"`
	Units     []Unit          `json:"units"`
}

// Shadow is what a rule on trial would say.
type Shadow struct {
	Rule   string      `json:"rule"`
	File   string      `json:"file"`
	Action hook.Action `json:"action"`
}

// Refusal is why no rule may allow a part.
type Refusal struct {
	Code  string `json:"code"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Why   string `json:"why"`
}

// Unit is one part of a command.
type Unit struct {
	Kind    string      `json:"kind"`
	Text    string      `json:"text"`
	Start   int         `json:"start"`
	End     int         `json:"end"`
	Via     []string    `json:"via,omitempty"`
	Verdict hook.Action `json:"verdict,omitempty"`
	Rule    string      `json:"rule,omitempty"`
	File    string      `json:"file,omitempty"`
	Misses  []Miss      `json:"misses,omitempty"`
	Refused []Refusal   `json:"refused,omitempty"`
}

// Miss is a rule that comes close, and the first thing that does not fit.
type Miss struct {
	Rule     string      `json:"rule"`
	File     string      `json:"file"`
	Action   hook.Action `json:"action"`
	Selector string      `json:"selector"`
	Why      string      `json:"why"`
}

// Of is the document of an explanation of a call.
func Of(call policy.Call, v *policy.Explanation) Document {
	refusals := func(rs []policy.Refusal) []Refusal {
		list := []Refusal{}
		for _, r := range rs {
			list = append(list, Refusal(r))
		}
		return list
	}
	e := Document{
		Tool: call.Tool, Input: call.Input, Cwd: call.Cwd, Verdict: v.Action, Contain: v.Contain, Rule: v.Rule, File: v.File, Layer: v.Layer, Reason: v.Reason,
		Message: v.Message, Note: v.Note,
		Refused: refusals(v.Refused), Units: []Unit{},
	}
	if v.Action == hook.ActionAsk {
		e.TimeoutMs, e.OnTimeout = v.Timeout.Milliseconds(), v.OnTimeout
	}
	for _, s := range v.Shadow {
		e.Shadow = append(e.Shadow, Shadow{s.Rule, s.File, s.Action})
	}
	for _, u := range v.Units {
		unit := Unit{u.Kind, u.Text, u.Start, u.End, u.Via, u.Action, u.Rule, u.File, nil, refusals(u.Refused)}
		for _, m := range u.Misses {
			unit.Misses = append(unit.Misses, Miss(m))
		}
		e.Units = append(e.Units, unit)
	}
	return e
}
