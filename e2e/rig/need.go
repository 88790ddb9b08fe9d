package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/e2e/rig/claude"
	"assent/e2e/rig/rabbitmq"
	"assent/internal/host/contain"
)

// The real client is a heavy guest: each version is installed once, and two run at a time.
var (
	installed = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("ASSENT_E2E_CLAUDE"); path != "" { // another version, perhaps
			return exec.LookPath(path)
		}
		return installClient(claude.Version)
	})
	oldest  = sync.OnceValues(func() (string, error) { return installClient(claude.Oldest) })
	clients = make(chan struct{}, 2)
	counts  sync.Mutex // orders writes to the count file
)

func installClient(version string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", claude.ErrMissing, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return claude.Install(ctx, cache, version)
}

// Need returns the path of a program that the test cannot do without: "claude", "claude-oldest", "codex", "opencode", "kilo", "copilot", "qwen", "droid",
// "tmux", "rabbitmq", "axe", "gitlab-schema", "landlock" or "chromium". Where it is wanting the test is skipped, or fails if nothing may be skipped.
func Need(t *testing.T, what string) string {
	t.Helper()
	path, err := find(what)
	verdict := "ran"
	if err != nil {
		verdict = "skipped"
	}
	Count(t, what, verdict)
	if err == nil {
		return path
	}
	if os.Getenv("ASSENT_E2E_REQUIRE") == "1" {
		t.Fatalf("this test needs %s and may not be skipped here: %v", what, err)
	}
	t.Skipf("this test needs %s: %v", what, err)
	return ""
}

func find(what string) (string, error) {
	switch what {
	case "claude":
		return installed()
	case "codex", "opencode", "kilo", "copilot", "droid":
		return coderProgram(what)
	case "gemini", "codex-acp", "claude-agent-acp", "goose", "kimi":
		return coderProgram(what)
	case "qwen":
		if _, err := qwenNode(); err != nil {
			return "", err
		}
		return coderProgram(what)
	case "claude-oldest":
		return oldest()
	case "landlock":
		return "landlock", contain.Usable(contain.ABI())
	case "bash-completion":
		const path = "/usr/share/bash-completion/bash_completion"
		_, err := os.Stat(path)
		return path, err
	case "gitlab-schema":
		_, err := GitlabSchema()
		return "gitlab-schema", err
	case "rabbitmq":
		return rabbitmq.Find()
	case "axe":
		_, err := axeScript()
		return "axe-core", err
	case "chromium":
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if p, err := exec.LookPath(name); err == nil {
				return p, nil
			}
		}
		return "", errors.New("no chromium in PATH (Debian: apt-get install chromium)")
	}
	return exec.LookPath(what)
}

// qwenNode returns the directory of a Node that Qwen Code runs with, or "" where the one in PATH will do.
var qwenNode = sync.OnceValues(func() (string, error) {
	err := nodeSince(22)
	if err == nil {
		return "", nil
	}
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if cpu == "" {
		return "", err
	}
	path, err := installFromNPM("node-"+runtime.GOOS+"-"+cpu, "22.23.3", "node")
	return filepath.Dir(path), err
})

// nodeSince says why there is no Node of this major version or a later one.
func nodeSince(major int) error {
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	var have int
	if _, err := fmt.Sscanf(string(out), "v%d.", &have); err != nil || have < major {
		return fmt.Errorf("node is %s, and it needs %d", strings.TrimSpace(string(out)), major)
	}
	return nil
}

// Count appends to ASSENT_E2E_COUNT what a test needs and whether it ran or was skipped.
func Count(t *testing.T, what, verdict string) {
	t.Helper()
	file := os.Getenv("ASSENT_E2E_COUNT")
	if file == "" {
		return
	}
	counts.Lock()
	defer counts.Unlock()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(f, what, verdict, t.Name())
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
