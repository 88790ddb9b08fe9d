// Package follow is what the followers of a stream have in common: the cursor that each of them keeps
// beside what it makes of the messages, and the answer to where it goes on.
package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrAnew is what reading from a Cursor ends with when the stream was deleted and made anew: its
// sequences say nothing about those of before. Resume says where to go on.
var ErrAnew = errors.New("the stream was made anew")

// Cursor is up to where a follower has read a stream. It is stored together with what the follower
// made of the messages up to there, or after it, never before. The zero value has read nothing.
type Cursor struct {
	// Seq is the sequence of the last message that the follower is done with; 0 for none.
	Seq uint64 `json:"seq"`
	// Made is when the stream was made that Seq counts in, and tells it from another of the same name.
	// It is zero when nothing was read, and in what earlier releases stored, which knew Seq alone.
	Made time.Time `json:"stream,omitzero"`
	// Stored is when a cursor without Made was stored. It is not stored itself: who loads such a cursor
	// sets it. A stream that was made later is not the one that Seq counts in.
	Stored time.Time `json:"-"`
}

// Stream is what a follower has to know of a stream before it goes on.
type Stream struct {
	Made time.Time
	Last uint64 // sequence of the newest message that was ever stored; 0 without any
}

// Found is how Resume found a stream.
type Found int

const (
	// Same is the stream that was read, and it has everything behind the cursor that came since.
	Same Found = iota
	// Anew is another stream of the same name.
	Anew
	// Shorter is the stream that was read, without its end: a power cut took it, or the stream was
	// put back to what it once was. It gives the sequences that were lost to others.
	Shorter
)

// Resume returns where a follower goes on in the stream as it is now: behind c, at the beginning of a
// stream that was made anew, or at the end of one that became shorter.
func (c Cursor) Resume(s Stream) (Cursor, Found) {
	switch {
	case c.ofAnother(s):
		return Cursor{Made: s.Made}, Anew
	case c.Seq > s.Last:
		return Cursor{Seq: s.Last, Made: s.Made}, Shorter
	}
	return Cursor{Seq: c.Seq, Made: s.Made}, Same
}

// ofAnother reports whether Seq does not count in s. Where nothing tells, a stream that ends before
// Seq is another: to read too much again loses nothing.
func (c Cursor) ofAnother(s Stream) bool {
	switch {
	case !c.Made.IsZero():
		return !c.Made.Equal(s.Made)
	case !c.Stored.IsZero():
		return s.Made.After(c.Stored)
	}
	return c.Seq > s.Last
}

// Explain says for an operator what Resume of c found of s, which people call name. It is empty for Same.
func (f Found) Explain(name string, c Cursor, s Stream) string {
	switch f {
	case Anew:
		return fmt.Sprintf("%s was made anew since %d was read from it, and ends at %d now; reading all of it", name, c.Seq, s.Last)
	case Shorter:
		return fmt.Sprintf("%s ends at %d, but %d was read from it: its end is lost", name, s.Last, c.Seq)
	}
	return ""
}

// Encode returns c as it is stored where it stands alone.
func (c Cursor) Encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a number and a time of this era always encode
	}
	return b
}

// Decode reads what Encode wrote, or the plain number of earlier releases, of which the caller sets
// Stored.
func Decode(b []byte) (c Cursor, err error) {
	if len(b) > 0 && b[0] == '{' {
		err = json.Unmarshal(b, &c)
	} else {
		c.Seq, err = strconv.ParseUint(string(b), 10, 64)
	}
	if err != nil {
		return Cursor{}, fmt.Errorf("a cursor is %.32q, which is none", b)
	}
	return c, nil
}
