package hook

import (
	"strings"
	"time"
)

// ElicitationWait is how long a form is held. Only then does the agent show the form in its own
// terminal.
const ElicitationWait = 2 * time.Minute

// MaxRequest is the largest PermissionRequest payload that is held, in bytes; larger ones are
// handed back. MaxEvent is the largest event that is published whole; beyond it a marker with
// length and digest takes its place.
const (
	MaxRequest = 1 << 20
	MaxEvent   = 7 << 20
)

// Request is a PermissionRequest that waits, or waited, for a decision. It never changes
// after it was recorded; what happened to it stands in Records.
//
// The JSON names are those of the API (schema PermissionRequest).
type Request struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd,omitempty"`
	// Event is what kind of event asks: EventElicitation, or empty for a PermissionRequest.
	Event string `json:"event,omitempty"`
	// ToolName and ToolInput are the tool call. For an MCP server's form, which is no
	// call, the name is EventElicitation, and the input what claude.Form made.
	// Both are in assent's words; NativeTool is the agent's own name of the tool where that is another.
	ToolName   string `json:"toolName"`
	NativeTool string `json:"nativeToolName,omitempty"`
	ToolInput  JSON   `json:"toolInput,omitempty"`
	// InputSHA256 must be repeated by a decision.
	InputSHA256 string    `json:"inputSha256"`
	Agent       string    `json:"agent"`
	AgentID     string    `json:"agentId,omitempty"` // the subagent's
	AgentType   string    `json:"agentType,omitempty"`
	Origin                // host, pid, agentLabel, projectDir, repo
	CreatedAt   time.Time `json:"createdAt"`
	// Deadline is when the broker answers OnTimeout at the latest.
	Deadline       time.Time `json:"deadline"`
	OnTimeout      Fallback  `json:"onTimeout"`
	PermissionMode string    `json:"permissionMode,omitempty"`
	Suggestions    JSON      `json:"permissionSuggestions,omitempty"`
	Uninspectable  string    `json:"uninspectable,omitempty"`
	// Overwrites is what a tool that writes a whole file would replace; nil: that was not seen.
	Overwrites *Overwrites `json:"overwrites,omitempty"`
	// Verdict is what the rules said when the request came; nil when there was nothing to say.
	Verdict *Verdict `json:"verdict,omitempty"`

	// Raw is the payload, byte for byte; the API shows it as raw or rawBase64. It is nil for
	// a request that was handed back because it is larger than MaxRequest.
	Raw []byte `json:"-"`
	// PayloadSHA256 is lower-case hex over the whole payload; a reattach must bring the same, and
	// the secret of ReattachSHA256.
	PayloadSHA256 string `json:"payloadSha256"`
	// EventSeq is the EVENTS sequence of the request's own event: only later events can prove
	// anything about it, and it gives feed and history one order over both streams.
	EventSeq uint64 `json:"eventSeq"`
	// EventTime is when the hook ran, by its host's clock.
	EventTime time.Time `json:"eventTime"`
	// CallKey identifies the tool call, see Payload.
	CallKey string  `json:"callKey,omitempty"`
	Channel Channel `json:"channel"`
	// ToolUseID is the agent's own name of the call, where it is known, and Source how the agent
	// asked: empty for its hook, SourceMCP, SourceACP. An agent may ask both ways about one call.
	ToolUseID string `json:"toolUseId,omitempty"`
	Source    string `json:"via,omitempty"`
	// NoDedup says that nobody can tell which of several equal calls this is about, so that it must
	// not share the answer to another request.
	NoDedup bool `json:"-"`
	// Contain says that the hook's machine can run a command contained. It is not kept.
	Contain bool `json:"-"`
	// Signed says that its hook prints only what a trusted key signed, see Event.Signed. It is not kept.
	Signed bool `json:"-"`
	// RulesKeys are the keys whose rules it evaluates by itself, see Event.RulesKeys. It is not kept.
	RulesKeys string `json:"-"`
	// Submitter is who brought it, see Event.Submitter; empty in records of versions that did not
	// keep it.
	Submitter string `json:"submitter,omitempty"`
	// Machine is the name of the submitter's token: who made that said which machine it is for, while
	// Host is the hook's own word.
	Machine string `json:"machine,omitempty"`
	// ReattachSHA256 is lower-case hex over the secret that the hook brought: a hook that
	// reattaches with this id must bring it again. Empty where the hook brought none.
	ReattachSHA256 string `json:"reattachSha256,omitempty"`
}

// Overwrites is what was found, when the request came, where its tool is to write a whole file.
type Overwrites struct {
	Exists bool  `json:"exists"`
	Bytes  int64 `json:"bytes,omitempty"`
	// Lines is nil where the file is no text, or large.
	Lines *int64 `json:"lines,omitempty"`
}

// SourceMCP is the Request.Source of an agent that asked through assent's MCP server.
const SourceMCP = "mcp"

// SourceACP is that of an agent whose client asked through assent acp: the client's own dialog is up, too.
const SourceACP = "acp"

// Behavior is what a decision says.
type Behavior string

// The two behaviors.
const (
	BehaviorAllow Behavior = "allow"
	BehaviorDeny  Behavior = "deny"
)

// MaxShown bounds Decision.Shown, in bytes.
const MaxShown = 4 << 10

// Decision is an approver's answer to a request (schema Decision).
type Decision struct {
	Behavior Behavior `json:"behavior"`
	// InputSHA256 is the digest of the input the approver saw. It must be the request's.
	InputSHA256 string `json:"inputSha256"`
	// Message is told to the agent with a denial.
	Message string `json:"message,omitempty"`
	// Interrupt, with a denial, stops the agent's turn. Claude Code then loses the message.
	Interrupt bool `json:"interrupt,omitempty"`
	// UpdatedInput, with an allow, replaces the tool input as a whole: the answers of a
	// question, an edited plan, an edited command.
	UpdatedInput JSON `json:"updatedInput,omitempty"`
	// Contain, of a rule's allow, says that UpdatedInput is the same command, run contained: ContainRead.
	// Nobody edited it. ToolInput of the request is the command as it was asked for.
	Contain string `json:"contain,omitempty"`
	// UpdatedPermissions, with an allow, is an array of permission updates ("always allow").
	UpdatedPermissions JSON `json:"updatedPermissions,omitempty"`
	// Shown is what the approver's device says that it showed of the request: a JSON text of its own,
	// MaxShown bytes at most, kept as it came. Nobody can check it, but who signed it cannot deny it.
	Shown string `json:"shown,omitempty"`
	// SignedAt is when the device signed, by its own clock, as it wrote it (RFC 3339).
	SignedAt string `json:"signedAt,omitempty"`
	// Signature is the approving device's over all of the above, and PublicKey what it was
	// verified with, so that the record can be verified again when the device is long gone.
	// Neither is there for an approver that has no key.
	Signature string `json:"signature,omitempty"`
	PublicKey *JWK   `json:"publicKey,omitempty"`
	// Stop, of a denial, says that Signature is that of a stop of everything (HaltStop), taken on this
	// revision of the state: the device signed it once for all that waited.
	Stop *uint64 `json:"stop,omitempty"`
	// Rules, of a rule's answer, is the signature of the file of rules that it comes from; nil where nobody signed
	// that, its time was over, or it comes from several files.
	Rules *RulesSignature `json:"rules,omitempty"`
	// Verification proves that the person at the device was verified for what Signature covers; nil where
	// nobody asked for that.
	Verification *Verification `json:"verification,omitempty"`
}

// Verification proves that a device's owner was verified, with face, fingerprint or PIN, for one text: a
// WebAuthn assertion whose challenge is the SHA-256 of it. Its members are unpadded base64url.
type Verification struct {
	Credential        string `json:"credential"` // its id
	AuthenticatorData string `json:"authenticatorData"`
	ClientData        string `json:"clientData"`
	Signature         string `json:"signature"`
	// PublicKey is what it was verified with (COSE), so that the record can be verified again. A caller's
	// is dropped.
	PublicKey string `json:"publicKey,omitempty"`
}

// HandBack is what an approver sent to leave a request to the agent's own prompt (schema HandBack).
type HandBack struct {
	// InputSHA256 is the digest of the input the approver saw. It must be the request's.
	InputSHA256 string `json:"inputSha256"`
	// Signature and PublicKey are as in Decision.
	Signature string `json:"signature,omitempty"`
	PublicKey *JWK   `json:"publicKey,omitempty"`
}

// JWK is an ECDSA P-256 public key as WebCrypto exports it.
type JWK struct {
	Kty string `json:"kty"` // EC
	Crv string `json:"crv"` // P-256
	X   string `json:"x"`   // 32 bytes, unpadded base64url
	Y   string `json:"y"`
}

// For which allows everybody's owner has to be verified; "" is for none. The later one is the stricter.
const (
	VerifyDanger = "danger" // of what is dangerous; also for saved rules and grants
	VerifyAlways = "always" // of anything
)

// StricterVerification is the stricter of two of them.
func StricterVerification(a, b string) string {
	for _, v := range []string{VerifyAlways, VerifyDanger} {
		if a == v || b == v {
			return v
		}
	}
	return ""
}

// Outcome is how a request ended; empty while it waits.
type Outcome string

// The outcomes.
const (
	Allowed    Outcome = "allowed"
	Denied     Outcome = "denied"
	Expired    Outcome = "expired"     // the deadline passed; answered with Request.OnTimeout
	Withdrawn  Outcome = "withdrawn"   // the agent or its terminal settled it
	HandedBack Outcome = "handed_back" // assent abstained; the agent's own prompt decides
)

// Approver is who decided: a paired device, a token, the owner's token on this machine
// (KindOwner), a rule.
type Approver struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"` // of a rule, its id
	Name string `json:"name,omitempty"`
	File string `json:"file,omitempty"` // of a rule, where it stands
	// Verified says that it was verified on the device whom it belongs to, see Verification.
	Verified bool `json:"verified,omitempty"`
	// CodeOrigin is where the code comes from that signs with a device's key.
	CodeOrigin CodeOrigin `json:"codeOrigin,omitempty"`
}

// CodeOrigin is where the code comes from that shows requests and signs with a device's key. It is the word of the device, or
// of the administrator who let it in, and no proof.
type CodeOrigin string

// The values of a CodeOrigin.
const (
	CodeBroker      CodeOrigin = "broker"      // the broker serves it: who has taken that over can have the key sign what was not shown
	CodeIndependent CodeOrigin = "independent" // assent approver, or a terminal on another machine
)

// Check is nil if this is one of the two, or nothing.
func (c CodeOrigin) Check() error {
	if c != "" && c != CodeBroker && c != CodeIndependent {
		return BadField("codeOrigin", "want broker or independent")
	}
	return nil
}

// mistakable says whether a name looks like another kind of approver.
func mistakable(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "rule") || strings.Contains(name, "owner")
}

// KindRule is the Kind of a rule, KindOwner that of the owner's token: commands on the broker's
// machine.
const (
	KindRule   = "rule"
	KindOwner  = "owner-cli"
	KindDevice = "device"
	KindToken  = "token"
)

// Who names the approver for a person: `phone`, `rule "go-test" in ~/.config/assent/rules.yaml`.
// Names and files are foreign text, which the caller makes safe to look at. A device that calls
// itself a rule is `device "rule …"`: whoever pairs it chooses the name.
func (a *Approver) Who() string {
	name := a.Name
	if name == "" {
		name = a.ID
	}
	switch {
	case a.Kind == KindRule && a.File != "":
		return `rule "` + name + `" in ` + a.File
	case a.Kind == KindRule:
		return `rule "` + name + `"`
	case name == "":
		return a.Kind
	case a.Kind != KindOwner && mistakable(name):
		return a.Kind + ` "` + name + `"`
	}
	return name
}

// Step is one kind of record in a request's life.
type Step string

// The steps. asked is the first; decided and ended compete for the one slot after it;
// delivered, refused, confirmed and overruled may follow.
const (
	StepAsked     Step = "asked"
	StepDecided   Step = "decided"
	StepEnded     Step = "ended"
	StepDelivered Step = "delivered" // the answer was written to the waiting hook
	StepRefused   Step = "refused"   // the hook did not print the allow, and says why: the agent's own prompt decides
	StepConfirmed Step = "confirmed" // a later event proves that the allowed tool ran
	// StepOverruled: a later event proves that the denied tool ran, or that an edited one ran as it
	// was asked for.
	StepOverruled Step = "overruled"
	// StepRevoked is that of an entry which is about no request but about the key of a device, see KeyEntry.
	StepRevoked Step = "revoked"
	// StepShown is that of an entry which says that a device had the request on its screen, see ShownEntry. It settles nothing.
	StepShown Step = "shown"
)

// Reasons of ended records, and of a handed-back request. They are words of the API.
const (
	ReasonDeadline  = "deadline"     // expired
	ReasonHangup    = "hangup"       // withdrawn: the hook went away (agent killed, Esc, terminal "No")
	ReasonDetached  = "detached"     // withdrawn: the hook did not come back in time
	ReasonToolRan   = "tool_ran"     // withdrawn: the tool ran without us (terminal "Yes")
	ReasonTurnEnded = "turn_ended"   // withdrawn: Stop, PostToolBatch, UserPromptSubmit …
	ReasonSession   = "session_over" // withdrawn: SessionEnd
	ReasonTooLarge  = "too_large"    // handed back: larger than MaxRequest
	ReasonPaused    = "paused"       // handed back: everything is paused
	ReasonNobody    = "nobody_there" // handed back: nobody could be told, and the agent shows no prompt meanwhile
	ReasonPerson    = "person"       // handed back: an approver leaves it to the agent's own prompt
	ReasonRefused   = "refused"      // of a request whose hook did not print the allow
	ReasonFailed    = "tool_failed"  // of a confirmed record: the allowed tool ran, and failed
)

// Record is one step of a request as it stands in the record stream.
type Record struct {
	// ID is the record's own UUID: after a timeout it tells our own record from another's.
	ID        string    `json:"id"`
	RequestID string    `json:"requestId"`
	Step      Step      `json:"step"`
	Time      time.Time `json:"time"`
	// Seq is the record's sequence in the APPROVALS stream, set by the log.
	Seq uint64 `json:"seq,omitempty"`
	// Broker is the run of the broker that wrote the record, where several share the log: of asked the one
	// that holds its hook, at first.
	Broker string `json:"broker,omitempty"`
	// Stored is when the log took the record, by this machine's clock, whatever the clocks of others say;
	// zero where nobody else writes to the log. It is set by the log, and not kept.
	Stored time.Time `json:"-"`
	// After is the record's place among the events, set by the log: the EVENTS sequence of the
	// last event its writer had seen when it began to append. The one order of both streams is
	// event n, then the records after n as they stand in APPROVALS, then event n+1; a lower
	// After than one before it in APPROVALS counts as that one.
	After uint64 `json:"after,omitempty"`

	Request  *Request  `json:"request,omitempty"`  // asked
	Decision *Decision `json:"decision,omitempty"` // decided
	HandBack *HandBack `json:"handBack,omitempty"` // ended, handed back by a person
	By       *Approver `json:"by,omitempty"`       // decided; ended, handed back by a person
	Outcome  Outcome   `json:"outcome,omitempty"`  // decided, ended
	Reason   string    `json:"reason,omitempty"`   // ended, confirmed; asked: why it is handed back at once
	Failure  string    `json:"failure,omitempty"`  // confirmed, overruled: what the tool said when it failed; refused: why
	// EventSeq is the EVENTS sequence of the event that proved this step: ended by proof,
	// confirmed, overruled.
	EventSeq uint64 `json:"eventSeq,omitempty"`
	// Revoked is the key that counts no more, of revoked; By is who revoked it.
	Revoked *RevokedKey `json:"revoked,omitempty"`
	// Message is the step of a message, of an entry about one (MessageRecord); By is who sent it, of the first.
	Message *MessageEntry `json:"message,omitempty"`
	// Key is the thumbprint of the key of the device, of shown; By is the device. It signed nothing.
	Key string `json:"key,omitempty"`
}
