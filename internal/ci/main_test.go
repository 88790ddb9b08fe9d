package ci

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assent/internal/hook"
	"assent/internal/tool/leaktest"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("CI_TEST_AGENT"); mode != "" {
		os.Exit(testAgent(mode))
	}
	os.Exit(leaktest.Main(m))
}

// testAgent is what this program is when a test has it run as an agent.
func testAgent(mode string) (code int) {
	if os.Args[len(os.Args)-1] == "--version" {
		fmt.Println(os.Getenv("CI_TEST_VERSION"), "(Claude Code)")
		return 0
	}
	switch mode {
	case "mute":
		return 0
	case "signal":
		// The test sends the signal once it reads this line.
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		return 5
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	// Asks as a hook does, and says what it was given.
	settings, err := os.ReadFile(os.Args[slices.Index(os.Args, "--settings")+1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("hooks:", strings.Contains(string(settings), `"PermissionRequest"`), "token:", os.Getenv("ASSENT_TOKEN"), "args:", os.Args[3:])
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", os.Getenv("ASSENT_SOCKET"))
	}}}
	q, err := http.NewRequest("POST", "http://assent/v1/hooks", strings.NewReader(bash))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	q.Header.Set(hook.HeaderEvent, "PermissionRequest")
	res, err := client.Do(q)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("status:", res.StatusCode)
	return 3
}
