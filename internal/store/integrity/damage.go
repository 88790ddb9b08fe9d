package integrity

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Kinds of damage.
const (
	Lost        = "lost"       // a message that was acknowledged is not there as it was
	Unreadable  = "unreadable" // a part of a file is no message
	DamagedMark = "mark"       // the mark itself
)

// Damage is one thing that is not as it was left.
type Damage struct {
	Kind   string `json:"kind"`
	Stream string `json:"stream,omitempty"`
	// Seq, Subject and Time are those of a message; Time is when it was acknowledged.
	Seq     uint64    `json:"seq,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// File is relative to the state directory, Offset in bytes.
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	What   string `json:"what"`

	path string
}

func (d *Damage) at(s Store, path string, offset int64) {
	d.path, d.File, d.Offset = path, path, offset
	if rel, err := filepath.Rel(s.State, path); err == nil {
		d.File = filepath.ToSlash(rel)
	}
}

// String is a line for people. The subject of a message is a request's id or a key; callers show it
// as foreign text.
func (d Damage) String() string {
	var b strings.Builder
	if d.Seq > 0 {
		fmt.Fprintf(&b, "message %d of %s (%s, %s): ", d.Seq, d.Stream, d.Subject, d.Time.Local().Format(time.DateTime))
	}
	fmt.Fprintf(&b, "%s: %s at byte %d", d.What, d.File, d.Offset)
	return b.String()
}

// DamagedError says that the record is not what was acknowledged.
type DamagedError struct{ Damages []Damage }

func (e *DamagedError) Error() string {
	lost := 0
	for _, d := range e.Damages {
		if d.Kind == Lost {
			lost++
		}
	}
	what := "the record is damaged"
	if lost == 1 {
		what += ", 1 message is lost"
	} else if lost > 1 {
		what += fmt.Sprintf(", %d messages are lost", lost)
	}
	return fmt.Sprintf("%s (%s); nothing is decided until it is fixed: stop the broker and run assent repair", what, e.Damages[0])
}

// claims is how long the record that data begins with says it is.
func claims(data []byte) (n int, ok bool) {
	if len(data) < 4 {
		return recordLeast, true
	}
	n = int(binary.LittleEndian.Uint32(data) &^ hasHeader)
	return n, n >= recordLeast && n <= recordMost
}

// Err is nil if there is no damage, and a *DamagedError otherwise.
func (r *Result) Err() error {
	if len(r.Damages) == 0 {
		return nil
	}
	return &DamagedError{r.Damages}
}
