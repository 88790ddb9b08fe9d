package api

import "assent/internal/hook"

// Halt is whether everything is stopped or paused (schema Halt).
type Halt struct {
	// Revision names this state; what a device signs repeats it.
	Revision uint64 `json:"revision"`
	// Stopped is who stopped everything, Paused who paused it and until when; nil where that does not
	// hold now.
	Stopped *hook.HaltAct `json:"stopped,omitempty"`
	Paused  *hook.HaltAct `json:"paused,omitempty"`
	// Acts are the last acts, the newest last.
	Acts []hook.HaltAct `json:"acts"`
}

// NewHalt is what is posted to stop or to pause everything, and sent to end that (schemas NewStop,
// NewPause).
type NewHalt struct {
	Seconds   int     `json:"seconds,omitempty"`  // of a pause
	Revision  *uint64 `json:"revision,omitempty"` // nil: whatever is in force
	Signature string  `json:"signature,omitempty"`
}

// StopResult is the answer to a stop (schema StopResult).
type StopResult struct {
	Halt
	// Denied is how many requests waited and were denied, and Left how many could not be.
	Denied int `json:"denied"`
	Left   int `json:"left"`
}

// HaltMessage is a Message of type MessageHalt.
type HaltMessage struct {
	Type string `json:"type"`
	Halt Halt   `json:"halt"`
}
