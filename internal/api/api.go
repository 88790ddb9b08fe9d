// Package api is what the broker and its clients say to each other: every JSON object of the HTTP
// API and the WebSocket, in the words and the order in which they travel. The server encodes these
// types and the commands decode them, so that a member is added in one place.
//
// Objects that are also kept, or that another package computes, are defined there and stand here
// under their name in the API: hook.Decision, hook.Proposals, auth.Device. The schemas in schemas/
// remain the contract for everybody else; a test compares the two.
//
// Client calls a broker. It starts no goroutine that outlives a call, apart from those of net/http for
// idle connections.
package api

import (
	"assent/internal/auth"
	"assent/internal/hook"
)

// The credentials, as package auth knows them.
type (
	Token          = auth.Token
	Device         = auth.Device
	Pairing        = auth.Pairing
	PairingStart   = auth.Start
	PairingWaiting = auth.Waiting
)

// What requests can become, and what became of them.
type (
	Decision  = hook.Decision
	Proposals = hook.Proposals
	Settled   = hook.Settled
	// RecordedMessage is a message to an agent of which the record has entries.
	RecordedMessage = hook.RecordedMessage
	Stats           = hook.Stats
)
