// Package entry is one message of the record as it is hashed: for the mark of the record and for the tree over it.
package entry

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// Entry is one message of the record as it is stored.
type Entry struct {
	Seq     uint64
	Subject string
	Header  map[string][]string
	Body    []byte
}

// Hash is the SHA-256 of a Text.
type Hash [sha256.Size]byte

// Hash is that of the entry's text.
func (e Entry) Hash() Hash {
	h := sha256.New()
	h.Write(e.head())
	h.Write(e.Body)
	return Hash(h.Sum(nil))
}

// Text is what an entry is hashed as: a zero, the sequence in 8 bytes, the subject, each header by name with its
// value, an empty name, the body. Texts but the body come with their length (uvarint). The headers of the engine
// that stores it are left out: it removes some of them.
func (e Entry) Text() []byte { return append(e.head(), e.Body...) }

func (e Entry) head() []byte {
	names, size := make([]string, 0, len(e.Header)), 1+8+2*binary.MaxVarintLen64+len(e.Subject)
	for name, values := range e.Header {
		if name == "" || strings.HasPrefix(name, "Nats-") {
			continue
		}
		names = append(names, name)
		for _, value := range values {
			size += 2*binary.MaxVarintLen64 + len(name) + len(value)
		}
	}
	slices.Sort(names)
	text := binary.BigEndian.AppendUint64(append(make([]byte, 0, size), 0), e.Seq) // 0: a leaf, no node
	put := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	put(e.Subject)
	for _, name := range names {
		for _, value := range e.Header[name] {
			put(name)
			put(value)
		}
	}
	return append(text, 0)
}

var errText = errors.New("this is not the text of an entry")

// Parse undoes Text; the body is a part of text.
func Parse(text []byte) (e Entry, err error) {
	if len(text) < 9 || text[0] != 0 {
		return e, errText
	}
	e.Seq, e.Header = binary.BigEndian.Uint64(text[1:]), map[string][]string{}
	rest := text[9:]
	take := func() (string, bool) {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return "", false
		}
		s := string(rest[used : used+int(n)])
		rest = rest[used+int(n):]
		return s, true
	}
	var ok bool
	if e.Subject, ok = take(); !ok {
		return e, errText
	}
	for {
		name, ok := take()
		if !ok {
			return e, errText
		}
		if name == "" {
			break
		}
		value, ok := take()
		if !ok {
			return e, errText
		}
		e.Header[name] = append(e.Header[name], value)
	}
	e.Body = rest
	return e, nil
}
