// Package contain answers for the broker whether what a rule allows only contained can run that way: it
// finds the session's shell, writes the input by which the command then runs, and knows which commands
// a session has had that way already. What runs is package contained's, what holds it the kernel's.
//
// # Concurrency
//
// All functions and methods may be called from any goroutine.
package contain

import (
	"slices"
	"strings"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/policy/contained"
	"assent/internal/text/show"
)

// Gate says what runs contained. With an empty Program nothing does.
type Gate struct {
	// Program is assent-contain, an absolute path on the machine of the broker and its hooks. It is the
	// broker's own configuration, never a submitter's word.
	Program string
	// Self is the submitter that the broker's own user is. Nobody else's commands run contained: their
	// files are not the broker's to read.
	Self string
}

// Rewrite returns the input by which the command of a request runs contained, or why it cannot: a
// sentence for a person. v says which programs the command runs, and what they may have besides the project.
func (g *Gate) Rewrite(req *hook.Request, v *hook.Verdict) (input hook.JSON, why string) {
	if g.Program == "" || !req.Contain || req.Submitter == "" || req.Submitter != g.Self {
		return nil, "it could run contained, but not here"
	}
	command, ok := contained.TextOf(req.ToolInput)
	if !ok {
		return nil, "it could run contained, but its command cannot be read"
	}
	shell, err := claude.ShellOf(agents.Reader(req.Agent).Detail(hook.EventPermissionRequest, req.Raw).TranscriptPath)
	if err != nil {
		return nil, "it could run contained, but the session's shell is not known before its first command"
	}
	words := strings.Fields(unquoted.Replace(command))
	if i := slices.IndexFunc(v.Programs, func(p string) bool { return shell.Differs(p, words) }); i >= 0 {
		return nil, "it could run contained, but the session's shell has a " + show.Short(v.Programs[i], 40) + " of its own"
	}
	input, err = contained.Rewrite(req.ToolInput, contained.Command{Program: g.Program, Project: project(req), Read: v.ContainReads, Env: v.ContainEnv, Shell: shell.Kind, Text: command})
	if err != nil {
		return nil, "it could run contained, but " + err.Error()
	}
	return input, ""
}

// unquoted takes off what may hide a flag.
var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "", "|", " ", ";", " ", "(", " ", "{", " ")

// project is the directory that may be read, the same one that rules take for the project.
func project(req *hook.Request) string {
	for _, dir := range []string{req.ProjectDir, req.Repo.Root} {
		if dir != "" {
			return strings.TrimSuffix(dir, "/")
		}
	}
	return strings.TrimSuffix(req.CWD, "/")
}
