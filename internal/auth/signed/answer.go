package signed

import (
	"encoding/json"
	"errors"
	"fmt"

	"assent/internal/hook"
)

// Answer is a decision on its way to a hook that verifies it: what was signed, byte for
// byte. The JSON members of a decision travel as texts, since JSON inside of JSON would lose its white space.
type Answer struct {
	RequestID          string         `json:"requestId"`
	Behavior           hook.Behavior  `json:"behavior"`
	InputSHA256        string         `json:"inputSha256,omitempty"`
	Message            string         `json:"message,omitempty"`
	Interrupt          bool           `json:"interrupt,omitempty"`
	UpdatedInput       string         `json:"updatedInput,omitempty"`
	UpdatedPermissions string         `json:"updatedPermissions,omitempty"`
	Shown              string         `json:"shown,omitempty"`
	SignedAt           string         `json:"signedAt,omitempty"`
	Signature          string         `json:"signature,omitempty"`
	PublicKey          *hook.JWK      `json:"publicKey,omitempty"`
	By                 *hook.Approver `json:"by,omitempty"` // nobody vouches for it
	// Rules and RulesText are, of an allow by rule, the signed rules that are in force, for who evaluates them.
	Rules     *hook.RulesSignature `json:"rules,omitempty"`
	RulesText string               `json:"rulesText,omitempty"`
}

// NewAnswer is a decision about the request of this id, as it was recorded.
func NewAnswer(requestID string, d hook.Decision, by *hook.Approver) Answer {
	return Answer{
		RequestID: requestID, Behavior: d.Behavior, InputSHA256: d.InputSHA256, Message: d.Message, Interrupt: d.Interrupt,
		UpdatedInput: string(d.UpdatedInput), UpdatedPermissions: string(d.UpdatedPermissions),
		Shown: d.Shown, SignedAt: d.SignedAt, Signature: d.Signature, PublicKey: d.PublicKey, By: by,
	}
}

// Decision is the decision that was sent.
func (a Answer) Decision() hook.Decision {
	return hook.Decision{
		Behavior: a.Behavior, InputSHA256: a.InputSHA256, Message: a.Message, Interrupt: a.Interrupt,
		UpdatedInput: hook.JSON(a.UpdatedInput), UpdatedPermissions: hook.JSON(a.UpdatedPermissions),
		Shown: a.Shown, SignedAt: a.SignedAt, Signature: a.Signature, PublicKey: a.PublicKey,
	}
}

// Encode returns the answer as it is sent.
func (a Answer) Encode() ([]byte, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode a signed answer: %w", err)
	}
	return b, nil
}

var errNoAnswer = errors.New("what the broker sent is no decision as it was signed; a broker before this version sends none")

// ReadAnswer reads what a broker sent. It believes nothing of it.
func ReadAnswer(body []byte) (a Answer, err error) {
	if err := json.Unmarshal(body, &a); err != nil || a.Behavior != hook.BehaviorAllow && a.Behavior != hook.BehaviorDeny {
		return Answer{}, errNoAnswer
	}
	return a, nil
}
