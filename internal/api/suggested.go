package api

import (
	"time"

	"assent/internal/hook"
)

// Suggestions are the few narrow rules that would have answered the most of what people allowed, and none
// of what was denied or edited (schema Suggestions).
type Suggestions struct {
	At       time.Time `json:"at"`       // when it was looked
	Examined int       `json:"examined"` // the newest requests that are over, so many
	Allowed  int       `json:"allowed"`  // of these, by a person, as they stood
	Already  int       `json:"already"`  // of these, what the rules in force would allow now
	Answered int       `json:"answered"` // of these, what the suggestions would have answered

	Suggestions []Suggestion `json:"suggestions"` // the one that answers most in front
}

// Suggestion is one of them. It is saved as a proposal of its request is (NewSaved).
type Suggestion struct {
	RequestID   string           `json:"requestId"`
	InputSHA256 string           `json:"inputSha256"`
	Proposal    string           `json:"proposal"` // its digest
	Sentence    string           `json:"sentence"`
	Warnings    []string         `json:"warnings,omitempty"`
	Rule        string           `json:"rule"` // what would stand in a rules file, without the id
	Answers     int              `json:"answers"`
	Newest      hook.PastRequest `json:"newest"` // that it would have answered
}
