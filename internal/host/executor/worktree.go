package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"assent/internal/host/optin"
)

var errNoCommit = errors.New("the project has no commit of which the session could get a work tree: make one there (git commit), or write worktree: false in agents.yaml")

// gitTime bounds the making of a work tree.
const gitTime = 2 * time.Minute

// treeName names the work tree of a session.
func treeName(session string) string { return "assent-" + session[:8] }

// tree makes sure that a session's work tree is there, and brings nothing for the agent that was not accepted.
//
// It is made here, from what is checked out in the project, and not by the client, which takes one that it finds: that
// would fetch the remote branch of this moment first, and then obey the hooks and permissions in it, which
// nobody has seen. Hooks of git's do not run.
func (h *Host) tree(ctx context.Context, project, name string) error {
	dir := optin.Tree(project, name)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		branch := "worktree-" + name // as the client calls it
		err := h.git(ctx, project, "worktree", "add", "-b", branch, dir, "HEAD")
		if err != nil && h.git(ctx, project, "worktree", "add", "-f", "-f", dir, branch) != nil { // one that was removed
			if h.git(ctx, project, "rev-parse", "--git-dir") == nil && h.git(ctx, project, "rev-parse", "--verify", "--quiet", "HEAD") != nil {
				return errNoCommit
			}
			return fmt.Errorf("make the work tree of the session: %w", err)
		}
	}
	return optin.NothingNew(project, dir, h.cfg.Home)
}

func (h *Host) git(ctx context.Context, dir string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null", "-C", dir}, args...)...)
	cmd.Env = OwnEnv(h.cfg.Environ)
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, clip(strings.Join(strings.Fields(string(text)), " "), maxWhy))
	}
	return nil
}
