package auth

import (
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"assent/internal/auth/signed"
	"assent/internal/hook"
)

// Errors of what has to be signed.
var (
	// ErrSignature says that the signature does not fit the device's key and what was sent.
	ErrSignature = errors.New("this is not signed by the key of this device, as it was sent; reload the page and try again")
	// ErrTokenSignature says the same of a token that is bound to a key.
	ErrTokenSignature = errors.New("this token is bound to a key, and this is not signed with it as it was sent: sign it (docs/protocol.md), or name the key file to assent in ASSENT_TOKEN_KEY")
)

// Unsigned is the error of p, which has a key, for what it has not signed.
func (p Principal) Unsigned() error {
	if p.isDevice() {
		return ErrSignature
	}
	return ErrTokenSignature
}

func (p Principal) isDevice() bool { return p.key != nil && p.Approver.Kind == hook.KindDevice }

// signingKey is what the decisions of a device, or of a token that is bound to a key, are verified with.
type signingKey struct {
	jwk hook.JWK
	pub *ecdsa.PublicKey
}

// DecisionText is what a device signs for a decision, see package signed.
func DecisionText(requestID string, d hook.Decision) []byte { return signed.DecisionText(requestID, d) }

// AlwaysText is what a device signs to have a proposal saved: the request it comes from, the
// input that it saw, the rule by its digest, and its bounds as they are sent: a time, or nothing,
// and a number, 0 for none.
func AlwaysText(requestID, inputSHA256, proposal, kind, expiresAt string, count int) []byte {
	return []byte(strings.Join([]string{
		"assent always v1", requestID, inputSHA256, kind, proposal, expiresAt, strconv.Itoa(count),
	}, "\n"))
}

// VouchAlways returns s as it may be kept for p. If p has a key it must have signed s, else
// ErrSignature; its public key is added.
func (p Principal) VouchAlways(s hook.Saved) (hook.Saved, error) {
	s.By, s.PublicKey, s.Verification = p.Approver, nil, nil
	if p.key == nil {
		s.Signature = ""
		return s, nil
	}
	if !verify(p.key.pub, AlwaysText(s.RequestID, s.InputSHA256, s.Digest, s.Kind, s.Bounds, s.Count), s.Signature) {
		return hook.Saved{}, p.Unsigned()
	}
	key := p.key.jwk
	s.PublicKey = &key
	return s, nil
}

// HaltText is what a device signs to stop or pause everything, or to end that: the act
// (hook.HaltStop and its like), the revision of the state that it saw, and of a pause the seconds, else 0.
func HaltText(act string, revision uint64, seconds int) []byte {
	return []byte(strings.Join([]string{
		"assent halt v1", act, strconv.FormatUint(revision, 10), strconv.Itoa(seconds),
	}, "\n"))
}

// VouchHalt returns the act as it may be kept for p. If p has a key it must have signed the act, on its
// Basis, else ErrSignature; its public key is added.
func (p Principal) VouchHalt(act hook.HaltAct) (hook.HaltAct, error) {
	act.By, act.PublicKey = p.Approver, nil
	if p.key == nil {
		act.Signature = ""
		return act, nil
	}
	if !verify(p.key.pub, HaltText(act.Act, act.Basis, act.Seconds), act.Signature) {
		return hook.HaltAct{}, p.Unsigned()
	}
	key := p.key.jwk
	act.PublicKey = &key
	return act, nil
}

// HandBackText is what a device signs to leave a request to the agent's own prompt: the request, and the
// input that it saw.
func HandBackText(requestID, inputSHA256 string) []byte {
	return []byte(strings.Join([]string{"assent handback v1", requestID, inputSHA256}, "\n"))
}

// VouchHandBack returns h as it may be recorded for p. If p has a key it must have signed h, else
// ErrSignature; its public key is added.
func (p Principal) VouchHandBack(requestID string, h hook.HandBack) (hook.HandBack, error) {
	h.PublicKey = nil
	if p.key == nil {
		h.Signature = ""
		return h, nil
	}
	if !verify(p.key.pub, HandBackText(requestID, h.InputSHA256), h.Signature) {
		return hook.HandBack{}, p.Unsigned()
	}
	key := p.key.jwk
	h.PublicKey = &key
	return h, nil
}

// VerifyHandBack reports whether the hand-back of a record was signed by the key in it.
func VerifyHandBack(requestID string, h hook.HandBack) bool {
	if h.PublicKey == nil {
		return false
	}
	pub, err := parseKey(*h.PublicKey)
	return err == nil && verify(pub, HandBackText(requestID, h.InputSHA256), h.Signature)
}

// MessageText is what a device signs to send a message: its id, the agent and the session, its kind, the
// text, the options, and until when it holds. Broker, host and page make it in the same way.
//
// A message that names the host it is for is signed in the second form, which ends with a line for it: so
// that whoever carries it cannot hand it to another host that has an agent of the same name.
//
// The options come in as JSON without white space, members in the order budgetUsd, timeoutSeconds, autoPr,
// those that are absent, 0 or false left out; as nothing where none is left.
func MessageText(m hook.Message) []byte { return sentText(m.ID, SentOf(m)) }

// SentOf is a message as the record has it.
func SentOf(m hook.Message) hook.SentMessage {
	return hook.SentMessage{
		Agent: m.Agent, SessionID: m.SessionID, HostID: m.HostID, Kind: m.Kind, PromptSHA256: textDigest([]byte(m.Prompt)), Options: m.Options,
		ExpiresAt: m.ExpiresAt, Signature: m.Signature, PublicKey: m.PublicKey, Verification: m.Verification,
	}
}

// sentText is MessageText of the message of this id.
func sentText(id string, s hook.SentMessage) []byte {
	version, more := "assent message v1", []string(nil)
	if s.HostID != "" {
		version, more = "assent message v2", []string{s.HostID}
	}
	return []byte(strings.Join(append([]string{
		version, id, s.Agent, s.SessionID, s.Kind, s.PromptSHA256, textDigest(optionsText(s.Options)), s.ExpiresAt,
	}, more...), "\n"))
}

func optionsText(o *hook.MessageOptions) []byte {
	if o == nil || *o == (hook.MessageOptions{}) {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil { // a number that JSON does not have
		return []byte("unsignable")
	}
	return text
}

// Thumbprint names a device's key: the SHA-256 of its JWK as RFC 7638 has it, unpadded base64url. It is
// what a host accepts orders by, so that nobody but the holder of the key can give one.
func Thumbprint(k hook.JWK) string { return signed.Thumbprint(k) }

// VouchMessage returns m as it may be recorded for p. If p has a key it must have signed m, else
// ErrSignature; its public key is added.
func (p Principal) VouchMessage(m hook.Message) (hook.Message, error) {
	m.By, m.PublicKey, m.Verification = p.Approver, nil, nil
	if p.key == nil {
		m.Signature = ""
		return m, nil
	}
	if !verify(p.key.pub, MessageText(m), m.Signature) {
		return hook.Message{}, p.Unsigned()
	}
	key := p.key.jwk
	m.PublicKey = &key
	return m, nil
}

// VerifyMessage reports whether a message was signed by the key in it.
func VerifyMessage(m hook.Message) bool { return VerifySent(m.ID, SentOf(m)) }

// VerifySent reports whether the message of this id was signed by the key in it.
func VerifySent(id string, s hook.SentMessage) bool {
	if s.PublicKey == nil {
		return false
	}
	pub, err := parseKey(*s.PublicKey)
	return err == nil && verify(pub, sentText(id, s), s.Signature)
}

// Denial is the decision by which a stop denies a request, as it may be recorded. act is vouched for.
func Denial(act hook.HaltAct, inputSHA256, message string) hook.Decision {
	d := hook.Decision{Behavior: hook.BehaviorDeny, InputSHA256: inputSHA256, Message: message}
	if act.PublicKey != nil {
		basis := act.Basis
		d.Signature, d.PublicKey, d.Stop = act.Signature, act.PublicKey, &basis
	}
	return d
}

// VerifyHalt reports whether an act was signed by the key in it.
func VerifyHalt(act hook.HaltAct) bool {
	if act.PublicKey == nil {
		return false
	}
	pub, err := parseKey(*act.PublicKey)
	return err == nil && verify(pub, HaltText(act.Act, act.Basis, act.Seconds), act.Signature)
}

// PushText is what a device signs to be notified: its id, and the digests of the JSON of its
// subscription and of its settings as they are sent, each empty where it is absent.
func PushText(device string, subscription, settings []byte) []byte {
	return []byte(strings.Join([]string{"assent push v1", device, textDigest(subscription), textDigest(settings)}, "\n"))
}

// VouchPush returns nil if p is a device that signed where and when it is notified, else ErrSignature. A
// stolen bearer must not be able to name another endpoint, which would be notified of requests long
// after the bearer has expired. (It can end the device's subscription, which the device's page shows
// and repairs. A signature that is sent again only brings back what the device once wanted.)
func (p Principal) VouchPush(subscription, settings []byte, signature string) error {
	if !p.isDevice() || !verify(p.key.pub, PushText(p.Approver.ID, subscription, settings), signature) {
		return ErrSignature
	}
	return nil
}

func textDigest(text []byte) string { return signed.Digest(text) }

// Vouch returns d as it may be recorded for p. If p has a key it must have signed d, else
// ErrSignature; its public key is added. A caller without a key cannot sign: its credential suffices,
// and a signature in d is removed, so that nobody takes it for a valid one.
func (p Principal) Vouch(requestID string, d hook.Decision) (hook.Decision, error) {
	if p.key == nil {
		d.Signature, d.PublicKey, d.Stop, d.Shown, d.SignedAt, d.Verification = "", nil, nil, "", "", nil
		return d, nil
	}
	if !verify(p.key.pub, DecisionText(requestID, d), d.Signature) {
		return hook.Decision{}, p.Unsigned()
	}
	key := p.key.jwk
	d.PublicKey, d.Stop, d.Verification = &key, nil, nil // who verifies adds that
	return d, nil
}

// VerifyDecision reports whether the decision of a record was signed by the key in it.
func VerifyDecision(requestID string, d hook.Decision) bool {
	if d.PublicKey == nil {
		return false
	}
	if d.Stop != nil { // one signature for all that waited, and it can only deny
		return d.Behavior == hook.BehaviorDeny && !d.Interrupt && d.Shown+d.SignedAt == "" && len(d.UpdatedInput) == 0 && len(d.UpdatedPermissions) == 0 &&
			VerifyHalt(hook.HaltAct{Act: hook.HaltStop, Basis: *d.Stop, Signature: d.Signature, PublicKey: d.PublicKey})
	}
	pub, err := parseKey(*d.PublicKey)
	return err == nil && verify(pub, DecisionText(requestID, d), d.Signature)
}

// parseKey returns the key or an *hook.FieldError; a point that is not on the curve is one.
func parseKey(k hook.JWK) (*ecdsa.PublicKey, error) { return signed.Key(k) }

func verify(pub *ecdsa.PublicKey, text []byte, signature string) bool {
	return signed.Verify(pub, text, signature)
}
