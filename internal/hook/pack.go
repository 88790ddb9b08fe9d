package hook

import "strings"

// maxPacked is how long a text may be, in bytes, to be moved by Pack.
const maxPacked = 512

// Pack moves the short texts of r, which say the same then, to one piece of memory. A request that waits lives long:
// as some twenty pieces, each among others that are soon gone, it would keep a page of memory for almost each.
func (r *Request) Pack() {
	var all [maxTexts]*string
	texts := r.texts(all[:0])
	size := 0
	for _, s := range texts {
		if len(*s) <= maxPacked {
			size += len(*s)
		}
	}
	var b strings.Builder
	b.Grow(size)
	for _, s := range texts {
		if len(*s) <= maxPacked {
			b.WriteString(*s)
		}
	}
	packed, at := b.String(), 0
	for _, s := range texts {
		if n := len(*s); n <= maxPacked {
			*s = packed[at : at+n]
			at += n
		}
	}
}

// ShareTexts has r use the memory of same's texts where they are equal to its own.
func (r *Request) ShareTexts(same *Request) {
	var mine, others [maxTexts]*string
	theirs := same.texts(others[:0])
	for i, s := range r.texts(mine[:0]) {
		if *s == *theirs[i] {
			*s = *theirs[i]
		}
	}
}

// maxTexts is how many texts a request has.
const maxTexts = 32

// texts appends where the texts of r stand. Those that are one of a few words are left out: they are constants mostly.
func (r *Request) texts(to []*string) []*string {
	return append(to,
		&r.ID, &r.SessionID, &r.CWD, &r.Event, &r.ToolName, &r.NativeTool, &r.InputSHA256, &r.Agent, &r.AgentID, &r.AgentType,
		&r.Host, &r.Process, &r.Attended, &r.Hosted, &r.AgentLabel, &r.ProjectDir, &r.Repo.Root, &r.Repo.Branch, &r.Repo.Head, &r.Repo.Remote,
		&r.PermissionMode, &r.Uninspectable, &r.PayloadSHA256, &r.CallKey, &r.ToolUseID, &r.Source, &r.RulesKeys, &r.Submitter, &r.Machine, &r.ReattachSHA256)
}
