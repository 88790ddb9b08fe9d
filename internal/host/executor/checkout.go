package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assent/internal/host/gitrepo"
)

// fill checks out what a work tree was made for, if that was not done yet: one whose host was killed in between has no index.
//
// git runs programs for the files that it writes, which the repository's configuration and its info/attributes name, and who
// works in the project can change both at any moment. So the configuration of this one command is not the repository's: git
// is given a directory of its own in its place, with the repository's objects, the work tree's own index, and of the
// settings those that were read before and start nothing.
func (h *Host) fill(ctx context.Context, project, dir string) error {
	own, common := gitrepo.OwnDir(dir), gitrepo.CommonDir(project)
	if _, err := os.Lstat(filepath.Join(own, "index")); own == "" || err == nil {
		return nil // it is none, as what is looked at next will say, or done
	}
	if filepath.Dir(own) != filepath.Join(common, "worktrees") {
		return fmt.Errorf("%s is no work tree of %s; remove what stands there", dir, project)
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	settings, err := h.harmless(ctx, project)
	if err != nil {
		return err
	}
	text, err := h.runGit(ctx, project, dir, nil, nil, "rev-parse", "--verify", "HEAD^{commit}")
	commit := strings.TrimSpace(string(text))
	if err != nil {
		return fmt.Errorf("git rev-parse: %w: %s", err, clip(commit, maxWhy))
	}
	repo, err := emptyRepository(len(commit))
	if err != nil {
		return err
	}
	defer os.RemoveAll(repo)
	env := []string{
		"GIT_DIR=" + own, "GIT_COMMON_DIR=" + repo, "GIT_OBJECT_DIRECTORY=" + filepath.Join(common, "objects"), "GIT_WORK_TREE=" + dir,
		"GIT_LFS_SKIP_DOWNLOAD_ERRORS=1", // what is not here already stays a pointer
	}
	settings = append(settings, [2]string{"lfs.storage", filepath.Join(common, "lfs")}, [2]string{"lfs.url", noLFS})
	if text, err := h.runGit(ctx, project, dir, env, settings, "read-tree", "--reset", "-u", commit); err != nil {
		return fmt.Errorf("git read-tree: %w: %s", err, clip(strings.Join(strings.Fields(string(text)), " "), maxWhy))
	}
	return nil
}

// noLFS is where git lfs has large files from: nowhere. Else it would ask the server that a file in the repository names.
const noLFS = "none://nowhere"

// emptyRepository makes a repository without anything in it, of objects with names so long.
func emptyRepository(length int) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "assent-tree-"); err != nil {
		return "", err
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if length == 64 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n"
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600), os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600),
		os.Mkdir(filepath.Join(dir, "objects"), 0o700), os.Mkdir(filepath.Join(dir, "refs"), 0o700),
	)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// maxFilters bounds the filters of a repository that are used.
const maxFilters = 100

var (
	// plainSetting are the settings of how a file is written that name no program and no file, with what they can be.
	plainSetting = regexp.MustCompile(`^core\.(autocrlf|eol|symlinks|filemode|ignorecase|precomposeunicode|sparsecheckout|sparsecheckoutcone)$`)
	plainValue   = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|0|1|input|lf|crlf|native)$`)
)

// harmless are those of a repository's own settings that a checkout needs and that start nothing of the repository's: how
// files are written, and the filters of git lfs, word for word as that writes them. Those of the user's and of the machine's
// count in any case.
func (h *Host) harmless(ctx context.Context, project string) ([][2]string, error) {
	text, err := h.runGit(ctx, project, project, nil, nil, "config", "--includes", "--show-scope", "--null", "--get-regexp", `^(core|filter)\.`)
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == 1 {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("git config: %w: %s", err, clip(strings.Join(strings.Fields(string(text)), " "), maxWhy))
	}
	var kept [][2]string
	required := map[string]bool{}
	for words := strings.Split(string(text), "\x00"); len(words) >= 2; words = words[2:] {
		key, value, _ := strings.Cut(words[1], "\n")
		if words[0] == "system" || words[0] == "global" {
			continue
		}
		if plainSetting.MatchString(key) && plainValue.MatchString(value) {
			kept = append(kept, [2]string{key, value})
		}
		if i := strings.LastIndexByte(key, '.'); i > len("filter.") && strings.HasPrefix(key, "filter.") && slices.Contains([]string{"smudge", "process"}, key[i+1:]) && lfs(value) {
			kept = append(kept, [2]string{key, value})
			required[key[:i]] = true
		}
	}
	for name := range required {
		kept = append(kept, [2]string{name + ".required", "true"})
	}
	if len(kept) > maxFilters {
		return nil, fmt.Errorf("the repository of %s has more than %d settings of how files are written", project, maxFilters)
	}
	return kept, nil
}

// lfs reports whether a filter's program is what git lfs install writes.
func lfs(program string) bool {
	return slices.Contains([]string{"git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs filter-process", "git-lfs filter-process --skip"}, program)
}
