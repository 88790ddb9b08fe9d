package hook

import "time"

// Message is a person's message to a session of an agent (schema Message), with what became of it.
// Its first five members are those of an AgentMessage.
type Message struct {
	// ID is the UUID that the sender chose.
	ID string `json:"id"`
	// Agent is the agent that the session belongs to: TerminalAgent for one that somebody started in a
	// terminal. SessionID is the session's, as in its hooks' events.
	Agent     string `json:"agent"`
	SessionID string `json:"sessionId"`
	// HostID is the host that the message is for, as the host calls itself (api.Agent): part of what a device
	// signs, so that no other host can be handed it. Empty for terminals, and where the host told none.
	HostID string `json:"hostId,omitempty"`
	Kind   string `json:"kind"` // MessagePrompt, MessageResume, MessageCancel or MessageHandover
	// Prompt is the text; empty once it was forgotten.
	Prompt string `json:"prompt,omitempty"`
	// Forgotten says that the text was, and with it Signature and Verification; nil where it is here.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
	// Options bound a session that a host starts or goes on with; nil where the sender gave none.
	Options *MessageOptions `json:"options,omitempty"`
	// ExpiresAt is until when it may be handed over, in RFC 3339 as the sender wrote it: part of what a
	// device signs.
	ExpiresAt string `json:"expiresAt"`

	State MessageState `json:"state"`
	// Way is how it is handed over: WayInbox, WayStop or WayHost; empty until that is known.
	Way string `json:"way,omitempty"`
	// Outcome is what became of a message to an agent of a host that has ended: OutcomeCompleted,
	// OutcomeFailed or OutcomeCancelled.
	Outcome string `json:"outcome,omitempty"`
	// StoppedBy is who sent the message that cancelled this one's turn, as people call them; empty: nobody's did.
	StoppedBy string `json:"stoppedBy,omitempty"`
	// Command goes on with the session in a terminal of the host, as one line for a shell there: of a
	// MessageHandover that has completed.
	Command string   `json:"command,omitempty"`
	By      Approver `json:"by"`
	// Steps are what happened, the oldest first; the first is its sending.
	Steps []MessageStep `json:"steps"`

	// Signature is the device's over MessageText, PublicKey what verifies it; absent where the sender has
	// no key. Verification is the proof that its owner was verified.
	Signature    string        `json:"signature,omitempty"`
	PublicKey    *JWK          `json:"publicKey,omitempty"`
	Verification *Verification `json:"verification,omitempty"`

	// Submitter is whom the session's events came from when the message was sent, and of a message to an
	// agent of a host, that host: nobody else is handed it.
	Submitter string `json:"submitter,omitempty"`
	// Write names the last write of the record, so that whoever made it knows it for its own.
	Write string `json:"write,omitempty"`
	// Recorded says that it stood in the record of requests as sent before it was kept: if it is not there any more, it was removed.
	Recorded bool `json:"recorded,omitempty"`
}

// The kinds of a message. MessagePrompt is text for the agent; to an agent of a host, also what starts a
// session. MessageResume goes on with a session that has ended, MessageCancel ends what one does, and
// MessageHandover ends the host's part in it, so that a terminal can go on: these are for agents of hosts only.
const (
	MessagePrompt   = "prompt"
	MessageResume   = "resume"
	MessageCancel   = "cancel"
	MessageHandover = "handover"
)

// Wordless says whether messages of a kind have neither a prompt nor options: they say what is to become of
// what runs, and pass what waits.
func Wordless(kind string) bool { return kind == MessageCancel || kind == MessageHandover }

// MessageOptions are ceilings that a message sets for its session. They can be below those of the agent,
// never above.
type MessageOptions struct {
	BudgetUSD      float64 `json:"budgetUsd,omitempty"`      // 0: the agent's
	TimeoutSeconds int64   `json:"timeoutSeconds,omitempty"` // 0: the agent's
	AutoPR         bool    `json:"autoPr,omitempty"`
}

// What became of a message that has ended at an agent of a host.
const (
	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
	OutcomeCancelled = "cancelled"
)

// TerminalAgent is what the implicit agent of sessions that were started in a terminal of a machine is
// called.
func TerminalAgent(host string) string { return "terminal@" + host }

// MessageState is how far a message is.
//
//	sent -> taken -> started -> ended
//	sent -> expired, refused
//	taken -> taken (the session did not take it, and is handed it again)
//	taken -> lost -> started (the receipt came late)
//
// A host refuses before it takes, and may end what it took without having started it.
type MessageState string

// The states of a message.
const (
	MessageSent    MessageState = "sent"    // recorded, and on its way
	MessageTaken   MessageState = "taken"   // handed to the session, or about to be; again only where it proves not to have it
	MessageStarted MessageState = "started" // the session's own hook said that it is in the agent's context
	MessageEnded   MessageState = "ended"   // the turn that it began or joined is over
	MessageRefused MessageState = "refused" // it was taken back, or the session ended before it was taken
	MessageExpired MessageState = "expired" // nobody took it in time
	MessageLost    MessageState = "lost"    // taken, and not in the agent's context; or no receipt came, and nobody could look
)

// Over reports whether nothing more is to come, or is waited for.
func (s MessageState) Over() bool {
	return s == MessageEnded || s == MessageRefused || s == MessageExpired || s == MessageLost
}

// How a message is handed over.
const (
	WayInbox = "inbox" // through the session's inbox socket, at once or at the next tool boundary
	WayStop  = "stop"  // at the end of the turn, as the answer to the Stop hook
	WayHost  = "host"  // to the host of its agent, which starts sessions and holds their input
)

// Forgotten says when the text of a message was forgotten.
type Forgotten struct {
	At time.Time `json:"at"`
	// By is who had this one message forgotten; nil: it was forgotten with its session, or to make room for others.
	By *Approver `json:"by,omitempty"`
}

// MessageStep is one step of a message.
type MessageStep struct {
	State MessageState `json:"state"`
	At    time.Time    `json:"at"`
	Why   string       `json:"why,omitempty"`
}

// MaxMessage is how long a message's text may be, in bytes.
const MaxMessage = 64 << 10

// MaxCommand is how long Message.Command may be, in bytes.
const MaxCommand = 8 << 10
