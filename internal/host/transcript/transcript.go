// Package transcript says what a session of Claude Code wrote down of a text that its inbox was handed. The client
// notes each one that it takes before anything becomes of it, and drops others without a word: some of a burst, and
// what it was handed a moment before, byte for byte. So the transcript settles what a missing receipt leaves open.
//
// Nothing is read but regular files of this user, below the directory in which the client keeps them.
package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/agent/claude/streamjson"
	"assent/internal/hook"
	"assent/internal/host/regular"
)

// Standing is where a text is.
type Standing int

// Where a text can be. Nothing follows from Unknown: there is no transcript, or it cannot be read.
const (
	Unknown Standing = iota
	Absent           // the session never took it
	Queued           // it waits in the session's queue
	Gone             // the session does not have it and will not: it left the queue otherwise, or the process ended
	Read             // it is in the agent's context
)

// Process is the process that a session has now.
type Process struct {
	Live bool
	// Began is when it began: the queue of an earlier one is gone with it. The zero time says that it is not known.
	Began time.Time
}

const (
	maxFiles = 16       // of one session
	maxRead  = 64 << 20 // bytes from the end of one
	// settled is how long what was taken out of the queue may need until it stands in the transcript as read.
	settled = 10 * time.Second
)

// Look reads the transcript of a session for a text that its inbox was handed. dir is the client's directory, such
// as ~/.claude, and p was looked for before.
func Look(dir, session, content string, p Process) (Standing, error) {
	if !hook.PlainToken(session) {
		return Unknown, errors.New("no session has such an id")
	}
	names, err := filepath.Glob(filepath.Join(dir, "projects", "*", session+".jsonl"))
	if err != nil || len(names) == 0 {
		return Unknown, errors.Join(errors.New("the session has no transcript here"), err)
	}
	var all mark
	for _, name := range names[:min(len(names), maxFiles)] {
		if err := all.file(name, content); err != nil {
			return Unknown, err
		}
	}
	return all.standing(p, time.Now()), nil
}

// mark is what was read of a text.
type mark struct {
	read            bool
	inQueue, taken  bool      // it was put in the queue; and taken out after that
	queued, removed time.Time // when last
}

func (m *mark) standing(p Process, now time.Time) Standing {
	switch {
	case m.read:
		return Read
	case !p.Live, m.taken && now.Sub(m.removed) > settled, m.inQueue && !p.Began.IsZero() && m.queued.Before(p.Began):
		return Gone
	case m.inQueue:
		return Queued
	}
	return Absent
}

// file takes in one file.
func (m *mark) file(name, content string) error {
	f, info, err := regular.Open(name, os.O_RDONLY, regular.NoLink|regular.Mine)
	if errors.Is(err, regular.ErrRefused) {
		return fmt.Errorf("%s is no file of this user's", name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return m.lines(io.NewSectionReader(f, max(info.Size()-maxRead, 0), maxRead), content) // however fast it grows
}

// lines takes in a text. A line that begins before it, or is longer than any of this text, says nothing.
func (m *mark) lines(r io.ReaderAt, content string) error {
	lines := streamjson.NewLines(0)
	for {
		line, ok := lines.Next()
		if !ok {
			n, err := lines.Fill(r)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if n == 0 {
				return nil
			}
			continue
		}
		if !bytes.Contains(line, []byte(claude.InboxTag)) { // most lines are not worth taking apart
			continue
		}
		switch h := claude.HandedBy(line, content); {
		case h.Read:
			m.read = true
		case h.Queued:
			m.inQueue, m.taken, m.queued = true, false, h.At
		case h.Removed && m.inQueue:
			m.taken, m.removed = true, h.At
		}
	}
}
