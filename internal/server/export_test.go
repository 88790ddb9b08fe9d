package server

import (
	"net/http"

	"golang.org/x/time/rate"
)

// LetSend lifts the bound on how many messages one credential sends.
func (s *Server) LetSend() { s.senders.burst = 1 << 20 }

// LetGuess answers any number of wrong credentials, for tests that present more of them than the
// bound lets through in their time. That bound has a test of its own.
func (s *Server) LetGuess() { s.guesses.SetLimit(rate.Inf) }

// FromHere reports whether a call came from this machine, and through no proxy.
func (s *Server) FromHere(r *http.Request) bool { return s.fromHere(r) }

// The bounds of what comes at once.
const (
	MostComing  = mostComing
	ComesWithin = comesWithin
)
