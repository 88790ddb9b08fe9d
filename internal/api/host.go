package api

import (
	"time"

	"assent/internal/hook"
)

// A host is the program on a machine that runs agents. It connects out to the broker's GET /v1/host/ws with
// a token of the role host, as Authorization: Bearer, and both sides write JSON objects, one in each text
// message of the WebSocket: HostFrame from the host, BrokerFrame from the broker.
//
//	host                              broker
//	hello {host, agents}        ->
//	                            <-    welcome {lease, held}
//	                            <-    message {message}          each that is sent, once for a connection
//	taken {id, message}         ->                               compare and set sent -> taken
//	                            <-    ack {id, ok, state}        only with ok may the host go on
//	started, ended, event ...   ->
//	                            <-    ack {id, ok, state}
//
// Nothing is lost and nothing runs twice, whoever is killed when:
//   - Each frame of the host but hello and agents has an ID and is acknowledged once what it says is
//     durable. A host keeps it in its journal until then, and sends it again, with its ID, on the next
//     connection. A frame that came before is acknowledged with ok again.
//   - A host writes a message to its journal before it sends taken, and hands it to the agent only after the
//     acknowledgement with ok. Without ok it is not the host's: taken back, expired, forgotten, of another.
//   - A message that is sent comes again on each connection until it is taken, refused or over; the host knows
//     it by its id. It may leave it for as long as its session is busy: until it is taken it can be taken back.
//   - What the agents are is said when it changes, once a second at most, and before a message is said to be over:
//     from then on only the sessions in it say whose a session is.
//   - Held are the messages that the broker has as taken or started by this host. Of one that is not in its
//     journal the host says lost.
//
// The host trusts no broker: it verifies each message by auth.VerifyMessage, and that auth.Thumbprint of
// its PublicKey is one that its owner accepts, HostID what it calls itself, its agent its own, ExpiresAt not over, its id never taken
// before, and its options within the agent's ceilings. Else it says refused, with the reason.

// The types of a HostFrame.
const (
	HostHello   = "hello"   // Host, Version, Agents; first, and once
	HostAgents  = "agents"  // Agents: all of them, as they are now
	HostTaken   = "taken"   // ID, Message
	HostStarted = "started" // ID, Message: it is in the agent's context
	HostEnded   = "ended"   // ID, Message, Outcome, Why, Command: the turn is over, or never began
	HostRefused = "refused" // ID, Message, Why: instead of taken
	HostLost    = "lost"    // ID, Message, Why: whether the agent has it cannot be known
	HostEvent   = "event"   // ID, Event
	HostForgot  = "forgot"  // Sessions: nothing of them is kept any more; not acknowledged, and told again where asked again
	HostAnswers = "answer"  // ID of an ask, Answer; at most once, and not acknowledged
)

// HostFrame is what a host writes.
type HostFrame struct {
	Type string `json:"type"`
	// ID names the frame: 1 to 64 of letters, digits, - and _, never used again by this host for another.
	ID string `json:"id,omitempty"`

	Host    string  `json:"host,omitempty"` // name of the machine
	Version string  `json:"version,omitempty"`
	Agents  []Agent `json:"agents,omitempty"`

	Message string    `json:"message,omitempty"` // id of a message
	At      time.Time `json:"at,omitzero"`       // when it happened; zero: now
	Outcome string    `json:"outcome,omitempty"` // hook.OutcomeCompleted and its like
	Why     string    `json:"why,omitempty"`     // for people, at most 300 bytes, without the prompt
	Command string    `json:"command,omitempty"` // see hook.Message
	By      string    `json:"by,omitempty"`      // id of the message that cancelled it, of one that ended so

	Event    *AgentEvent `json:"event,omitempty"`
	Answer   *HostAnswer `json:"answer,omitempty"`
	Sessions []string    `json:"sessions,omitempty"`
}

// HostAnswer answers a HostAsk.
type HostAnswer struct {
	// Status is that of HTTP with which the broker is to answer who asked it: 200, 404, 409, 501 or 503.
	Status int        `json:"status"`
	Detail string     `json:"detail,omitempty"` // of one that is not 200, for people
	Diff   *AgentDiff `json:"diff,omitempty"`
}

// The types of a BrokerFrame.
const (
	BrokerWelcome = "welcome" // Lease, Held, Problems, Stopped; the answer to hello
	BrokerMessage = "message" // Message
	BrokerAck     = "ack"     // ID, OK, State, Detail
	BrokerAsks    = "ask"     // ID, Ask
	// BrokerHalt says when it changes whether everything is stopped, as the welcome did. It brings nothing new,
	// so that a host needs no signature for it: turns end, and none begins until it is over.
	BrokerHalt = "halt" // Stopped
	// BrokerForget says which sessions were forgotten: the host removes what it keeps of them, and says forgot. It
	// comes again on each connection until then. It is no order either: nothing is started by it, and a host goes
	// on to know the ids of what it took.
	BrokerForget = "forget" // Sessions
)

// BrokerFrame is what the broker writes to a host.
type BrokerFrame struct {
	Type string `json:"type"`

	// Lease is after how many seconds without the host its agents are offline. The broker pings three
	// times as often; a WebSocket library answers by itself.
	Lease int           `json:"lease,omitempty"`
	Held  []HeldMessage `json:"held,omitempty"`
	// Problems are what of the hello or the agents was left out, for people: a name that another host has.
	Problems []string `json:"problems,omitempty"`

	Message *hook.Message `json:"message,omitempty"`

	Ask *HostAsk `json:"ask,omitempty"`

	ID     string            `json:"id,omitempty"`     // of the frame
	OK     bool              `json:"ok,omitempty"`     // it is durable; else it never will be
	State  hook.MessageState `json:"state,omitempty"`  // of the message, after the frame
	Detail string            `json:"detail,omitempty"` // why not

	Stopped bool `json:"stopped,omitempty"`

	Sessions []string `json:"sessions,omitempty"`
}

// HostAsk is what somebody wants to see now of what is on the host. One is answered after the other.
type HostAsk struct {
	What    string `json:"what"` // AskDiff
	Agent   string `json:"agent"`
	Session string `json:"session"`
}

// AskDiff asks for an AgentDiff.
const AskDiff = "diff"

// HeldMessage is a message that a host has taken, or begun.
type HeldMessage struct {
	ID    string            `json:"id"`
	State hook.MessageState `json:"state"`
}

// Sizes of frames, in bytes.
const (
	MaxHostFrame   = 4 << 20 // a diff of which each byte takes six
	MaxBrokerFrame = 1 << 20
)

// HostClosed is the close code of a host's WebSocket that another one of the same host replaced.
const HostClosed = 4409
