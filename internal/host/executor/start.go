package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assent/internal/agent/claude/streamjson"
	"assent/internal/host/optin"
	"assent/internal/host/process"
	"assent/internal/host/wholefile"
)

// Names of the files in a session's directory.
const (
	metaFile     = "meta.json"
	journalFile  = "journal"
	inFile       = "in.fifo"
	outFile      = "out.jsonl"
	errFile      = "err.txt"
	settingsFile = "settings.json"
	mcpFile      = "mcp.json"
)

// meta says whose a session is; it is written once.
type meta struct {
	Session  string    `json:"session"`
	Agent    string    `json:"agent"`
	Project  string    `json:"project"`
	Worktree string    `json:"worktree,omitempty"` // name of its work tree, if it has one of its own
	MadeAt   time.Time `json:"madeAt"`
}

// args are the words behind the agent's program. known says that the client has the session already.
func (s *session) args(agent optin.Agent, known bool, budget float64, hooks bool) []string {
	session := "--session-id"
	if known {
		session = "--resume"
	}
	words := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages",
		session, s.meta.Session, "--permission-mode", agent.Mode,
		"--max-budget-usd", strconv.FormatFloat(budget, 'f', 6, 64),
		"--mcp-config", filepath.Join(s.dir, mcpFile), "--permission-prompt-tool", "mcp__assent__approve",
	}
	if hooks {
		words = append(words, "--settings", filepath.Join(s.dir, settingsFile))
	}
	if s.meta.Worktree != "" {
		words = append(words, "--worktree", s.meta.Worktree)
	}
	return words
}

// start starts the agent's program for this session. What is noted before is enough to find it again.
func (s *session) start(agent optin.Agent, budget float64, now time.Time) error {
	settings, err := s.h.cfg.Settings(agent)
	if err != nil {
		return fmt.Errorf("settings for the agent: %w", err)
	}
	mcp, err := s.h.cfg.MCP()
	if err != nil {
		return fmt.Errorf("configuration of assent mcp: %w", err)
	}
	if err := wholefile.Write(filepath.Join(s.dir, mcpFile), mcp, 0o600); err != nil {
		return err
	}
	if settings != nil {
		if err := wholefile.Write(filepath.Join(s.dir, settingsFile), settings, 0o600); err != nil {
			return err
		}
	}
	if err := s.note(entry{At: now, Process: &began{}}); err != nil {
		return err
	}
	// What one process left unread in it must not reach the next one.
	s.closeFiles()
	path := filepath.Join(s.dir, inFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return &os.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	out, err := makeFile(filepath.Join(s.dir, outFile))
	if err != nil {
		return err
	}
	defer out.Close()
	complaints, err := makeFile(filepath.Join(s.dir, errFile))
	if err != nil {
		return err
	}
	defer complaints.Close()
	// Its own opening of the pipe, for reading and writing: it never sees an end of its input, whoever dies.
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	in := os.NewFile(uintptr(fd), path)
	defer in.Close()
	if err := s.openFiles(); err != nil {
		return err
	}
	begun, err := transcripts(s.h.cfg.Home, "", s.meta.Session)
	if err != nil {
		return errors.Join(err, s.note(entry{At: now, Exit: &exit{}}))
	}
	words := append([]string{agent.CLI}, s.args(agent, len(begun) > 0, budget, settings != nil)...)
	if s.h.scopes != "" {
		words = append(inScope(s.h.scopes, s.meta.Session, now), words...)
	}
	p, err := os.StartProcess(words[0], words, &os.ProcAttr{
		Dir: agent.Project, Env: agentEnv(s.h.cfg.Environ, s.meta.Session, s.meta.Agent, s.h.cfg.Dir), Files: []*os.File{in, out, complaints},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start the agent: %w", err), s.note(entry{At: now, Exit: &exit{}}))
	}
	pid := p.Pid
	_ = p.Release() // its end is looked for with all others', in poll
	s.h.children[pid] = true
	if err := s.note(entry{At: now, Process: &began{PID: pid, ID: process.ID(pid), Budget: s.cost() + budget, Mode: agent.Mode, CLI: agent.CLI, Timeout: agent.Timeout}}); err != nil {
		sweep(began{PID: pid, ID: process.ID(pid)}, s.meta.Session)
		return err
	}
	s.idleSince, s.meter, s.unseen = now, meter{}, true
	s.write(now, streamjson.Usage(usage+usageBase)) // before all else, so that it is answered before all else
	s.h.cfg.Logf("session %s of %s: process %d started", s.meta.Session, s.meta.Agent, pid)
	return nil
}

// pipeSize is room for the longest line that is written to an agent: one that reads late holds nobody up.
const pipeSize = 1 << 20

// openFiles opens the pipe that the agent reads and the file that it writes.
func (s *session) openFiles() error {
	if s.in != nil {
		return nil
	}
	in, err := os.OpenFile(filepath.Join(s.dir, inFile), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if fi, err := in.Stat(); err != nil || fi.Mode()&fs.ModeNamedPipe == 0 {
		in.Close()
		return fmt.Errorf("%s is no pipe", in.Name())
	}
	enlarge(in, pipeSize)
	out, err := openRegular(filepath.Join(s.dir, outFile), os.O_RDONLY)
	if err != nil {
		in.Close()
		return err
	}
	s.in, s.out, s.lines = in, out, streamjson.NewLines(s.offset)
	return nil
}

func (s *session) closeFiles() {
	if s.in != nil {
		s.in.Close()
		s.out.Close()
		s.in, s.out, s.lines = nil, nil, nil
	}
}

const (
	// writeTime bounds the wait for an agent that does not read a prompt.
	writeTime = 5 * time.Second
	// atOnce is up to how many bytes a pipe takes as a whole or not at all (PIPE_BUF).
	atOnce = 4096
)

// write hands the agent one line, and says whether it did. An agent that does not read is stopped, whatever the line is: it
// may have a part of it, and each line that follows would be waited for as long. What is short is not waited for at all.
func (s *session) write(now time.Time, line []byte) bool {
	if s.in == nil || s.forced == 3 {
		return false
	}
	in := s.in
	var err error
	s.h.unlocked(func() {
		if len(line) <= atOnce {
			err = writeOnce(in, line)
		} else if err = in.SetWriteDeadline(time.Now().Add(writeTime)); err == nil {
			_, err = in.Write(line)
			err = errors.Join(err, in.SetWriteDeadline(time.Time{}))
		}
	})
	if err == nil {
		return true
	}
	code, why := s.stopping, s.stopWhy
	if code == "" {
		code, why = "EXIT", "the agent does not read what it is told"
	}
	s.h.cfg.Logf("session %s of %s: write to the agent: %v; it is stopped", s.meta.Session, s.meta.Agent, err)
	s.stop(now, code, why, 3)
	return false
}

// writeOnce writes what a pipe takes as a whole, if there is room for it now.
func writeOnce(pipe *os.File, line []byte) error {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var writeErr error
	err = conn.Write(func(fd uintptr) bool {
		_, writeErr = syscall.Write(int(fd), line)
		return true
	})
	return errors.Join(err, writeErr)
}

// complaint is the end of what the agent's program wrote as its errors, on one line.
func (s *session) complaint() string {
	text, err := readFile(filepath.Join(s.dir, errFile), maxErrors)
	if err != nil {
		return ""
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
	if len(line) > 160 {
		line = "…" + strings.ToValidUTF8(line[len(line)-160:], "")
	}
	return line
}
