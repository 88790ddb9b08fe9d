package executor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/host/gitrepo"
	"assent/internal/host/regular"
)

// maxSparse bounds the list of what a repository checks out of its files, in bytes.
const maxSparse = 1 << 20

// add makes a work tree with nothing in it, on a branch that goes off what is checked out in the project, or on one of that
// name that is there already.
//
// It is not left to git worktree add: that works by the repository's configuration, which can name hooks under names that nobody
// knows before, so that no setting switches them off. What it writes are four small files (gitrepository-layout).
func (h *Host) add(ctx context.Context, project, dir, branch string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	git := func(env []string, args ...string) (string, error) {
		text, err := h.runGit(ctx, project, project, env, nil, args...)
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, clip(strings.Join(strings.Fields(string(text)), " "), maxWhy))
		}
		return strings.TrimSpace(string(text)), err
	}
	if _, err := git(nil, "rev-parse", "--git-dir"); err != nil {
		return err
	}
	commit, err := git(nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return errNoCommit
	}
	common := gitrepo.CommonDir(project)
	if common == "" {
		return fmt.Errorf("%s is not the top of a work tree of git", project)
	}
	repo, err := emptyRepository(len(commit))
	if err != nil {
		return err
	}
	defer os.RemoveAll(repo)
	if err := shareBranches(repo, common); err != nil {
		return err
	}
	env := []string{"GIT_DIR=" + repo, "GIT_OBJECT_DIRECTORY=" + filepath.Join(common, "objects")}
	ref := "refs/heads/" + branch
	if _, err := git(env, "update-ref", "-m", "branch: made by assent for a session", ref, commit, strings.Repeat("0", len(commit))); err != nil {
		if _, there := git(env, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); there != nil {
			return err
		}
	}
	return register(common, gitrepo.OwnDir(project), dir, ref)
}

// shareBranches gives an empty repository the branches of another one.
func shareBranches(repo, common string) error {
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return fmt.Errorf("%s keeps its branches in the format reftable, in which assent makes none; write worktree: false in agents.yaml", common)
	}
	if err := os.Remove(filepath.Join(repo, "refs")); err != nil {
		return err
	}
	return errors.Join(
		os.Symlink(filepath.Join(common, "refs"), filepath.Join(repo, "refs")),
		os.Symlink(filepath.Join(common, "packed-refs"), filepath.Join(repo, "packed-refs")), // also where there is none yet
	)
}

// register makes dir a work tree of the repository common, and is all or nothing: dir comes last, as a whole. own is that of the
// project.
func register(common, own, dir, ref string) error {
	trees, name := filepath.Join(common, "worktrees"), filepath.Base(dir)
	if err := os.Mkdir(trees, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if fi, err := os.Lstat(trees); err != nil || !fi.IsDir() {
		return fmt.Errorf("%s is no directory", trees)
	}
	admin := filepath.Join(trees, name)
	if said, err := regular.Read(filepath.Join(admin, "gitdir"), maxMeta, regular.NoLink); err == nil && strings.TrimSpace(string(said)) != filepath.Join(dir, ".git") {
		return fmt.Errorf("%s is that of another work tree, %.200q; remove it with git worktree", admin, said)
	}
	if err := os.RemoveAll(admin); err != nil { // of a work tree that was removed, or never made
		return err
	}
	if err := os.Mkdir(admin, 0o755); err != nil {
		return err
	}
	files := [][2]string{{"HEAD", "ref: " + ref + "\n"}, {"commondir", "../..\n"}, {"gitdir", filepath.Join(dir, ".git") + "\n"}}
	if sparse, err := regular.Read(filepath.Join(own, "info", "sparse-checkout"), maxSparse, regular.NoLink); err == nil {
		if err := os.Mkdir(filepath.Join(admin, "info"), 0o755); err != nil {
			return err
		}
		files = append(files, [2]string{"info/sparse-checkout", string(sparse)})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(admin, f[0]), []byte(f[1]), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".assent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) // nothing, once it has its name
	if err := errors.Join(os.WriteFile(filepath.Join(made, ".git"), []byte("gitdir: "+admin+"\n"), 0o644), os.Chmod(made, 0o755)); err != nil {
		return err
	}
	return os.Rename(made, dir)
}
