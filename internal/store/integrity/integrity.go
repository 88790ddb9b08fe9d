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
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
type Message struct {
	Seq     uint64
	Subject string
	Header  map[string][]string
	Body    []byte
}

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

// Hash is an RFC 6962 leaf hash.
type Hash [sha256.Size]byte

// Leaf is the hash of a message. The engine's own headers are left out: it removes some of them.
func Leaf(seq uint64, subject string, header map[string][]string, body []byte) Hash {
	text := binary.BigEndian.AppendUint64([]byte{0}, seq) // 0: a leaf, no node
	put := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	put(subject)
	names := make([]string, 0, len(header))
	for name := range header {
		if !strings.HasPrefix(name, "Nats-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header[name] {
			put(name)
			put(value)
		}
	}
	text = append(text, 0)
	h := sha256.New()
	h.Write(text)
	h.Write(body)
	return Hash(h.Sum(nil))
}

// Entry is what the mark says of a message.
type Entry struct {
	Seq     uint64
	Subject string
	Time    time.Time // when it was entered, to the millisecond
	Leaf    Hash

	found bool // by Check
}
