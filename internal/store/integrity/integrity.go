// Package integrity keeps a mark of the record: a file of our own that says which messages the
// embedded record engine acknowledged, and which of them were removed for a good reason. The
// engine's own files cannot say that: after a flipped bit or a cut file it takes what is left for the
// whole record.
//
// A message is entered after its acknowledgement and before anybody is notified of it, and the entry is
// on the disk by then. So at a start the record may be ahead of the mark, by messages in flight, but
// never behind it. Check compares the two before the engine opens its files, and writes nothing.
//
// # Concurrency
//
// Check, View and Repair are for the owner of the state directory's lock, before the engine runs.
// The methods of Mark may be called from any goroutine; one goroutine, ended by Close, writes.
package integrity

import (
	"path/filepath"
	"time"

	"assent/internal/store/entry"
)

// HeaderMark is on every message of the record: how many entries the mark had on the disk when the
// message was written. A mark that has fewer was cut.
const HeaderMark = "Assent-Mark"

// FileName is the mark's name in the state directory.
const FileName = "integrity"

// Source is one stream of the engine.
type Source struct {
	Name string
	// Dir holds the stream's directory: meta.inf and msgs.
	Dir string
	// MaxAge is how long the engine keeps a message; 0 means for ever.
	MaxAge time.Duration
	// LastOnly says that the engine keeps the last message of each subject: a bucket of keys.
	LastOnly bool
	// Settle returns messages that end what the loss of others leaves open: lost, or, if all is set,
	// messages that nobody can name. Only subject and body of what it returns count. It may be nil.
	Settle func(kept []Message, lost []Entry, all bool) []Message
}

// Message is one that is kept.
type Message = entry.Entry

func (s Source) blocks() string { return filepath.Join(s.Dir, "msgs") }

// Store is a record and its mark.
type Store struct {
	State   string // the state directory
	Engine  string // the directory of the engine, which holds those of the sources
	Sources []Source
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (s Store) path() string { return filepath.Join(s.State, FileName) }

func (s Store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Hash is that of a message.
type Hash = entry.Hash

// Leaf is the hash of a message, see entry.Entry.Text.
func Leaf(seq uint64, subject string, header map[string][]string, body []byte) Hash {
	return Message{Seq: seq, Subject: subject, Header: header, Body: body}.Hash()
}

// Entry is what the mark says of a message.
type Entry struct {
	Seq     uint64
	Subject string
	Time    time.Time // when it was entered, to the millisecond
	Leaf    Hash

	found bool // by Check
}
