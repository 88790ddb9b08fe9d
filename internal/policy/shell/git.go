package shell

import (
	"strings"
)

const gitMoved = "git runs after a cd: the configuration of another repository can name programs to run."

// git takes off what only says where git works, and tries the command without its other global
// options on rules that deny.
func (r *reader) git(u Unit, at execContext) int {
	if at.dir.changed && !r.atHome(at.dir) {
		r.doubt(DoubtGitMoved, u.Start, u.End, gitMoved)
	}
	argv := u.Argv
	at.dir = r.keep(*at.dir)
	i := 1
	for i < len(argv) && argv[i].Static {
		switch argv[i].Text {
		case "--no-pager", "-P", "--no-optional-locks", "--no-advice":
			i++
			continue
		case "-C":
			if i+1 < len(argv) && argv[i+1].Static {
				if argv[i+1].Text != "" {
					at.dir.move(argv[i+1].Text)
					at.dir.succeeds()
				}
				i += 2
				continue
			}
		}
		break
	}
	if i > 1 {
		u.Argv = append([]Word{argv[0]}, argv[i:]...)
		u.Alt = append(u.Alt, argv)
	}
	rest := i
	for rest < len(argv) && strings.HasPrefix(argv[rest].Prefix, "-") {
		switch argv[rest].Text {
		case "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path", "--attr-source", "--list-cmds", "--shallow-file":
			rest++
		}
		rest++
	}
	if rest > i && rest < len(argv) {
		u.Alt = append(u.Alt, append([]Word{argv[0]}, argv[rest:]...))
	}
	return r.add(u, at)
}

// atHome says whether a directory is certainly the agent's own, or lies in the project. Whether a
// repository of its own begins there, only who can look at files can tell.
func (r *reader) atHome(w *workDir) bool {
	all := w.all()
	for _, d := range all {
		if d != r.opts.Dir && (r.opts.Project == "" || d != r.opts.Project && !strings.HasPrefix(d, strings.TrimSuffix(r.opts.Project, "/")+"/")) {
			return false
		}
	}
	return len(all) > 0
}
