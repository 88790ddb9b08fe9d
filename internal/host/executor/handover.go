package executor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/host/inbox"
	"assent/internal/host/optin"
)

// considerHandover says why the session cannot be handed over.
func (s *session) considerHandover() string {
	if s.broken != nil {
		return s.broken.Error()
	}
	if s.handover() != nil {
		return "the session is being handed over already"
	}
	own := 0
	if s.runs {
		own = s.process.PID
	}
	live, err := inbox.Live(inbox.Dir(s.h.cfg.Home, ""), s.meta.Session, own)
	for _, l := range live {
		if l.PID != own {
			return fmt.Sprintf("the session is open in another place already: process %d (%s) on the host", l.PID, l.Kind)
		}
	}
	return unsure(err)
}

// unsure says why nothing is started or handed over while it is not known whether somebody else works on the session.
func unsure(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "; then send this again"
}

// handOver goes on with a handover: once no turn runs the process is ended, and once it is gone a terminal may go on.
func (s *session) handOver(now time.Time, c *message) {
	if c.state == confirmed && s.runs && s.note(entry{At: now, Message: c.ID, State: started}) != nil {
		return
	}
	m := s.outstanding()
	switch {
	case m != nil && m.state != lost: // a lost one waits for a receipt that may never come
	case !s.runs:
		_ = s.note(entry{At: now, Message: c.ID, State: ended, Outcome: hook.OutcomeCompleted, Command: s.command()})
		s.h.cfg.Logf("session %s of %s is handed over to a terminal", s.meta.Session, s.meta.Agent)
	case s.stopping == "":
		s.stop(now, "EXIT", "the session is handed over to a terminal", 1)
	}
}

// command is the line for a shell that goes on with the session in a terminal.
func (s *session) command() string {
	program := "claude"
	if file, err := s.h.cfg.File(); err == nil {
		if agent, ok := file.Agent(s.meta.Agent); ok {
			program = typed(agent.CLI)
		}
	}
	return "cd " + shellWord(s.workDir()) + " && " + shellWord(program) + " --resume " + s.meta.Session
}

// workDir is where the session works: in its work tree, if that is still there, and no link to another place.
func (s *session) workDir() string {
	if tree := optin.Tree(s.meta.Project, s.meta.Worktree); s.meta.Worktree != "" && optin.InPlace(s.meta.Project, tree) == nil {
		return tree
	}
	return s.meta.Project
}

// typed is what a person has to type for a program: its name, if that finds it.
func typed(path string) string {
	name := filepath.Base(path)
	found, err := exec.LookPath(name)
	if err != nil {
		return path
	}
	x, err1 := os.Stat(found)
	y, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(x, y) {
		return path
	}
	return name
}

// shellWord is a text as one word for a shell, quoted only where it has to be.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%,", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return install.Quote(text)
}
