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
	{"assent/broker", "assent/internal/agent/claude", "the broker knows no agent's JSON"},
	{"assent/internal/agent/claude", "github.com/...", "third parties live at the edge"},
	{"assent/internal/agent/claude", "assent/broker", "arrows point down"},
	{"assent/internal/feed", "assent/internal/agent/claude", "the feed knows no agent's JSON"},
	{"assent/internal/feed", "assent/internal/store/stream", "the feed is a pure fold"},
	{"assent/internal/feed", "assent/internal/server", "nothing imports server"},
	{"assent/internal/feed", "assent/broker", "the feed knows events and records, not who keeps them"},
	{"assent/internal/feed", "assent/schemas", "schemas are for tests and for readers"},
	{"assent/internal/feed", "github.com/...", "plain Go"},
	{"assent/internal/feed", "go.uber.org/...", "plain Go; the fold has nothing to log"},
	{"assent/internal/feed", "net/http", "the feed knows no protocol"},
	{"assent/internal/feed", "os/exec", "the feed is a pure fold"},
	{"assent/internal/feed", "math/rand", "a replay gives the same bytes"},
	{"assent/internal/store/history", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/store/history", "assent/internal/server", "nothing imports server"},
	{"assent/internal/store/history", "assent/internal/agent/claude", "payloads are read by a function that is handed in"},
	{"assent/internal/store/history", "assent/broker", "history knows events and records, not who keeps them"},
	{"assent/internal/store/history", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/store/history", "go.uber.org/...", "logging is handed in"},
	{"assent/internal/agent/conformance", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/agent/conformance", "assent/internal/server", "nothing imports server"},
	{"assent/internal/agent/conformance", "assent/internal/agent/claude", "it looks at bytes, as they came"},
	{"assent/internal/agent/conformance", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/outlet/rabbit", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/outlet/rabbit", "assent/internal/server", "nothing imports server"},
	{"assent/internal/outlet/rabbit", "assent/internal/agent/claude", "payloads are read by a function that is handed in"},
	{"assent/internal/outlet/rabbit", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/outlet/rabbit", "assent/internal/store/history", "neither needs the other"},
	{"assent/internal/outlet/rabbit", "modernc.org/...", "SQLite lives in history"},
	{"assent/internal/outlet/rabbit", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/outlet/ledger", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/outlet/ledger", "assent/internal/server", "nothing imports server"},
	{"assent/internal/outlet/ledger", "assent/internal/outlet/rabbit", "neither needs the other"},
	{"assent/internal/outlet/ledger", "assent/internal/store/history", "neither needs the other"},
	{"assent/internal/outlet/ledger", "assent/internal/agent/claude", "payloads are read by a function that is handed in"},
	{"assent/internal/outlet/ledger", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/outlet/ledger", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/outlet/ledger", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/outlet/hookd", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/outlet/hookd", "assent/internal/server", "nothing imports server"},
	{"assent/internal/outlet/hookd", "assent/internal/outlet/rabbit", "neither needs the other"},
	{"assent/internal/outlet/hookd", "assent/internal/outlet/ledger", "neither needs the other"},
	{"assent/internal/outlet/hookd", "assent/broker", "it knows events, not who keeps them"},
	{"assent/internal/outlet/hookd", "os/exec", "the repository is read without running git"},
	{"assent/internal/outlet/rabbit", "assent/internal/outlet/ledger", "neither needs the other"},
	{"assent/internal/store/integrity", "assent/...", "it knows files and hashes, not what stands in them"},
	{"assent/internal/store/integrity", "github.com/nats-io/nats-server/...", "it reads what the server wrote, without it"},
	{"assent/internal/store/stream", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/server", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/store/history", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"assent/internal/server", "modernc.org/...", "SQLite lives in history"},
	{"assent/internal/store/stream", "modernc.org/...", "SQLite lives in history"},
	{"assent/broker", "modernc.org/...", "SQLite lives in history"},
	{"assent/cmd/assent-hook", "modernc.org/...", "it runs several times per tool call"},
	{"assent/internal/server", "assent/internal/policy", "serve wires them with function values"},
	{"assent/internal/server", "assent/internal/policy/files", "serve wires them with function values"},
	{"assent/broker", "assent/internal/policy", "the broker knows verdicts, not rules"},
	{"assent/internal/policy", "assent/internal/policy/files", "a set of rules does not know its files"},
	{"assent/internal/policy/files", "assent/internal/server", "nothing imports server"},
	{"assent/internal/policy/files", "assent/broker", "it judges requests, and holds none"},
	{"assent/internal/policy/files", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/server", "assent/internal/policy/grants", "serve wires them with an interface of the server's"},
	{"assent/internal/policy/grants", "assent/internal/server", "nothing imports server"},
	{"assent/internal/policy/grants", "assent/broker", "it keeps rules, and holds no request"},
	{"assent/internal/policy/grants", "assent/internal/policy/files", "it keeps rules, and does not ask which others are in force"},
	{"assent/internal/policy/suggest", "assent/internal/server", "nothing imports server"},
	{"assent/internal/policy/suggest", "assent/broker", "it makes rules of requests, and holds none"},
	{"assent/internal/policy/suggest", "assent/internal/store/stream", "the past is read by a function that is handed in"},
	{"assent/internal/policy/suggest", "assent/internal/agent/claude", "a call comes in words that are no agent's own"},
	{"assent/internal/server", "assent/internal/policy/suggest", "serve wires them with an interface of the server's"},
	{"assent/internal/policy/grants", "assent/internal/store/stream", "it knows a KV, not NATS"},
	{"assent/internal/policy/files", "assent/internal/policy/grants", "it takes saved rules as sources"},
	{"assent/internal/policy/replay", "assent/internal/policy/files", "which files count is said by a function that is handed in"},
	{"assent/internal/policy/replay", "net/http", "past requests are handed in"},
	{"assent/internal/policy/replay", "os/exec", "nothing is run to find out what would run"},
	{"assent/internal/policy/importer", "assent/internal/policy/files", "it makes a file of rules, and does not know which are in force"},
	{"assent/internal/policy/importer", "assent/broker", "it reads a file and writes one"},
	{"assent/internal/policy/importer", "net/http", "what it needs is on this machine"},
	{"assent/internal/policy/batch", "assent/internal/policy/files", "which rules are asked is handed in"},
	{"assent/internal/policy/batch", "net/http", "calls come as lines"},
	{"assent/internal/policy/batch", "os/exec", "nothing is run to find out what would run"},
	{"assent/internal/text/show", "assent/...", "foreign text is made safe on the ground floor"},
	{"assent/internal/text/layout", "net/http", "it lays out text, and needs nothing but that"},
	{"assent/internal/policy/shell", "assent/...", "commands are read on the ground floor"},
	{"assent/internal/policy/shell", "os/exec", "reading a command starts nothing"},
	{"assent/internal/policy/shell", "net/http", "reading a command needs nothing but the text"},
	{"assent/internal/host/ondisk", "assent/internal/server", "it looks at files, and knows no request"},
	{"assent/internal/host/ondisk", "os/exec", "a look starts nothing"},
	{"assent/internal/host/peercred", "assent/...", "it asks the kernel, and nobody else"},
	{"assent/internal/host/process", "assent/...", "processes are named on the ground floor"},
	{"assent/internal/host/gitrepo", "os/exec", "the repository is read without running git"},
	{"assent/internal/server", "github.com/nats-io/...", "NATS lives in stream"},
	{"assent/internal/server", "assent/internal/store/stream", "serve wires them with function values"},
	{"assent/internal/auth", "assent/internal/server", "nothing imports server"},
	{"assent/internal/auth", "assent/internal/store/stream", "credentials know a KV, not NATS"},
	{"assent/internal/store/stream", "assent/internal/server", "nothing imports server"},
	{"assent/internal/store/stream", "github.com/gorilla/...", "gorilla lives in server"},
	{"assent/internal/policy", "assent/broker", "rules are asked; they know nobody who waits"},
	{"assent/internal/policy", "assent/internal/server", "nothing imports server"},
	{"assent/internal/policy", "assent/internal/agent/claude", "a call comes in words that are no agent's own"},
	{"assent/internal/policy", "assent/schemas", "schemas are for tests and for readers"},
	{"assent/internal/policy", "net/http", "rules know no protocol"},
	{"assent/internal/policy", "os/exec", "nothing is run to find out what would run"},
	{"assent/internal/agent/claude/install", "assent/...", "it knows the agent's settings, and nothing of the broker"},
	{"assent/internal/agent/claude/install", "net/http", "what it needs is on this machine"},
	{"assent/internal/ci/report", "assent/...", "a report is written from what it is given"},
	{"assent/internal/ci", "assent/broker", "it stands before a broker, and is none"},
	{"assent/internal/ci", "assent/internal/server", "nothing imports server"},
	{"assent/internal/ci", "assent/internal/policy/suggest", "rules are proposed by a function that is handed in"},
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
			if pkg != "assent/internal/policy/shell" {
				t.Errorf("%s imports mvdan.cc/sh: only internal/policy/shell may", pkg)
			}
			found = true
		}
	}
	if !found {
		t.Error("internal/policy/shell does not import mvdan.cc/sh: this test says nothing")
	}
}
