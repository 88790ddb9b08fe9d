package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"assent/e2e/rig"
	"assent/e2e/rig/modelserver"
	"assent/internal/freeport"
)

// balanced is three brokers on one NATS behind the Caddyfile of compose.cluster.yaml.
type balanced struct {
	brokers []*rig.Daemon
	url     string
	root    string // file of the authority that the balancer's certificate is of
}

func newBalanced(t *testing.T) *balanced {
	t.Helper()
	ports, err := freeport.Find(5)
	if err != nil {
		t.Fatal(err)
	}
	rig.NATS(t, rig.TempDir(t), ports[0])
	front := freeport.Address(ports[1])
	b := &balanced{url: fmt.Sprintf("https://localhost:%d", ports[1])}
	file := composeCaddyfile(t)
	change := func(from, to string) {
		t.Helper()
		if !strings.Contains(file, from) {
			t.Fatalf("the Caddyfile of compose.cluster.yaml does not say %q:\n%s", from, file)
		}
		file = strings.ReplaceAll(file, from, to)
	}
	change("{$$ASSENT_HOST}", strings.TrimPrefix(b.url, "https://"))
	for i, port := range ports[2:] {
		listen := freeport.Address(port)
		change(fmt.Sprintf("b%d:7717", i+1), listen)
		b.brokers = append(b.brokers, rig.Serve(t, "--nats-url", "nats://"+freeport.Address(ports[0]), "--nats-listen", "off",
			"--listen", listen, "--public-url", b.url, "--trusted-proxy", "127.0.0.1", "--no-link"))
	}
	b.root = rig.Caddy(t, file, "localhost", front)
	return b
}

// composeCaddyfile is the balancer's configuration that is in the repository.
func composeCaddyfile(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "compose.cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Configs map[string]struct {
			Content string `yaml:"content"`
		} `yaml:"configs"`
	}
	if err := yaml.Unmarshal(raw, &compose); err != nil {
		t.Fatal(err)
	}
	return compose.Configs["caddy"].Content
}

// holder is the broker that a hook waits at.
func (b *balanced) holder(t *testing.T) (found int) {
	t.Helper()
	rig.Eventually(t, rig.Soon, "a hook waits at one of the brokers", func() bool {
		for i, d := range b.brokers {
			status, body, err := d.Try("GET", "/metrics", nil)
			if err == nil && status == 200 && strings.Contains(string(body), "\nassent_hooks_waiting 1\n") {
				found = i
				return true
			}
		}
		return false
	})
	return found
}

// The real client asks through a balancer. The broker that holds its hook stops answering, the decision is made at
// another, both are killed, and the client goes on with what was decided, from the third.
func TestClusterBehindABalancer(t *testing.T) {
	t.Parallel()
	b := newBalanced(t)
	a := rig.NewAgent(t)
	a.Config.Hook, a.Config.HookArgs = rig.Program("assent"), []string{"hook", "--url", b.url}
	a.Config.Env = append(a.Config.Env, "ASSENT_TOKEN="+b.brokers[0].CreateToken("submit", "laptop"), "SSL_CERT_FILE="+b.root)
	run := a.Headless([]modelserver.Use{a.Touch("out.txt")}, []modelserver.Use{a.Touch("second.txt")})

	first := b.holder(t)
	one, other := b.brokers[first], b.brokers[(first+1)%3]
	r := other.WaitPending(1)[0]
	if err := one.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other.Allow(r)
	other.Kill()
	one.Kill()
	third := b.brokers[(first+2)%3]
	third.Until(r.ID, "its hook has the answer", func(r rig.Request) bool { return r.Outcome == "allowed" && r.Delivery != "recorded" })

	// Those that come back are part of it again.
	one.Start()
	other.Start()
	next := one.WaitPending(1)[0]
	if next.ID == r.ID {
		t.Fatal("the first request waits again")
	}
	one.Allow(next)
	a.Result(run)
	if !a.Exists("out.txt") || !a.Exists("second.txt") {
		t.Error("the client did not do what it was allowed to")
	}
	for _, d := range b.brokers {
		if all := d.All(); len(all) != 2 {
			t.Errorf("a broker knows %d requests, want 2", len(all))
		}
	}
}
