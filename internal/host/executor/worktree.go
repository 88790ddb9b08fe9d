package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"assent/internal/host/gitdiff"
	"assent/internal/host/optin"
	"assent/internal/host/said"
)

var errNoCommit = errors.New("the project has no commit of which the session could get a work tree: make one there (git commit), or write worktree: false in agents.yaml")

// gitTime bounds the making of a work tree.
const gitTime = 2 * time.Minute

// treeNames are the names that the work tree of a session can have: the first one reads well in the name of a branch, the second one no
// other session can have.
func treeNames(session string) [2]string {
	return [...]string{"assent-" + session[:8], "assent-" + session}
}

// treeName names the work tree of a new session. Another session's, whose id begins alike, is not shared: neither one that is
// to be made, nor one that stands there.
func (h *Host) treeName(project, session string) string {
	names := treeNames(session)
	for _, s := range h.sessions {
		if s.meta.Project == project && s.meta.Worktree == names[0] {
			return names[1]
		}
	}
	if _, err := os.Lstat(optin.Tree(project, names[0])); !errors.Is(err, fs.ErrNotExist) {
		return names[1]
	}
	return names[0]
}

// tree makes sure that a session's work tree is there, and brings nothing for the agent that was not accepted.
//
// It is made here, from what is checked out in the project, and not by the client, which takes one that it finds: that
// would fetch the remote branch of this moment first, and then obey the hooks and permissions in it, which
// nobody has seen. Hooks of git's do not run.
func (h *Host) tree(ctx context.Context, project, name string) error {
	dir := optin.Tree(project, name)
	if err := optin.InPlace(project, dir); errors.Is(err, fs.ErrNotExist) {
		err := h.add(ctx, project, dir, "worktree-"+name) // as the client calls it
		if errors.Is(err, errNoCommit) {
			return err
		} else if err != nil {
			return fmt.Errorf("make the work tree of the session: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("%w; remove what stands there", err)
	}
	if err := h.fill(ctx, project, dir); err != nil {
		return fmt.Errorf("check out the work tree of the session: %w", err)
	}
	return optin.NothingNew(project, dir, h.cfg.Home)
}

// runGit runs git with settings that stand above all others, in a directory of an agent's project: whoever works there may have written
// what stands in the repository's configuration. It fetches nothing, which would be done by programs that the
// repository can name; a commit that was never fetched as a whole is for the owner to complete. It leaves submodules alone, which
// have configurations of their own.
func (h *Host) runGit(ctx context.Context, project, dir string, env []string, settings [][2]string, args ...string) ([]byte, error) {
	settings = append([][2]string{{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"submodule.recurse", "false"}}, settings...)
	git := optin.Tool(h.cfg.Environ, "git", project)
	if git == "" {
		return nil, gitdiff.ErrNoGit
	}
	cmd := exec.CommandContext(ctx, git, append([]string{"-C", dir}, args...)...)
	cmd.Env = append(append(OwnEnv(h.cfg.Environ), env...), "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, s := range settings {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	cmd.WaitDelay = time.Second
	out := said.Output{Most: maxSaid, TooMuch: io.ErrShortWrite}
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if out.Over() {
		err = fmt.Errorf("it printed more than %d KiB", maxSaid>>10)
	}
	return out.Bytes(), err
}

// maxSaid bounds what git prints, in bytes: it prints what the repository's configuration says.
const maxSaid = 1 << 20
