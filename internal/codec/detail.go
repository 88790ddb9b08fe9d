package codec

import "assent/internal/hook"

// Detail reads what an event says beyond Decode's Payload, for the feed. It never fails: what
// cannot be read is left out, and Detail.Problem says why.
func Detail(agentName, event string, raw []byte) hook.Detail { return hook.Detail{} }
