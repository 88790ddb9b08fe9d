package hook

import "time"

// MaxPause is the longest pause.
const MaxPause = 24 * time.Hour

// What approvers do to all requests at once.
const (
	HaltStop   = "stop"   // deny what waits; rules and grants allow nothing until HaltLift
	HaltLift   = "lift"   // rules and grants allow again
	HaltPause  = "pause"  // new requests are left to the agents' own prompts, for a time
	HaltResume = "resume" // the pause ends early
)

// HaltAct is one of these acts, as the record keeps it (schema HaltAct).
type HaltAct struct {
	Act string    `json:"act"`
	At  time.Time `json:"at"`
	By  Approver  `json:"by"`
	// Seconds is how long a pause was asked for, and Until when it ends.
	Seconds int       `json:"seconds,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	// Basis is the revision of the state that the approver acted on. It is part of what a device
	// signs, so that what was signed once cannot be done again later.
	Basis uint64 `json:"basis,omitempty"`
	// Signature is the device's, and PublicKey what it was verified with. Neither is there for an
	// approver that has no key.
	Signature string `json:"signature,omitempty"`
	PublicKey *JWK   `json:"publicKey,omitempty"`
}

// Halt is whether everything is stopped or paused, with the last acts that led there.
type Halt struct {
	// Revision grows with every act; 0 before the first.
	Revision uint64
	// Acts are the last ones, the newest last. The newest alone says what is in force.
	Acts []HaltAct
}

// Stopped is the act that stopped everything; nil while nothing is stopped.
func (h *Halt) Stopped() *HaltAct { return h.last(HaltStop) }

// Paused is the act that paused everything, if that still holds at a time; else nil.
func (h *Halt) Paused(now time.Time) *HaltAct {
	if p := h.last(HaltPause); p != nil && now.Before(p.Until) {
		return p
	}
	return nil
}

// last is the newest act if it is of this kind.
func (h *Halt) last(act string) *HaltAct {
	if n := len(h.Acts); n > 0 && h.Acts[n-1].Act == act {
		return &h.Acts[n-1]
	}
	return nil
}
