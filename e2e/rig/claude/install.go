// Package claude drives the real Claude Code client in tests: it installs one exact version
// from npm, and runs it with a clean environment, a home of its own, a dummy key and a scripted
// model on loopback (package modelserver), either headless or in a terminal that it types into.
//
// Nothing of the user's own client is read or written. Everything that is started here is
// ended here: by the terminal's own tmux server and by process id, never by name.
//
// # Concurrency
//
// A Terminal and a Run belong to one test. Install may be called from several processes at
// once; a lock file in the cache orders them.
package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// The clients that tests are written for: Version for all scenarios, Oldest for what must work
// with the oldest one that assent installs its hooks for. They must be named exactly: on Node
// before 22 a bare install picks an older one without a word.
const (
	Version = "2.1.329"
	Oldest  = "2.1.197"
)

// ErrMissing says that there is no client and no way to get one on this machine.
var ErrMissing = errors.New("no Claude Code client")

// Install returns the path of the executable of one version of the client, installing it into
// cache with npm when it is not there yet. It returns ErrMissing where npm or the network is
// wanting.
func Install(ctx context.Context, cache, version string) (string, error) {
	dir := filepath.Join(cache, "claude-code-"+version)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the client's cache: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the client's cache %s: %w", dir, err)
	}
	defer func() { _ = lock.Unlock() }()

	link := filepath.Join(dir, "node_modules", ".bin", "claude")
	if check(ctx, link, version) == nil {
		return filepath.EvalSymlinks(link)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm is not installed", ErrMissing)
	}
	manifest := filepath.Join(dir, "package.json")
	if err := os.WriteFile(manifest, []byte(`{"name":"assent-e2e","private":true}`+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", manifest, err)
	}
	if out, err := in(ctx, dir, npm, "install", "--no-audit", "--no-fund", "@anthropic-ai/claude-code@"+version); err != nil {
		return "", fmt.Errorf("%w: npm install: %w\n%s", ErrMissing, err, out)
	}
	if check(ctx, link, version) != nil {
		// Where npm does not run install scripts, the package's own has not fetched the program.
		node, err := exec.LookPath("node")
		if err != nil {
			return "", fmt.Errorf("%w: node is not installed", ErrMissing)
		}
		script := filepath.Join("node_modules", "@anthropic-ai", "claude-code", "install.cjs")
		if out, err := in(ctx, dir, node, script); err != nil {
			return "", fmt.Errorf("%w: the package's install script: %w\n%s", ErrMissing, err, out)
		}
	}
	if err := check(ctx, link, version); err != nil {
		return "", fmt.Errorf("%w: installed into %s, but %w", ErrMissing, dir, err)
	}
	return filepath.EvalSymlinks(link)
}

// check returns nil if path is an executable client of the wanted version.
func check(ctx context.Context, path, version string) error {
	home, err := os.MkdirTemp("", "assent-e2e-home-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", path, err)
	}
	if !strings.HasPrefix(string(out), version+" ") {
		return fmt.Errorf("%s is version %q, want %s", path, strings.TrimSpace(string(out)), version)
	}
	return nil
}

func in(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
