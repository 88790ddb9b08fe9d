package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"assent/internal/hook"
	"assent/internal/store/entry"
)

// Kind says what a leaf is about.
type Kind string

// The kinds of leaves.
const (
	// KindRecord is an entry of the record.
	KindRecord Kind = "record"
	// KindStart says that the tree begins with the entry Seq of the stream that was made at Time. Another one
	// further on says that the record was made anew.
	KindStart Kind = "start"
	// KindForgotten says that the content of the entry Seq was removed on purpose.
	KindForgotten Kind = "forgotten"
	// KindGap says that the entries from Seq to To were gone before the tree came to them.
	KindGap Kind = "gap"
)

// Leaf is one leaf of the tree: what is said of an entry even when its content is gone.
type Leaf struct {
	Kind Kind
	Seq  uint64 // in the record
	To   uint64 // of a gap

	// Of a record. Request, Step and Outcome are plain tokens or empty; all but Commitment are empty where
	// the entry cannot be read.
	Request    string
	Step       hook.Step
	Outcome    hook.Outcome
	Time       time.Time  // also of a start
	Commitment entry.Hash // to the whole entry, of which the salt is a part
}

// Entry is one message of the record as it is stored.
type Entry = entry.Entry

// Decode reads an entry as a record.
type Decode func(Entry) (hook.Record, error)

// LeafOf is the leaf of an entry.
func LeafOf(e Entry, decode Decode) Leaf {
	l, _, _ := ReadEntry(e, decode)
	return l
}

// ReadEntry is LeafOf with what decode made of the entry.
func ReadEntry(e Entry, decode Decode) (Leaf, hook.Record, error) {
	l := Leaf{Kind: KindRecord, Seq: e.Seq, Commitment: e.Hash()}
	rec, err := decode(e)
	if err != nil || !hook.PlainToken(rec.RequestID) || !hook.PlainToken(string(rec.Step)) || rec.Outcome != "" && !hook.PlainToken(string(rec.Outcome)) {
		return l, rec, err
	}
	l.Request, l.Step, l.Outcome, l.Time = rec.RequestID, rec.Step, rec.Outcome, rec.Time
	return l, rec, nil
}

// Text is the leaf as it is hashed, and as it is exported. See docs/audit.md.
func (l Leaf) Text() string {
	lines := []string{"assent " + string(l.Kind) + " v1", strconv.FormatUint(l.Seq, 10)}
	switch l.Kind {
	case KindRecord:
		lines = append(lines, l.Request, string(l.Step), timeText(l.Time), string(l.Outcome), hex.EncodeToString(l.Commitment[:]))
	case KindStart:
		lines = append(lines, timeText(l.Time))
	case KindGap:
		lines = append(lines, strconv.FormatUint(l.To, 10))
	}
	return strings.Join(lines, "\n") + "\n"
}

var errLeaf = errors.New("this is no leaf")

// ParseLeaf undoes Text. It takes the one spelling only.
func ParseLeaf(text string) (Leaf, error) {
	lines := strings.Split(text, "\n")
	n := len(lines)
	if n < 3 {
		return Leaf{}, errLeaf
	}
	seq, err := strconv.ParseUint(lines[1], 10, 64)
	if err != nil {
		return Leaf{}, errLeaf
	}
	l := Leaf{Seq: seq}
	switch {
	case lines[0] == "assent record v1" && n == 8:
		l.Kind, l.Request, l.Step, l.Outcome = KindRecord, lines[2], hook.Step(lines[3]), hook.Outcome(lines[5])
		c, err := hex.DecodeString(lines[6])
		if err != nil || len(c) != sha256.Size {
			return Leaf{}, errLeaf
		}
		l.Commitment = entry.Hash(c)
		if l.Time, err = parseTime(lines[4]); err != nil {
			return Leaf{}, errLeaf
		}
	case lines[0] == "assent start v1" && n == 4:
		l.Kind = KindStart
		if l.Time, err = parseTime(lines[2]); err != nil {
			return Leaf{}, errLeaf
		}
	case lines[0] == "assent forgotten v1" && n == 3:
		l.Kind = KindForgotten
	case lines[0] == "assent gap v1" && n == 4:
		l.Kind = KindGap
		if l.To, err = strconv.ParseUint(lines[2], 10, 64); err != nil {
			return Leaf{}, errLeaf
		}
	}
	if l.Kind == "" || l.Text() != text {
		return Leaf{}, errLeaf
	}
	return l, nil
}

// Hash is the leaf's hash in the tree (RFC 6962).
func (l Leaf) Hash() tlog.Hash { return tlog.RecordHash([]byte(l.Text())) }

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("time %q: %w", text, err)
	}
	return t, nil
}

// ParseEntry undoes Entry.Text: it reads what a commitment is to.
func ParseEntry(text []byte) (Entry, error) { return entry.Parse(text) }
