// Package tree is the Merkle tree over the record, which lets anybody verify that no entry was changed, left
// out or put in later. Each entry of the record becomes a leaf, each 256 leaves or each minute a block: leaves
// and a signed checkpoint, in a stream that nothing is removed from. docs/audit.md is the specification.
//
// # Concurrency
//
// All methods of Log may be called from any goroutine. Run is called once. Several brokers may write one
// tree: a block is appended by compare-and-set, and who comes second compares the other's leaves with its own.
package tree
