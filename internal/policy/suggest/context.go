package suggest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"assent/internal/policy"
	"assent/internal/text/show"
)

// execContext is where a request came from, as far as a rule can be bound to it.
type execContext struct {
	call         *policy.Call
	cwd, project string // absolute and clean
	elsewhere    bool   // the files cannot be seen from here
	repo         string // the remote, for requests from elsewhere
}

// newExecContext returns the context of a call; ok is false where no rule can be bound to it.
func newExecContext(c *policy.Call) (ec *execContext, ok bool) {
	ec = &execContext{call: c, elsewhere: c.Elsewhere, repo: c.Repo}
	if !filepath.IsAbs(c.Cwd) {
		return ec, false
	}
	ec.cwd = path.Clean(c.Cwd)
	ec.project = ec.cwd
	if filepath.IsAbs(c.Project) {
		ec.project = path.Clean(c.Project)
	}
	if ec.elsewhere {
		return ec, ec.repo != "" && !strings.ContainsAny(ec.repo, "*") && !strings.HasPrefix(ec.repo, "re:") && !strings.HasPrefix(ec.repo, "is:")
	}
	_, ok = ec.patterns(ec.cwd)
	return ec, ok
}

// patterns are the path patterns for exactly one path: as it is spelled, and where links lead.
// ok is false where a pattern would mean something else than the path.
func (ec *execContext) patterns(at string) (patterns []string, ok bool) {
	if ec.elsewhere || !filepath.IsAbs(at) || at == "/" || strings.ContainsAny(at, "*?[]{}$\\") || show.Line(at) != at {
		return nil, false
	}
	all := []string{at}
	if real := resolved(at); real != "" && real != at {
		if strings.ContainsAny(real, "*?[]{}$\\") || real == "/" || show.Line(real) != real {
			return nil, false
		}
		all = append(all, real)
	}
	return all, true
}

// resolved is where a clean path leads when links are followed, also of what is not there yet; empty
// where that is not certain.
func resolved(at string) string {
	real, err := filepath.EvalSymlinks(at)
	if err == nil {
		return real
	}
	if _, err := os.Lstat(at); at == "/" || !errors.Is(err, fs.ErrNotExist) {
		return "" // also a link to what is not there
	}
	if real = resolved(path.Dir(at)); real == "" {
		return ""
	}
	return path.Join(real, path.Base(at))
}

// inProject says whether a path is in the project, as it is spelled and where links lead.
func (ec *execContext) inProject(at string) bool {
	real := resolved(at)
	return below(ec.project, at) && real != "" && (below(ec.project, real) || below(resolved(ec.project), real))
}

// really names where links lead from a path, for a person; empty where that is the path itself.
func (ec *execContext) really(at string) string {
	if ec.elsewhere {
		return ""
	}
	if real := resolved(at); real != at && real != "" {
		return " (which leads to " + real + ")"
	}
	return ""
}

// below says whether a clean path lies in a directory, which is no home and not everything.
func below(dir, at string) bool {
	return dir != "/" && dir != "" && (at == dir || strings.HasPrefix(at, dir+"/"))
}

// narrowProject says whether the project is a directory of which all may be meant.
func (ec *execContext) narrowProject() bool {
	return ec.project != "/" && !(ec.call.Home != "" && below(ec.project, path.Clean(ec.call.Home)))
}
