package hookclient

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"assent/internal/hook"
)

// The payload of a hook names the file in which the agent keeps its session. The end of it holds what
// the agent said before it asked, which helps whoever has to answer. The name is the agent's word, or
// that of whoever runs the hook: so nothing is read but a regular file of our own user, below the
// directory in which this agent keeps such files, without a symbolic link on the way there.

const (
	// maxTailTime bounds how long a request is kept back for its transcript.
	maxTailTime = 5 * time.Millisecond
	// maxTranscriptDepth bounds the directories on the way to a transcript; Claude Code's are at most
	// three deep.
	maxTranscriptDepth = 8
)

// Transcript is the end of the transcript of the agent that asks.
type Transcript struct {
	Text []byte // whole lines, at most hook.MaxTranscript bytes
	Why  string // where there is none: one of the values of hook.Context.SaidWhy, or empty
}

var errNoTranscript = errors.New("this is no transcript that may be read")

// readTail begins to read the end of the transcript that a payload names. read waits for it, no longer
// than Config.tailTime from now on.
func (c *client) readTail(p payload) (read func() Transcript) {
	root, name := transcriptOf(c.cfg.Agent, p, c.cfg.Env)
	switch {
	case !c.sendsTranscript():
		return func() Transcript { return Transcript{Why: hook.SaidOff} }
	case root == "":
		return func() Transcript { return Transcript{} }
	}
	return within(c.cfg.tailTime, func() Transcript { return tailOf(root, name) })
}

// sendsTranscript reports whether the end of the transcript may go where the request goes.
func (c *client) sendsTranscript() bool {
	return c.cfg.Transcript == "on" || c.cfg.Transcript == "" && !c.to.remote
}

// within begins to read, and returns what waits for that for no longer than limit from now on.
func within(limit time.Duration, read func() Transcript) (wait func() Transcript) {
	late := time.NewTimer(limit)
	done := make(chan Transcript, 1)
	go func() { done <- read() }()
	return func() Transcript {
		defer late.Stop()
		select {
		case t := <-done:
			return t
		case <-late.C:
			return Transcript{Why: hook.SaidLate}
		}
	}
}

// transcriptOf returns the file with the words of the agent that asks, which for a subagent has its own
// beside the session's, and the directory in which an agent of this name keeps them; empty where there
// is none or it is not known.
func transcriptOf(agent string, p payload, env func(string) string) (root, name string) {
	if agent != "claude" || p.transcript == "" {
		return "", ""
	}
	root = env("CLAUDE_CONFIG_DIR")
	if !path.IsAbs(root) {
		home := env("HOME")
		if !path.IsAbs(home) {
			return "", ""
		}
		root = path.Join(home, ".claude")
	}
	name = p.transcript
	if p.agentID != "" {
		if !hook.PlainToken(p.agentID) {
			return "", ""
		}
		name = strings.TrimSuffix(name, ".jsonl") + "/subagents/agent-" + p.agentID + ".jsonl"
	}
	return path.Join(root, "projects"), name
}

// tailOf reads the end of the file called name, which must be below root.
func tailOf(root, name string) Transcript {
	f, err := openBelow(root, name)
	if err != nil {
		return Transcript{Why: hook.SaidRefused}
	}
	defer f.Close()
	text, err := lastLines(f)
	switch {
	case err != nil:
		return Transcript{Why: hook.SaidRefused}
	case len(text) == 0:
		return Transcript{Why: hook.SaidBeyond}
	}
	return Transcript{Text: text}
}

// openBelow opens a regular file of our own user below root. Root itself may be reached through links:
// where it is, its owner chose. What lies below it, the agent's tools may have made.
func openBelow(root, name string) (*os.File, error) {
	rest, below := strings.CutPrefix(name, root+"/")
	if !below || path.Clean(name) != name || strings.Count(rest, "/") > maxTranscriptDepth {
		return nil, errNoTranscript
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { dir.Close() }()
	for {
		first, more, deeper := strings.Cut(rest, "/")
		if !deeper {
			break
		}
		next, err := stepInto(dir, first)
		if err != nil {
			return nil, err
		}
		dir.Close()
		dir, rest = next, more
	}
	seen, err := dir.Lstat(rest)
	if err != nil || !seen.Mode().IsRegular() {
		return nil, errNoTranscript // whatever else it is, opening it could do something
	}
	f, err := dir.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(seen, is) || !is.Mode().IsRegular() || !ours(is) {
		f.Close()
		return nil, errNoTranscript
	}
	return f, nil
}

// stepInto opens a directory in dir, if it is one and no link to one, also not by now.
func stepInto(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil || !seen.IsDir() {
		return nil, errNoTranscript
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := next.Stat("."); err != nil || !os.SameFile(seen, is) {
		next.Close()
		return nil, errNoTranscript
	}
	return next, nil
}

// ours reports whether a file belongs to the user who runs the hook.
func ours(i fs.FileInfo) bool {
	stat, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// lastLines reads the lines that are whole within the last hook.MaxTranscript bytes.
func lastLines(f *os.File) ([]byte, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := max(0, size-hook.MaxTranscript)
	text := make([]byte, size-from)
	n, err := f.ReadAt(text, from)
	if err != nil && err != io.EOF { // EOF: it was cut meanwhile
		return nil, err
	}
	text = text[:n]
	if from > 0 {
		i := 0
		for i < len(text) && text[i] != '\n' {
			i++
		}
		text = text[min(i+1, len(text)):]
	}
	return text, nil
}
