package tree

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is a head of the tree, as its signed note says it (C2SP tlog-checkpoint).
type Checkpoint struct {
	Origin string    `json:"origin"` // names the tree, and the keys that sign for it
	Size   int64     `json:"size"`   // leaves
	Root   tlog.Hash `json:"root"`
	Time   time.Time `json:"time"`   // when it was made, to the second
	Record uint64    `json:"record"` // the last entry of the record that is in it
	// Last is the SHA-256 of the text of the checkpoint before, in hex; empty for the first.
	Last string `json:"last,omitempty"`
	// Note is the whole signed note.
	Note string `json:"note"`
}

// text is what is signed.
func (c Checkpoint) text() string {
	last := c.Last
	if last == "" {
		last = "none"
	}
	return strings.Join([]string{
		c.Origin, strconv.FormatInt(c.Size, 10), base64.StdEncoding.EncodeToString(c.Root[:]),
		"time " + c.Time.UTC().Format(time.RFC3339),
		"record " + strconv.FormatUint(c.Record, 10),
		"last " + last,
	}, "\n") + "\n"
}

// Sum is how the next checkpoint names this one.
func (c Checkpoint) Sum() string {
	h := sha256.Sum256([]byte(c.text()))
	return hex.EncodeToString(h[:])
}

// sign sets c.Note.
func (c *Checkpoint) sign(s note.Signer) error {
	text, err := note.Sign(&note.Note{Text: c.text()}, s)
	if err != nil {
		return fmt.Errorf("sign a checkpoint: %w", err)
	}
	c.Note = string(text)
	return nil
}

// ErrCheckpoint says that a text is no checkpoint.
var ErrCheckpoint = errors.New("this is no checkpoint of an assent record")

// ErrSignature says that a checkpoint has no signature by a key that is trusted.
var ErrSignature = errors.New("this checkpoint is not signed by a key that is trusted")

// OpenCheckpoint reads a signed note, and verifies that one of these keys signed it. Without keys it only
// reads.
func OpenCheckpoint(text string, keys ...note.Verifier) (Checkpoint, error) {
	c, err := readCheckpoint(text)
	if err != nil || len(keys) == 0 {
		return c, err
	}
	n, err := note.Open([]byte(text), note.VerifierList(keys...))
	if err != nil {
		return c, ErrSignature
	}
	for _, s := range n.Sigs {
		if s.Name == c.Origin {
			return c, nil
		}
	}
	return c, ErrSignature
}

func readCheckpoint(text string) (c Checkpoint, err error) {
	body, signatures, ok := strings.Cut(text, "\n\n")
	lines := strings.Split(body, "\n")
	if !ok || len(lines) != 6 {
		return c, ErrCheckpoint
	}
	// Package note takes base64 with bits that say nothing: one checkpoint would have several spellings.
	for line := range strings.Lines(signatures) {
		_, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "— "), " ")
		if _, err := base64.StdEncoding.Strict().DecodeString(value); err != nil {
			return c, ErrCheckpoint
		}
	}
	c = Checkpoint{Origin: lines[0], Note: text}
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 0 {
		return c, ErrCheckpoint
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return c, ErrCheckpoint
	}
	value := func(i int, name string) string {
		v, ok := strings.CutPrefix(lines[i], name+" ")
		if !ok {
			err = ErrCheckpoint
		}
		return v
	}
	at, record, last := value(3, "time"), value(4, "record"), value(5, "last")
	if err != nil {
		return c, err
	}
	if c.Time, err = time.Parse(time.RFC3339, at); err != nil {
		return c, ErrCheckpoint
	}
	if c.Record, err = strconv.ParseUint(record, 10, 64); err != nil {
		return c, ErrCheckpoint
	}
	if last != "none" {
		c.Last = last
	}
	if c.Origin == "" || c.text() != body+"\n" {
		return c, ErrCheckpoint
	}
	return c, nil
}

// SplitCheckpoints takes a text apart that holds notes one after the other, as a file does to which each new
// checkpoint is appended.
func SplitCheckpoints(text string) []string {
	var all []string
	var lines []string
	signed := false
	flush := func() {
		if len(lines) > 0 {
			all = append(all, strings.Join(lines, "\n")+"\n")
		}
		lines, signed = nil, false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		isSig := strings.HasPrefix(line, "— ")
		if signed && !isSig {
			flush()
		}
		if len(lines) == 0 && strings.TrimSpace(line) == "" {
			continue
		}
		signed = signed || isSig
		lines = append(lines, line)
	}
	flush()
	return all
}
