package internal_test

// The floor plan: which package may import which, directly. What is not in a row may not be
// imported, and a package without a row may not be there. The picture in docs/architecture.md is
// made of these rows:
//
//	go test ./internal -run FloorPlan -update
//
// Programs and helpers of tests have no row and nobody may import them: docs, e2e, internal/tool and
// packages whose names end in "test".
var plan = []struct {
	name string
	may  string // of this module, separated by white space
	why  string // it may import no more; "" where nothing needs saying
}{
	{"cmd/assent", `
		broker
		hookclient
		internal/agent/acp
		internal/agent/acp/proxy
		internal/agent/agents
		internal/agent/claude
		internal/agent/claude/describe
		internal/agent/claude/install
		internal/agent/claude/tools
		internal/agent/conformance
		internal/agent/tool
		internal/api
		internal/audit
		internal/audit/backup
		internal/auth
		internal/auth/devicekey
		internal/auth/signed
		internal/auth/strict
		internal/ci
		internal/ci/report
		internal/feed
		internal/fleet
		internal/halt
		internal/hook
		internal/host/contain
		internal/host/executor
		internal/host/gitrepo
		internal/host/hooksocket
		internal/host/hostlink
		internal/host/inbox
		internal/host/optin
		internal/host/process
		internal/host/regular
		internal/host/transcript
		internal/host/wholefile
		internal/mcp
		internal/metrics
		internal/outlet/hookd
		internal/outlet/ledger
		internal/outlet/notify
		internal/outlet/rabbit
		internal/policy
		internal/intake
		internal/machines
		internal/policy/batch
		internal/policy/checked
		internal/policy/contain
		internal/policy/contained
		internal/policy/effects
		internal/policy/explained
		internal/policy/files
		internal/policy/grants
		internal/policy/published
		internal/policy/importer
		internal/policy/replay
		internal/policy/signing
		internal/policy/suggest
		internal/relay
		internal/relay/certificate
		internal/relay/tunnel
		internal/relay/uplink
		internal/reqcontext
		internal/screens
		internal/server
		internal/setup/doctor
		internal/setup/hookconf
		internal/setup/installer
		internal/setup/joined
		internal/setup/phone
		internal/setup/programs
		internal/setup/sample
		internal/setup/service
		internal/setup/statedir
		internal/setup/update
		internal/store/follow
		internal/store/forgotten
		internal/store/history
		internal/store/integrity
		internal/store/lease
		internal/store/presence
		internal/store/reader
		internal/store/stream
		internal/store/tree
		internal/terminal
		internal/terminal/eventlines
		internal/text/digest
		internal/text/layout
		internal/text/roff
		internal/text/show
		internal/text/strictjson
		internal/torture
		web`, "it wires the others, which do not know each other"},
	{"cmd/assent-contain", "internal/host/contain", "it runs for each contained command"},
	{"cmd/assent-hook", "hookclient", "it runs several times per tool call"},
	{"cmd/assent-hook-strict", "hookclient internal/auth/strict internal/hook", "it runs several times per tool call"},

	{"broker", "internal/hook", "it knows a Log and verdicts, no store, no protocol, no rules and no agent's JSON"},
	{"hookclient", "internal/hook internal/host/gitrepo internal/host/peercred internal/host/process internal/host/regular", "it knows the wire only"},
	{"schemas", "", "schemas are for tests and for readers"},
	{"web", "", ""},

	{"internal/agent", "internal/agent/tool internal/hook internal/text/show", "it says what an agent is, and knows none"},
	{"internal/agent/acp", "internal/agent internal/agent/claude internal/agent/claude/tools internal/agent/copilot internal/agent/dialect internal/agent/opencode internal/agent/qwen internal/hook internal/text/show internal/text/strictjson", "it reads lines, and knows neither who carries them nor who is asked"},
	{"internal/agent/acp/proxy", "internal/agent/acp", "it carries lines; whom to ask is handed in"},
	{"internal/agent/agents", "internal/agent internal/agent/acp internal/agent/claude internal/agent/codex internal/agent/copilot internal/agent/droid internal/agent/opencode internal/agent/qwen internal/hook internal/text/show", "it is the list of agents"},
	{"internal/agent/claude", "internal/agent internal/agent/claude/describe internal/agent/claude/events internal/agent/claude/tools internal/agent/tool internal/hook internal/host/regular internal/text/digest internal/text/show internal/text/strictjson", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/claude/describe", "internal/agent/claude/tools internal/agent/tool internal/hook internal/text/show internal/text/strictjson", ""},
	{"internal/agent/claude/events", "", "data only"},
	{"internal/agent/claude/install", "internal/agent/claude/events internal/host/regular internal/host/said internal/host/wholefile internal/text/digest", "it knows the agent's settings, and nothing of the broker"},
	{"internal/agent/claude/streamjson", "internal/agent/claude/tools internal/text/strictjson", "it reads and writes lines, and starts nothing"},
	{"internal/agent/claude/tools", "internal/agent/tool internal/text/show", ""},
	{"internal/agent/codex", "internal/agent internal/agent/dialect internal/hook", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/codex/hooklist", "", "it asks a program"},
	{"internal/agent/codex/install", "internal/agent/claude/install internal/agent/codex internal/text/strictjson", "it knows the agent's settings, and nothing of the broker"},
	{"internal/agent/codex/patch", "internal/text/show", "it reads a text, and tells people of it"},
	{"internal/agent/codex/tools", "internal/agent/tool internal/text/show", "data only"},
	{"internal/agent/dialect", "internal/agent internal/agent/claude internal/agent/claude/tools internal/agent/codex/patch internal/agent/tool internal/agent/toolset internal/hook internal/text/digest internal/text/show internal/text/strictjson", "it renames, and knows no agent but the one whose words it renames to, and the patches of another"},
	{"internal/agent/copilot", "internal/agent internal/agent/claude/tools internal/agent/dialect internal/hook internal/text/strictjson", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/copilot/install", "internal/agent/claude/install internal/agent/copilot internal/hook", "it writes one file"},
	{"internal/agent/droid", "internal/agent internal/agent/claude/tools internal/agent/codex/tools internal/agent/dialect internal/agent/tool internal/hook internal/text/strictjson", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/droid/install", "internal/agent/claude/install internal/agent/droid internal/hook internal/host/regular internal/text/strictjson", "it knows the agent's settings, and nothing of the broker"},
	{"internal/agent/opencode", "internal/agent internal/agent/claude/tools internal/agent/dialect internal/hook internal/text/strictjson", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/opencode/install", "internal/agent/claude/install internal/agent/opencode", "it writes one file"},
	{"internal/agent/qwen", "internal/agent internal/agent/claude/tools internal/agent/dialect internal/hook", "an agent's JSON is read without knowing who asks"},
	{"internal/agent/qwen/install", "internal/agent/claude/install internal/agent/qwen", "it knows the agent's settings, and nothing of the broker"},
	{"internal/agent/toolset", "internal/agent/claude/tools internal/agent/codex/tools internal/agent/tool", "data only"},
	{"internal/agent/conformance", "internal/hook internal/text/show schemas", "it looks at bytes, as they came"},

	{"internal/agent/tool", "", ""},

	{"internal/api", "internal/auth internal/feed internal/hook internal/text/show", "the words of the API, not who says them"},

	{"internal/audit", "internal/agent/claude/describe internal/api internal/auth internal/auth/signed internal/hook internal/store/tree internal/text/show", "it reads what the API says, whoever asks the broker"},
	{"internal/audit/backup", "internal/audit internal/store/stream internal/store/tree internal/text/show", "it reads what a broker left behind, and asks none"},

	{"internal/auth", "internal/auth/passkey internal/auth/signed internal/hook internal/host/regular internal/host/wholefile internal/store/kvmirror internal/store/retry internal/text/show", "credentials know a KV, not NATS"},
	{"internal/auth/devicekey", "internal/hook internal/host/regular", "it keeps one key, and knows no broker"},
	{"internal/auth/passkey", "internal/hook", "it checks one proof over one text, and keeps nothing"},
	{"internal/auth/signed", "internal/hook internal/text/digest", "a signature is checked without knowing whose device it is, and by programs that are no broker"},
	{"internal/auth/strict", "hookclient internal/agent/claude internal/auth/signed internal/hook internal/host/regular internal/host/wholefile internal/policy internal/setup/programs internal/text/show internal/text/strictjson", "it believes no broker, and so knows none but what the hook client hands on"},

	{"internal/ci", "hookclient internal/agent internal/agent/agents internal/agent/claude/install internal/agent/codex internal/agent/codex/hooklist internal/agent/codex/install internal/agent/copilot internal/agent/copilot/install internal/ci/report internal/hook internal/host/regular internal/text/show internal/text/strictjson", "it stands before a broker, and is none"},
	{"internal/ci/report", "internal/host/wholefile", "a report is written from what it is given"},

	{"internal/feed", "internal/agent/claude/describe internal/agent/claude/tools internal/agent/tool internal/agent/toolset internal/hook internal/policy/contained internal/text/digest internal/text/show", "it is a pure fold of events and records, whoever keeps them and in whatever JSON they came"},

	{"internal/fleet", "internal/agent/claude internal/agent/claude/streamjson internal/api internal/auth internal/hook internal/host/transcript internal/store/kvmirror internal/store/retry internal/text/digest internal/text/show", "it hands messages over, and knows a KV and a line to a session, no HTTP and no sockets"},

	{"internal/halt", "internal/hook internal/store/kvmirror", "it keeps whether everything is stopped, and knows a KV, no rules and no requests"},

	{"internal/hook", "", "the ground floor stands on nothing"},

	{"internal/host/contain", "internal/policy/secrets", "it asks the kernel; which command to contain, others know"},
	{"internal/host/executor", "internal/agent/claude/install internal/agent/claude/streamjson internal/api internal/hook internal/host/gitdiff internal/host/gitrepo internal/host/inbox internal/host/optin internal/host/process internal/host/pullrequest internal/host/regular internal/host/said internal/host/wholefile", "it runs programs; who sent a message, and whether to believe it, others know"},
	{"internal/host/gitdiff", "internal/api internal/host/gitrepo", "it runs git, and knows no session"},
	{"internal/host/gitrepo", "internal/hook internal/host/regular", ""},
	{"internal/host/hostlink", "internal/api internal/auth internal/hook internal/host/executor internal/store/retry", "it carries orders and receipts, and starts nothing"},
	{"internal/host/hooksocket", "internal/setup/statedir", "it listens; what is said, others know"},
	{"internal/host/inbox", "internal/host/peercred internal/host/process internal/host/regular", "it knows a socket and who listens there; what is said to it, others know"},
	{"internal/host/ondisk", "internal/hook internal/host/regular", "it looks at files, and knows no request"},
	{"internal/host/optin", "internal/agent/claude/install internal/hook internal/host/gitrepo internal/host/regular internal/host/said internal/host/wholefile internal/text/show internal/text/strictyaml", "it says what may be started here, and starts nothing"},
	{"internal/host/peercred", "", "it asks the kernel, and nobody else"},
	{"internal/host/process", "", ""},
	{"internal/host/regular", "", "it opens files; what they say, others know"},
	{"internal/host/said", "", "it keeps bytes; who prints them, others know"},
	{"internal/host/transcript", "internal/agent/claude internal/agent/claude/streamjson internal/hook internal/host/regular", "it reads what the client wrote down; what follows from it, others know"},
	{"internal/host/wholefile", "", "it replaces files; what they say, others know"},
	{"internal/host/pullrequest", "internal/api internal/host/optin internal/host/said internal/text/strictjson", "it reads what a command printed, or a tool answered, and asks gh; which session that is of, others know"},

	{"internal/intake", "broker internal/agent internal/agent/agents internal/agent/claude/describe internal/agent/claude/tools internal/agent/tool internal/auth/signed internal/hook internal/host/ondisk internal/policy/contained internal/reqcontext internal/text/digest internal/text/show", "an event's journey knows no protocol; rules, grants and the stream are handed in"},

	{"internal/machines", "internal/hook", "it counts what it is told, and keeps nothing"},

	{"internal/mcp", "internal/text/strictjson", "it turns a question into a payload and an answer into words; whom to ask is handed in"},

	{"internal/metrics", "broker hookclient internal/auth internal/hook internal/reqcontext internal/store/stream", "it counts what others do, and does nothing"},

	{"internal/outlet/hookd", "internal/agent/agents internal/agent/claude internal/hook internal/host/gitrepo internal/text/show", "it knows events, not who keeps them; no outlet needs another"},
	{"internal/outlet/ledger", "internal/hook internal/host/gitrepo internal/host/regular internal/host/wholefile internal/store/follow internal/store/retry internal/text/show", "payloads are read by a function that is handed in; no outlet needs another"},
	{"internal/outlet/notify", "broker internal/feed internal/hook internal/host/regular internal/host/said internal/store/kvmirror internal/text/show", ""},
	{"internal/outlet/rabbit", "internal/hook internal/store/follow internal/text/show", "payloads are read by a function that is handed in; no outlet needs another"},

	{"internal/policy", "internal/agent/claude/tools internal/agent/codex/patch internal/agent/tool internal/agent/toolset internal/hook internal/policy/secrets internal/policy/shell internal/text/strictjson internal/text/strictyaml", "a set of rules is asked; it knows neither its files nor who waits, and of an agent it reads the table of tools, no JSON"},
	{"internal/policy/batch", "internal/agent/claude/tools internal/hook internal/policy internal/text/show internal/text/strictjson", ""},
	{"internal/policy/checked", "internal/auth/signed internal/policy internal/policy/files internal/policy/importer", "it tells who writes rules, and answers nobody"},
	{"internal/policy/contain", "internal/agent/agents internal/agent/claude internal/hook internal/policy/contained internal/store/kvmirror internal/text/show", "it says what runs contained; which commands may, the rules say"},
	{"internal/policy/contained", "internal/text/strictjson", "it writes a command line, and knows nobody who runs it"},
	{"internal/policy/effects", "internal/agent/claude/describe internal/agent/claude/tools internal/agent/codex/patch internal/agent/tool internal/agent/toolset internal/hook internal/policy internal/policy/memo internal/policy/shell internal/text/show", "it informs people: no rule may ask it"},
	{"internal/policy/explained", "internal/hook internal/policy", "it writes down what it is given"},
	{"internal/policy/files", "internal/agent/claude/describe internal/agent/claude/tools internal/agent/tool internal/auth/signed internal/hook internal/host/regular internal/policy internal/policy/memo internal/policy/shell internal/text/show", "it judges requests, and holds none; saved rules are handed in"},
	{"internal/policy/published", "internal/hook internal/policy internal/store/kvmirror", "it keeps what is published, and knows a KV, not NATS"},
	{"internal/policy/grants", "internal/hook internal/host/wholefile internal/policy internal/store/kvmirror internal/text/show", "it keeps what approvers saved, and knows a KV, not NATS"},
	{"internal/policy/importer", "internal/agent/claude/tools internal/agent/tool internal/hook internal/host/regular internal/policy internal/policy/shell internal/text/layout internal/text/show internal/text/strictjson", ""},
	{"internal/policy/memo", "", "it knows nothing of what it remembers"},
	{"internal/policy/replay", "internal/agent/claude/tools internal/hook internal/policy", ""},
	{"internal/policy/secrets", "", "a list of names, that programs have without reading it"},
	{"internal/policy/shell", "", "reading a command needs nothing but the text"},
	{"internal/policy/signing", "internal/auth/devicekey internal/auth/signed internal/hook internal/host/regular internal/policy internal/text/show", "it signs what a person names, and asks no broker"},
	{"internal/policy/suggest", `
		internal/agent/agents
		internal/agent/claude/tools
		internal/agent/tool
		internal/hook
		internal/policy
		internal/policy/files
		internal/policy/grants
		internal/policy/shell
		internal/text/digest
		internal/text/show`, "it makes rules of requests, and holds none"},

	{"internal/relay", "internal/host/regular internal/host/wholefile internal/relay/certificate internal/relay/tunnel", "it passes bytes on, and knows nothing of what a broker is"},
	{"internal/relay/certificate", "", "it keeps a certificate, whoever serves with it"},
	{"internal/relay/tunnel", "internal/text/digest", "it is what both ends have in common"},
	{"internal/relay/uplink", "internal/host/regular internal/host/wholefile internal/relay/certificate internal/relay/tunnel", "it brings connections, and knows nobody who serves them"},

	{"internal/reqcontext", "broker internal/hook", "what it holds goes nowhere but into answers: it knows no store, no stream and no log"},

	{"internal/screens", "broker internal/hook", "it writes down who looked, and knows no answer"},

	{"internal/server", `
		broker
		internal/agent/agents
		internal/agent/claude/describe
		internal/agent/conformance
		internal/api
		internal/audit
		internal/auth
		internal/auth/passkey
		internal/auth/signed
		internal/feed
		internal/fleet
		internal/halt
		internal/hook
		internal/host/peercred
		internal/host/process
		internal/intake
		internal/machines
		internal/outlet/notify
		internal/policy/grants
		internal/policy/published
		internal/policy/suggest
		internal/reqcontext
		internal/store/history
		internal/store/tree
		internal/text/digest
		internal/text/show
		internal/text/strictjson
		schemas`, "history and grants are called without a translation between: the binary has SQLite anyway, and a second set of types and errors cost more than the arrow; rules and the stream are handed in"},

	{"internal/setup/doctor", "hookclient internal/agent/claude/install internal/agent/agents internal/agent/codex internal/agent/codex/hooklist internal/agent/codex/install internal/agent/copilot internal/agent/copilot/install internal/agent/droid internal/agent/droid/install internal/agent/conformance internal/auth/signed internal/hook internal/host/contain internal/host/regular internal/outlet/notify internal/setup/installer internal/setup/phone internal/setup/service internal/text/show internal/text/strictjson internal/machines", ""},
	{"internal/setup/hookconf", "internal/host/regular internal/host/wholefile", "it edits one file of lines"},
	{"internal/setup/installer", "internal/agent/agents internal/agent/claude/install internal/agent/codex/install internal/agent/copilot/install internal/agent/droid/install internal/agent/opencode/install internal/agent/qwen/install internal/hook", "it is the list of what can be installed for; who asks a person, others know"},
	{"internal/setup/joined", "internal/api internal/host/regular internal/host/wholefile internal/setup/hookconf internal/setup/statedir", "it remembers a broker, and asks none"},
	{"internal/setup/phone", "internal/host/regular internal/host/said internal/host/wholefile", "it knows neither the broker nor a terminal"},
	{"internal/setup/programs", "", "it knows files and their names"},
	{"internal/setup/sample", "hookclient internal/agent/claude internal/hook", "it asks as an agent does; who answers, others know"},
	{"internal/setup/service", "", "it knows service managers, and of the broker only whether it answers"},
	{"internal/setup/statedir", "internal/host/regular internal/host/wholefile internal/text/digest", "it knows files, and not what stands in them"},
	{"internal/setup/update", "internal/host/wholefile internal/setup/programs", "it knows files and signatures, and no broker"},

	{"internal/store/entry", "", "it is one message as it is hashed"},
	{"internal/store/follow", "", "it compares, and knows neither streams nor who keeps a cursor"},
	{"internal/store/history", "internal/feed internal/hook internal/store/follow internal/text/show", "it knows events and records, not who keeps them; payloads are read by a function that is handed in"},
	{"internal/store/integrity", "internal/host/wholefile internal/store/entry", "it knows files and hashes, not what stands in them"},
	{"internal/store/kvmirror", "internal/store/retry", ""},
	{"internal/store/forgotten", "internal/host/regular internal/host/wholefile internal/store/kvmirror internal/text/digest", "it keeps orders, and forgets nothing itself"},
	{"internal/store/presence", "internal/store/kvmirror", "it knows keys of a KV, and no request"},
	{"internal/store/lease", "", "it knows one key of a KV, and not what is leased"},
	{"internal/store/reader", "internal/hook internal/store/stream", ""},
	{"internal/store/retry", "", "it waits; what is tried, others know"},
	{"internal/store/stream", "broker internal/hook internal/host/regular internal/host/wholefile internal/store/follow internal/store/integrity internal/store/kvmirror internal/store/tree internal/text/digest internal/text/show", ""},
	{"internal/store/tree", "internal/hook internal/host/wholefile internal/store/entry internal/store/follow", "it knows entries and blocks, not who keeps them"},

	{"internal/terminal", "internal/agent/claude/tools internal/agent/tool internal/api internal/feed internal/hook internal/host/regular internal/host/wholefile internal/text/layout internal/text/show", "it shows what the API says; whoever asks the broker is handed in"},
	{"internal/terminal/eventlines", "internal/agent/agents internal/hook internal/store/reader internal/terminal internal/text/layout internal/text/show", "it prints what it is given; who reads the stream, others know"},

	{"internal/freeport", "", ""},
	{"internal/text/digest", "", ""},
	{"internal/text/layout", "internal/text/show", ""},
	{"internal/text/roff", "", ""},
	{"internal/text/show", "", "foreign text is made safe on the ground floor"},
	{"internal/text/strictjson", "", "there is one way to take a JSON object apart"},
	{"internal/text/strictyaml", "", "it reads a text, and means no more by it than it shows"},

	{"internal/torture/baddisk", "", ""},
	{"internal/torture", "hookclient internal/agent/claude/tools internal/api internal/freeport internal/hook internal/torture/baddisk", "it knows brokers as everybody does: as programs with an API"},
}

// modules says which packages may import one of another module, directly. It is the beginning of an
// import path.
var modules = []struct {
	path string
	may  string
	why  string
}{
	{"aead.dev/minisign", "internal/setup/update", ""},
	{"charm.land/bubbletea", "internal/terminal", ""},
	{"github.com/BurntSushi/toml", "internal/policy/importer", "policies of other agents"},
	{"github.com/SherClockHolmes/webpush-go", "internal/outlet/notify", ""},
	{"github.com/anishathalye/porcupine", "internal/torture", "it checks histories"},
	{"github.com/aymanbagabas/go-udiff", "internal/terminal", ""},
	{"github.com/charmbracelet/colorprofile", "internal/terminal", ""},
	{"github.com/charmbracelet/x/ansi", "internal/terminal", ""},
	{"github.com/go-chi/chi", "internal/server", ""},
	{"github.com/go-json-experiment/json", "internal/text/strictjson", "everybody else asks for members, and compares keys in one way"},
	{"github.com/go-webauthn/webauthn", "internal/auth/passkey", "the one place that reads what authenticators say"},
	{"github.com/gofrs/flock", "internal/agent/claude/install internal/host/executor internal/store/reader internal/store/stream internal/setup/update", ""},
	{"github.com/google/uuid", "broker cmd/assent internal/auth internal/ci internal/fleet internal/host/executor internal/outlet/hookd internal/outlet/notify internal/screens internal/server internal/setup/phone internal/setup/sample internal/store/stream", ""},
	{"github.com/gorilla/websocket", "internal/api internal/host/hostlink internal/relay/tunnel internal/server", ""},
	{"github.com/hashicorp/yamux", "internal/relay/tunnel", "whoever else has a stream has a connection"},
	{"github.com/kardianos/service", "internal/setup/service", ""},
	{"github.com/klauspost/compress", "internal/store/history", ""},
	{"github.com/mdp/qrterminal", "cmd/assent", ""},
	{"github.com/minio/highwayhash", "internal/store/integrity", "it checks what the server wrote, without the server"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/mcp", ""},
	{"github.com/nats-io/nats-server", "internal/store/stream internal/torture", "everybody else knows a Log or a KV"},
	{"github.com/nats-io/nats.go", "internal/store/integrity internal/store/reader internal/store/stream internal/torture", "everybody else knows a Log or a KV"},
	{"github.com/nicholas-fedor/shoutrrr", "internal/outlet/notify", ""},
	{"github.com/prometheus/client_golang", "cmd/assent internal/agent/conformance internal/metrics internal/outlet/hookd internal/outlet/notify internal/outlet/rabbit internal/server", ""},
	{"github.com/rabbitmq/amqp091-go", "internal/outlet/rabbit", ""},
	{"github.com/rogpeppe/go-internal", "internal/agent/claude/install", ""},
	{"github.com/santhosh-tekuri/jsonschema", "schemas", ""},
	{"github.com/spf13/cobra", "cmd/assent", ""},
	{"github.com/spf13/pflag", "cmd/assent", ""},
	{"github.com/tailscale/hujson", "internal/agent/claude/install internal/policy/importer", ""},
	{"go.starlark.net", "internal/policy/importer", "rules of another agent are parsed, never run"},
	{"go.uber.org/zap", "cmd/assent internal/server", "logging is handed in"},
	{"go.yaml.in/yaml", "internal/host/optin internal/outlet/notify internal/policy internal/policy/suggest internal/text/strictyaml", ""},
	{"golang.org/x/crypto", "internal/relay/certificate", ""},
	{"golang.org/x/mod", "internal/audit internal/setup/doctor internal/setup/update internal/store/tree", ""},
	{"golang.org/x/sync", "internal/outlet/hookd", ""},
	{"golang.org/x/sys", "internal/agent/claude/install internal/host/contain internal/host/executor internal/policy internal/setup/doctor", ""},
	{"golang.org/x/term", "cmd/assent internal/terminal", ""},
	{"golang.org/x/time", "internal/relay internal/relay/tunnel internal/server", ""},
	{"modernc.org/sqlite", "internal/outlet/ledger internal/store/history", ""},
	{"mvdan.cc/sh", "internal/policy/shell", "whoever else parsed shell text would trust a tree that is not what bash runs"},
	{"rsc.io/qr", "internal/server", ""},
}

// jsonReader is below internal/text/strictjson, and so below whoever takes an object apart. It reads
// bytes, and imports nothing but the standard library.
const jsonReader = "github.com/go-json-experiment/json/"

// forbidden lists what a package may not import even through others, jsonReader excepted. A path that
// ends in /... stands for everything below.
var forbidden = []struct{ from, to, why string }{
	{"internal/hook", "encoding/json", "the hook client imports it and must start quickly"},
	{"internal/hook", "fmt", "the hook client imports it and must start quickly"},
	{"cmd/assent-hook", "encoding/json", "it runs several times per tool call"},
	{"cmd/assent-hook", "net/http", "it runs several times per tool call"},
	{"cmd/assent-hook", "crypto/tls", "it runs several times per tool call"},
	{"cmd/assent-hook", "flag", "it runs several times per tool call"},
	{"cmd/assent-hook", "fmt", "it runs several times per tool call"},
	{"cmd/assent-hook", "github.com/...", "standard library only"},
	{"cmd/assent-hook", "golang.org/...", "standard library only"},
	{"cmd/assent-hook", "modernc.org/...", "standard library only"},
	{"cmd/assent-hook-strict", "net/http", "it runs several times per tool call"},
	{"cmd/assent-hook-strict", "crypto/tls", "assent hook is the one that speaks https"},
	{"cmd/assent-hook-strict", "flag", "it runs several times per tool call"},
	{"cmd/assent-hook-strict", "github.com/...", "a JSON reader aside, standard library only"},
	{"cmd/assent-contain", "encoding/json", "it runs for each contained command"},
	{"cmd/assent-contain", "net/http", "it has no network"},
	{"cmd/assent-contain", "flag", "it runs for each contained command"},
	{"cmd/assent-contain", "fmt", "it runs for each contained command"},
	{"cmd/assent-contain", "regexp", "it runs for each contained command"},
	{"broker", "github.com/nats-io/...", "the broker knows a Log, not NATS"},
	{"broker", "net/http", "the broker knows no protocol"},
	{"broker", "go.uber.org/...", "plain Go; logging is handed in"},
	{"internal/agent/claude", "github.com/...", "third parties live at the edge"},
	{"internal/feed", "github.com/...", "plain Go"},
	{"internal/feed", "go.uber.org/...", "plain Go; the fold has nothing to log"},
	{"internal/feed", "net/http", "the feed knows no protocol"},
	{"internal/feed", "os/exec", "the feed is a pure fold"},
	{"internal/feed", "math/rand", "a replay gives the same bytes"},
	{"internal/store/history", "github.com/nats-io/...", "NATS lives in stream"},
	{"internal/store/history", "go.uber.org/...", "logging is handed in"},
	{"internal/store/integrity", "github.com/nats-io/nats-server/...", "it reads what the server wrote, without it"},
	{"internal/store/stream", "github.com/gorilla/...", "gorilla lives in api and server"},
	{"internal/outlet/hookd", "os/exec", "the repository is read without running git"},
	{"internal/host/gitrepo", "os/exec", "the repository is read without running git"},
	{"internal/host/ondisk", "os/exec", "a look starts nothing"},
	{"internal/policy", "net/http", "rules know no protocol"},
	{"internal/policy", "os/exec", "nothing is run to find out what would run"},
	{"internal/policy/shell", "os/exec", "reading a command starts nothing"},
	{"internal/policy/shell", "net/http", "reading a command needs nothing but the text"},
	{"internal/agent/claude/install", "net/http", "what it needs is on this machine"},
	{"internal/intake", "net/http", "an event's journey knows no protocol"},
	{"internal/intake", "github.com/gorilla/...", "an event's journey knows no protocol"},
	{"internal/intake", "github.com/go-chi/...", "an event's journey knows no protocol"},
	{"internal/server", "github.com/nats-io/...", "NATS lives in stream"},
	{"internal/server", "github.com/rabbitmq/...", "AMQP lives in rabbit"},
	{"internal/server", "github.com/modelcontextprotocol/...", "MCP lives in mcp"},
	{"cmd/assent", "github.com/hanwen/...", "a file system that forgets is for tests"},
	{"cmd/assent", "testing", "helpers of tests stay out of the programs"},
}
