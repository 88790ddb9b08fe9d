package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The floor plan: who may not import whom, directly or through others, and why.
var forbidden = []struct {
	from, to string // to may end in /... for everything below
	why      string
}{
	{"assent/internal/hook", "encoding/json", "the hook client imports it and must start quickly"},
	{"assent/internal/hook", "fmt", "the hook client imports it and must start quickly"},
	{"assent/internal/hook", "assent/...", "the ground floor stands on nothing"},
	{"assent/cmd/assent-hook", "encoding/json", "it runs several times per tool call"},
	{"assent/cmd/assent-hook", "net/http", "it runs several times per tool call"},
	{"assent/cmd/assent-hook", "crypto/tls", "it runs several times per tool call"},
	{"assent/cmd/assent-hook", "assent/schemas", "what checks documents takes a start of its own, several times per tool call"},
	{"assent/cmd/assent-hook", "flag", "it runs several times per tool call"},
	{"assent/cmd/assent-hook", "fmt", "it runs several times per tool call"},
	{"assent/cmd/assent-hook", "github.com/...", "standard library only"},
	{"assent/cmd/assent-hook", "golang.org/...", "standard library only"},
	{"assent/broker", "github.com/nats-io/...", "the broker knows a Log, not NATS"},
	{"assent/broker", "net/http", "the broker knows no protocol"},
	{"assent/broker", "go.uber.org/...", "plain Go; logging is handed in"},
	{"assent/broker", "assent/internal/codec", "the broker knows no agent's JSON"},
	{"assent/internal/codec", "github.com/...", "third parties live at the edge"},
	{"assent/internal/codec", "assent/broker", "arrows point down"},
	{"assent/internal/feed", "assent/internal/codec", "the feed knows no agent's JSON"},
	{"assent/internal/feed", "assent/internal/stream", "the feed is a pure fold"},
	{"assent/internal/feed", "assent/internal/server", "nothing imports server"},
	{"assent/internal/feed", "assent/broker", "the feed knows events and records, not who keeps them"},
	{"assent/internal/feed", "assent/schemas", "schemas are for tests and for readers"},
	{"assent/internal/feed", "github.com/...", "plain Go"},
	{"assent/internal/feed", "go.uber.org/...", "plain Go; the fold has nothing to log"},
	{"assent/internal/feed", "net/http", "the feed knows no protocol"},
	{"assent/internal/feed", "os/exec", "the feed is a pure fold"},
	{"assent/internal/feed", "math/rand", "a replay gives the same bytes"},
	{"assent/internal/history", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/history", "assent/internal/server", "nothing imports server"},
	{"assent/internal/history", "assent/internal/codec", "payloads are read by a function that is handed in"},
	{"assent/internal/history", "assent/broker", "history knows events and records, not who keeps them"},
	{"assent/internal/history", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/history", "go.uber.org/...", "logging is handed in"},
	{"assent/internal/conformance", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/conformance", "assent/internal/server", "nothing imports server"},
	{"assent/internal/conformance", "assent/internal/codec", "it looks at bytes, as they came"},
	{"assent/internal/conformance", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/rabbit", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/rabbit", "assent/internal/server", "nothing imports server"},
	{"assent/internal/rabbit", "assent/internal/codec", "payloads are read by a function that is handed in"},
	{"assent/internal/rabbit", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/rabbit", "assent/internal/history", "neither needs the other"},
	{"assent/internal/rabbit", "modernc.org/...", "SQLite lives in history"},
	{"assent/internal/rabbit", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/ledger", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/ledger", "assent/internal/server", "nothing imports server"},
	{"assent/internal/ledger", "assent/internal/rabbit", "neither needs the other"},
	{"assent/internal/ledger", "assent/internal/history", "neither needs the other"},
	{"assent/internal/ledger", "assent/internal/codec", "payloads are read by a function that is handed in"},
	{"assent/internal/ledger", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/ledger", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/ledger", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/hookd", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/hookd", "assent/internal/server", "nothing imports server"},
	{"assent/internal/hookd", "assent/internal/rabbit", "neither needs the other"},
	{"assent/internal/hookd", "assent/internal/ledger", "neither needs the other"},
	{"assent/internal/hookd", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/hookd", "os/exec", "the repository is read without running git"},
	{"assent/internal/rabbit", "assent/internal/ledger", "neither needs the other"},
	{"assent/internal/integrity", "assent/...", "it knows files and hashes, not what stands in them"},
	{"assent/internal/integrity", "github.com/nats-io/nats-server/...", "it reads what the server wrote, without it"},
	{"assent/internal/stream", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/server", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/history", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/server", "modernc.org/...", "SQLite lives in history"},
	{"assent/internal/stream", "modernc.org/...", "SQLite lives in history"},
	{"assent/broker", "modernc.org/...", "SQLite lives in history"},
	{"assent/cmd/assent-hook", "modernc.org/...", "it runs several times per tool call"},
	{"assent/internal/server", "assent/internal/rules", "serve wires them with function values"},
	{"assent/internal/server", "assent/internal/rulebook", "serve wires them with function values"},
	{"assent/broker", "assent/internal/rules", "the broker knows verdicts, not rules"},
	{"assent/internal/rules", "assent/internal/rulebook", "a set of rules does not know its files"},
	{"assent/internal/rulebook", "assent/internal/server", "nothing imports server"},
	{"assent/internal/rulebook", "assent/broker", "it judges requests, and holds none"},
	{"assent/internal/rulebook", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/server", "assent/internal/always", "serve wires them with an interface of the server's"},
	{"assent/internal/always", "assent/internal/server", "nothing imports server"},
	{"assent/internal/always", "assent/broker", "it makes rules of requests, and holds none"},
	{"assent/internal/always", "assent/internal/stream", "it knows a KV, not NATS"},
	{"assent/internal/rulebook", "assent/internal/always", "it takes saved rules as sources"},
	{"assent/internal/show", "assent/...", "foreign text is made safe on the ground floor"},
	{"assent/internal/shell", "assent/...", "commands are read on the ground floor"},
	{"assent/internal/shell", "os/exec", "reading a command starts nothing"},
	{"assent/internal/shell", "net/http", "reading a command needs nothing but the text"},
	{"assent/internal/ondisk", "assent/internal/server", "it looks at files, and knows no request"},
	{"assent/internal/ondisk", "os/exec", "a look starts nothing"},
	{"assent/internal/peercred", "assent/...", "it asks the kernel, and nobody else"},
	{"assent/internal/process", "assent/...", "processes are named on the ground floor"},
	{"assent/internal/gitrepo", "os/exec", "the repository is read without running git"},
	{"assent/internal/server", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/server", "assent/internal/stream", "serve wires them with function values"},
	{"assent/internal/auth", "assent/internal/server", "nothing imports server"},
	{"assent/internal/auth", "assent/internal/stream", "credentials know a KV, not NATS"},
	{"assent/internal/stream", "assent/internal/server", "nothing imports server"},
	{"assent/internal/stream", "github.com/gorilla/...", "gorilla lives in server"},
	{"assent/internal/rules", "assent/broker", "rules are asked; they know nobody who waits"},
	{"assent/internal/rules", "assent/internal/server", "nothing imports server"},
	{"assent/internal/rules", "assent/internal/codec", "a call comes in words that are no agent's own"},
	{"assent/internal/rules", "assent/schemas", "schemas are for tests and for readers"},
	{"assent/internal/rules", "net/http", "rules know no protocol"},
	{"assent/internal/rules", "os/exec", "nothing is run to find out what would run"},
	{"assent/internal/install", "assent/...", "it knows the agent's settings, and nothing of the broker"},
	{"assent/internal/install", "net/http", "what it needs is on this machine"},
	{"assent/internal/report", "assent/...", "a report is written from what it is given"},
	{"assent/internal/relay", "assent/broker", "it stands before a broker, and is none"},
	{"assent/internal/relay", "assent/internal/server", "nothing imports server"},
	{"assent/internal/relay", "assent/internal/always", "rules are proposed by a function that is handed in"},
	{"assent/internal/mcp", "assent/...", "it turns a question into a payload and an answer into words; whom to ask is handed in"},
	{"assent/internal/server", "github.com/modelcontextprotocol/...", "MCP lives in mcp"},
	{"assent/cmd/assent", "github.com/hanwen/...", "a file system that forgets is for tests"},
	{"assent/cmd/assent", "testing", "helpers of tests stay out of the programs"},
	{"assent/hookclient", "assent/broker", "the client knows the wire only"},
}

func TestFloorPlan(t *testing.T) {
	deps := map[string][]string{}
	for _, rule := range forbidden {
		if deps[rule.from] == nil {
			out, err := exec.Command("go", "list", "-deps", rule.from).Output()
			if err != nil {
				t.Fatalf("go list -deps %s: %v", rule.from, err)
			}
			deps[rule.from] = strings.Fields(string(out))
		}
		if i := slices.IndexFunc(deps[rule.from], func(dep string) bool {
			if dep == rule.from {
				return false
			}
			if prefix, below := strings.CutSuffix(rule.to, "..."); below {
				return strings.HasPrefix(dep, prefix)
			}
			return dep == rule.to
		}); i >= 0 {
			t.Errorf("%s imports %s: %s", rule.from, deps[rule.from][i], rule.why)
		}
	}
}

// TestShellParserLivesInShell: whoever else parsed shell text would trust a tree that is not what
// bash runs.
func TestShellParserLivesInShell(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}: {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "assent/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := false
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(line, ": ")
		if strings.Contains(imports, "mvdan.cc/sh/") {
			if pkg != "assent/internal/shell" {
				t.Errorf("%s imports mvdan.cc/sh: only internal/shell may", pkg)
			}
			found = true
		}
	}
	if !found {
		t.Error("internal/shell does not import mvdan.cc/sh: this test says nothing")
	}
}
