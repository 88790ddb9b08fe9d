package policy

import (
	"encoding/json"
	"path"
	"slices"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/codex/patch"
	"assent/internal/agent/tool"
	"assent/internal/hook"
)

// A patch is one call that changes many files. It is judged as the writes and edits that it is made of:
// denied if one of them is, allowed if every one is and it is certain that there are no others. A rule
// about the tool itself may deny it or ask, and never allows it.

// maxPatchFiles bounds how many files of a patch are looked at. One with more is not allowed.
const maxPatchFiles = 64

// patch evaluates a call of a tool of kind Patch.
func (s *Set) patch(c *Call, t tool.Tool, explain bool) Explanation {
	whole := s.evalOne(c, explain)
	if whole.Action == hook.ActionDeny && whole.Rule != "" {
		return whole
	}
	p := patch.Read(memberText(c.Input, t.Title))
	var why []string // no rule allows it
	if len(whole.Refused) > 0 {
		why = append(why, whole.Refused[0].Why)
	}
	if !p.Whole || len(p.Files) > maxPatchFiles {
		why = append(why, "it is not certain which files the patch changes")
	}
	if m := strangeMember(c.Input, []string{t.Title}); m != "" {
		why = append(why, "its member "+quote(m)+" may hold another patch, or say where it is applied")
	}
	var parts []Explanation
	if whole.Action == hook.ActionAsk && whole.Rule != "" {
		parts = append(parts, whole)
	}
	for _, f := range p.Files[:min(len(p.Files), maxPatchFiles)] {
		names := []string{tools.Edit}
		switch f.Op {
		case patch.Add:
			names = []string{tools.Write}
		case patch.Delete, patch.Move:
			// No rule says that a file may go; one that keeps it from being written keeps it there.
			names = []string{tools.Write, tools.Edit}
			why = append(why, "it deletes or moves a file, which no rule about edits allows")
		}
		if !path.IsAbs(f.Path) {
			why = append(why, "its path "+quote(f.Path)+" is relative, to a directory that only the agent knows")
		}
		for _, name := range names {
			one := *c
			one.Tool = name
			one.Input, _ = json.Marshal(map[string]string{t.Path[0]: f.Path}) // of texts there is no error
			part := s.evalOne(&one, explain)
			if !f.Sure && part.Action == hook.ActionDeny && part.Rule != "" {
				part.Verdict = hook.Verdict{Action: hook.ActionAsk, Reason: "a line of the patch may name a file that the rule " + part.Rule + " denies"}
			}
			parts = append(parts, part)
		}
	}
	v := s.patchVerdict(parts, why)
	v.Refused = whole.Refused
	for i := range parts {
		v.Units = append(v.Units, parts[i].Units...)
		if i > 0 || whole.Rule == "" {
			v.Refused = append(v.Refused, parts[i].Refused...)
		}
	}
	return v
}

// patchVerdict is what the rules say of all parts together. why are reasons for which none may allow it.
func (s *Set) patchVerdict(parts []Explanation, why []string) Explanation {
	is := func(action hook.Action, byRule bool) func(Explanation) bool {
		return func(p Explanation) bool { return p.Action == action && (p.Rule != "" || !byRule) }
	}
	v := Explanation{Verdict: hook.Verdict{Action: hook.ActionAsk, Timeout: s.defaults.timeout, OnTimeout: s.defaults.onTimeout}}
	pick := func(i int) { v.Verdict, v.Layer = parts[i].Verdict, parts[i].Layer }
	i := slices.IndexFunc(parts, is(hook.ActionDeny, true))
	j := slices.IndexFunc(parts, is(hook.ActionAsk, true))
	switch {
	case i >= 0:
		pick(i)
		return v
	case j >= 0:
		pick(j)
		for _, p := range parts {
			if p.Timeout > 0 && (v.Timeout == 0 || p.Timeout < v.Timeout) {
				v.Timeout = p.Timeout
			}
			if p.OnTimeout == hook.Deny {
				v.OnTimeout = hook.Deny
			}
		}
	default:
		for k := range parts {
			if parts[k].Action != hook.ActionAllow {
				why = append(why, parts[k].Reason)
			}
		}
		if len(why) == 0 && len(parts) > 0 {
			pick(0)
			v.Saved = nil
			for _, p := range parts {
				if p.From != v.From {
					v.From = ""
				}
				for _, id := range p.Saved {
					if !slices.Contains(v.Saved, id) {
						v.Saved = append(v.Saved, id)
					}
				}
			}
		} else if why = append(why, "the patch names no file"); why[0] != "" {
			v.Reason = why[0]
		}
		if v.Action != hook.ActionAllow && s.defaults.action == hook.ActionDeny {
			v.Action, v.Message = hook.ActionDeny, "No rule allows this, and the default is to deny."
		}
	}
	v.Shadow = nil
	for _, p := range parts {
		for _, x := range p.Shadow {
			if !slices.Contains(v.Shadow, x) {
				v.Shadow = append(v.Shadow, x)
			}
		}
	}
	return v
}

// memberText is the text of a member of an input, "" where it is none.
func memberText(input []byte, key string) (text string) {
	ms, _ := members(input) // what is wrong with it is said elsewhere
	for _, m := range ms {
		if m.Key == key {
			_ = json.Unmarshal(m.Value, &text)
		}
	}
	return text
}
