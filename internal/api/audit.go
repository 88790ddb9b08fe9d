package api

// Checkpoint is a checkpoint of the tree over the record (schema AuditCheckpoint).
type Checkpoint struct {
	// Note is the signed note.
	Note string `json:"note"`
	// Key is the public key of the broker that answers, as it verifies notes. Whoever verifies should have it
	// from its owner, not from here.
	Key string `json:"key"`
	// Proof are the hashes, in base64, that the tree of the size that was asked for is the beginning of this one.
	Proof []string `json:"proof,omitempty"`
	// Stopped is why the tree takes nothing more.
	Stopped string `json:"stopped,omitempty"`
	// Late is what is wrong where it still should: entries wait too long for their checkpoint.
	Late string `json:"late,omitempty"`
}
