package hook

import (
	"errors"
	"strconv"
	"strings"
)

// MaxLabel is how long a text of an event may be that travels in a header, in bytes. Each writer
// says what becomes of a longer one.
const MaxLabel = 4 << 10

// Headers between hook client and broker, and of messages on hooks.<EventType>. Values are
// percent-encoded. What an event has in them is written and read in eventheaders.go.
const (
	HeaderRequestID = "Assent-Request-Id"
	HeaderAgent     = "Assent-Agent"
	HeaderEvent     = "Assent-Event"
	HeaderRemaining = "Assent-Remaining-Ms"
	HeaderOnTimeout = "Assent-On-Timeout"
	HeaderAttempt   = "Assent-Attempt"
	HeaderEventTime = "Assent-Event-Time" // RFC 3339 with nanoseconds
	HeaderHost      = "Assent-Host"
	HeaderPID       = "Assent-Pid"
	// HeaderProcess tells the agent's process from a later one of the same number, HeaderAttended
	// whether somebody may sit at the agent's terminal: yes or no. Both are absent where the hook
	// cannot tell.
	HeaderProcess    = "Assent-Process"
	HeaderAttended   = "Assent-Attended"
	HeaderHosted     = "Assent-Hosted" // see Origin.Hosted
	HeaderAgentLabel = "Assent-Agent-Label"
	HeaderProjectDir = "Assent-Project-Dir"
	HeaderRepoRoot   = "Assent-Repo-Root"
	HeaderRepoBranch = "Assent-Repo-Branch"
	HeaderRepoHead   = "Assent-Repo-Head"
	HeaderRepoRemote = "Assent-Repo-Remote"
	// HeaderRetry is the broker's, beside 503 on /v1/hooks: the same hook should send the same request again.
	// RetryUntilDeadline: its record is on a cluster, which is choosing another leader or is away for now;
	// again until the hook's own time is up, here or to another broker of that cluster. RetrySoon: its disk is
	// slow; again for as long as the broker says so.
	HeaderRetry        = "Assent-Retry"
	RetryUntilDeadline = "1"
	RetrySoon          = "soon"
	// HeaderInterim on a request says that its hook reads interim answers; its value is 1. Then 102 means that the
	// request is recorded and waits: where a proxy says afterwards that the broker behind it broke off, the
	// hook comes back.
	HeaderInterim = "Assent-Interim"
	// HeaderSpooled marks a message on hooks.<EventType> that waited in a spool file.
	HeaderSpooled = "Assent-Spooled"
	// HeaderEmitted marks one that came in an envelope of hookd-emit, HeaderTool says which tool
	// the envelope named.
	HeaderEmitted = "Assent-Emitted"
	HeaderTool    = "Assent-Tool"
	// HeaderSubmitter says on hooks.<EventType> whom the broker took the event from, see
	// Event.Submitter. On a request to the broker it means nothing.
	HeaderSubmitter = "Assent-Submitter"
	// HeaderReattachSecret is a random text of the hook's that it sends with every attempt of one
	// request: it proves that who comes back is who asked. It is kept as a hash only, and does not
	// travel on.
	HeaderReattachSecret = "Assent-Reattach-Secret"
	// HeaderContextLength is how many bytes at the end of the body are no payload but the end of the
	// agent's transcript, on the route that ends in ContextRoute. HeaderContextWhy says on the other
	// why there is none: SaidOff, SaidRefused, SaidLate or SaidBeyond. Neither travels on.
	HeaderContextLength = "Assent-Context-Length"
	HeaderContextWhy    = "Assent-Context-Why"
	// HeaderContain is the Landlock ABI of the hook's machine, where what a rule allows contained can run
	// that way: see Event.Contain.
	HeaderContain = "Assent-Contain"
	// HeaderVersion is the version of the hook client. It does not travel on.
	HeaderVersion = "Assent-Version"
	// HeaderRequire says what the hook wants of an answer, see Event.Signed: RequireSigned.
	HeaderRequire = "Assent-Require"
	// HeaderRulesKeys says whose signed rules the hook evaluates by itself, see Event.RulesKeys.
	HeaderRulesKeys = "Assent-Rules-Keys"
	// HeaderRefused says, on the route that ends in RefusedRoute, why the hook did not print an allow. It does not
	// travel on.
	HeaderRefused = "Assent-Refused"
	// HeaderSource says how a PermissionRequest was asked, see Request.Source.
	HeaderSource = "Assent-Via"
)

// RequireSigned is the value of HeaderRequire, and of require in a hook.conf.
const RequireSigned = "signed"

// RefusedRoute stands behind the route of hooks for the word of a hook that it did not print the allow of a
// request.
const RefusedRoute = "/refused"

// ContextRoute stands behind the route of hooks for a PermissionRequest that brings the end of the
// agent's transcript, at most MaxTranscript bytes.
const (
	ContextRoute  = "/context"
	MaxTranscript = 64 << 10
)

// SplitTranscript takes the end of the agent's transcript off a body that came by ContextRoute; length is
// what HeaderContextLength says. Both parts are the body's memory. An error says what length should be.
func SplitTranscript(body []byte, length string) (payload, transcript []byte, err error) {
	n, err := strconv.ParseUint(length, 10, 32)
	if err != nil || n > MaxTranscript || n > uint64(len(body)) {
		return nil, nil, errors.New("want how many bytes of the body are the transcript's, at most " + strconv.Itoa(MaxTranscript))
	}
	at := len(body) - int(n)
	return body[:at], body[at:], nil
}

// Headers of the answer to a PermissionRequest: how it ended, and who decided, if anybody did.
// Values are percent-encoded. They are for whoever keeps a report; what the agent is told stands in
// the body.
const (
	HeaderOutcome = "Assent-Outcome"
	HeaderByKind  = "Assent-By-Kind"
	HeaderByName  = "Assent-By-Name"
	HeaderByFile  = "Assent-By-File"
)

const hexDigits = "0123456789ABCDEF"

// EscapeHeader percent-encodes a header value: every byte but the unreserved ones of RFC 3986
// and "/" and ":".
func EscapeHeader(s string) string {
	n := 0
	for i := 0; i < len(s); i++ {
		if !plainHeaderByte(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := 0; i < len(s); i++ {
		if c := s[i]; plainHeaderByte(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// UnescapeHeader undoes EscapeHeader. A malformed escape is kept as it stands.
func UnescapeHeader(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func plainHeaderByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~' || c == '/' || c == ':'
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// PlainToken reports whether an event type may stand in a NATS subject as it is:
// [A-Za-z0-9_-]{1,64}.
func PlainToken(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// AgentName reports whether s may be an agent's name: a plain token, for one that asks over ACP behind
// "acp:".
func AgentName(s string) bool { return PlainToken(strings.TrimPrefix(s, "acp:")) }

// Subject is where an event of this type is published: hooks.<EventType>, or hooks.Unknown for
// a type that is no plain token.
func Subject(eventType string) string {
	if !PlainToken(eventType) {
		return "hooks.Unknown"
	}
	return "hooks." + eventType
}
