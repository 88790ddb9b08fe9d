package api

import "assent/internal/hook"

// PublishedRules is a version of the rules that are in force for all brokers, and which broker follows which
// (schema PublishedRules).
type PublishedRules struct {
	hook.RulesVersion
	Brokers []hook.RulesFollowing `json:"brokers"`
}

// PublishRules makes text the version after After (schema PublishRules).
type PublishRules struct {
	Text  string `json:"text"`
	After int    `json:"after"`
	// Signed is a signature of Text, nil where nobody signs it.
	Signed *hook.RulesSignature `json:"signed,omitempty"`
}
