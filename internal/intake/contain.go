package intake

import (
	"context"
	"slices"
	"strings"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/text/show"
)

// Contain is what an Intake needs to answer that a command runs contained. The zero value: none does.
type Contain struct {
	// Program is assent-contain, an absolute path on the machine of the broker and its hooks. It is the
	// broker's own configuration, never a submitter's word.
	Program string
	// First notes that a request has a session run a command contained, and reports whether the session
	// did that before for no other request.
	First func(ctx context.Context, session, command, requestID string) (bool, error)
}

// rewrite puts into an allow that holds only contained what then runs. Where that cannot be had, or would
// be another thing than what was asked for, it is an ask. It changes nothing.
func (in *Intake) rewrite(req *hook.Request, v hook.Verdict) hook.Verdict {
	if v.Action != hook.ActionAllow || v.Contain == "" {
		return v
	}
	input, why := in.rewritten(req, &v)
	if why != "" {
		return askFor(v, why)
	}
	v.UpdatedInput = input
	return v
}

func (in *Intake) rewritten(req *hook.Request, v *hook.Verdict) (input hook.JSON, why string) {
	c := &in.cfg.Contain
	if v.Contain != hook.ContainRead || !req.Contain || c.Program == "" || c.First == nil || req.Submitter == "" || req.Submitter != in.cfg.Self {
		return nil, "it could run contained, but not here"
	}
	command, ok := contained.TextOf(req.ToolInput)
	if !ok {
		return nil, "its command cannot be read"
	}
	shell, err := claude.ShellOf(agents.Reader(req.Agent).Detail("", req.Raw).TranscriptPath)
	if err != nil {
		return nil, "it could run contained, but the session's shell is not known before its first command"
	}
	words := strings.Fields(unquoted.Replace(command))
	if i := slices.IndexFunc(v.Programs, func(p string) bool { return shell.Differs(p, words) }); i >= 0 {
		return nil, "it could run contained, but the session's own shell has another " + show.Short(v.Programs[i], 40)
	}
	project := req.ProjectDir
	if project == "" {
		project = req.Repo.Root
	}
	if project == "" {
		project = req.CWD
	}
	input, err = contained.Rewrite(req.ToolInput, contained.Command{Program: c.Program, Project: strings.TrimSuffix(project, "/"), Shell: shell.Kind, Text: command})
	if err != nil {
		return nil, "it could run contained, but " + err.Error()
	}
	return input, ""
}

// unquoted takes off what may hide a flag.
var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "", "|", " ", ";", " ", "(", " ", "{", " ")

// contain is the last step of an allow that holds only contained: the session may have it once for each
// command, for what failed contained would fail again.
func (in *Intake) contain(req *hook.Request, v hook.Verdict) hook.Verdict {
	if v.Action != hook.ActionAllow || v.Contain == "" {
		return v
	}
	ctx, cancel := context.WithTimeout(in.ctx, lookupTimeout)
	defer cancel()
	command, _ := contained.TextOf(req.ToolInput)
	first, err := in.cfg.Contain.First(ctx, req.SessionID, command, req.ID)
	switch {
	case err != nil:
		in.cfg.Log.Warnw("it is not known whether a command ran contained before, so a person is asked", "id", req.ID, "error", show.Logged(err.Error()))
		return askFor(v, "it could run contained, but nobody knows whether it has already")
	case !first:
		return askFor(v, "it has run contained already, and is asked for again")
	}
	return v
}

// askFor is an allow that is not given.
func askFor(v hook.Verdict, why string) hook.Verdict {
	return hook.Verdict{Action: hook.ActionAsk, Reason: why, Shadow: v.Shadow, Timeout: v.Timeout, OnTimeout: v.OnTimeout}
}
