package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assent/internal/host/said"
)

// Client is a Claude Code on this machine.
type Client struct {
	Path    string
	Version string // "" if Err
	Err     error  // why it does not say its version
}

// maxClients bounds how many are asked: each start costs a moment.
const maxClients = 8

// versionWait bounds one client's answer where a person waits for it.
const versionWait = 10 * time.Second

// ErrSlow says that a program has not said its version in time. It may be another program, or the machine busy.
var ErrSlow = errors.New("no answer")

// Clients finds every Claude Code on the search path and at the places where it installs itself,
// in the order of the search path, and asks each for its version. Several paths of one program
// count once.
func Clients(ctx context.Context, searchPath, home string) []Client {
	var paths []string
	for _, dir := range filepath.SplitList(searchPath) {
		if filepath.IsAbs(dir) { // another one would depend on where we stand
			paths = append(paths, filepath.Join(dir, "claude"))
		}
	}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".local", "bin", "claude"), filepath.Join(home, ".claude", "local", "claude"))
	}
	var found []Client
	var seen []fs.FileInfo
	for _, path := range paths {
		fi, err := os.Stat(path)
		if err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 ||
			slices.ContainsFunc(seen, func(s fs.FileInfo) bool { return os.SameFile(s, fi) }) {
			continue
		}
		seen = append(seen, fi)
		if found = append(found, Ask(ctx, versionWait, path, searchPath, home)); len(found) == maxClients {
			break
		}
	}
	return found
}

// Ask asks the one at path for its version. Once it has taken wait, that is ErrSlow.
func Ask(ctx context.Context, wait time.Duration, path, searchPath, home string) Client {
	c := Client{Path: path}
	c.Version, c.Err = askVersion(ctx, wait, path, searchPath, home, versionPattern)
	return c
}

// maxOutput bounds what is kept of a client's answer, in bytes.
const maxOutput = 64 << 10

// saidVersion is a version in what a program says: other agents name themselves first.
var saidVersion = regexp.MustCompile(`\b\d{1,9}\.\d{1,9}\.\d{1,9}`)

// AskVersion asks the program of another agent for its version.
func AskVersion(ctx context.Context, path, searchPath, home string) (string, error) {
	return askVersion(ctx, versionWait, path, searchPath, home, saidVersion)
}

// askVersion runs a program with --version, and finds the version on its first line. It gets the search path and the
// home, which launchers need to find the program, and nothing else of our environment.
func askVersion(ctx context.Context, wait time.Duration, path, searchPath, home string, pattern *regexp.Regexp) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("%w within %v", ErrSlow, wait))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"PATH=" + searchPath, "HOME=" + home, "LANG=C.UTF-8", "DISABLE_AUTOUPDATER=1"}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	out := said.Output{Most: maxOutput, TooMuch: errors.New("it says more than a version")}
	cmd.Stdout = &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	version := pattern.FindString(line)
	if version == "" {
		return "", errors.New(path + " --version says no version")
	}
	return version, nil
}

func isLink(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode()&fs.ModeSymlink != 0
}
