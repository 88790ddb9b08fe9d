package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/host/optin"
)

// A session is handed over from when that is claimed until it is over, and takes nothing but a resume after it.
func TestBookOfAHandover(t *testing.T) {
	const resume = "33333333-3333-4333-8333-333333333333"
	b := book{fresh: true}
	b.apply(entry{Order: &Order{ID: one, Kind: hook.MessagePrompt}})
	b.apply(entry{Order: &Order{ID: two, Kind: hook.MessageHandover}})
	if b.handover() == nil || b.outstanding().ID != one || b.handed {
		t.Errorf("claimed: %+v", b)
	}
	b.apply(entry{Message: one, State: ended, Outcome: hook.OutcomeCompleted})
	b.apply(entry{Message: two, State: started})
	if b.handover() == nil || b.outstanding() != nil {
		t.Errorf("begun: %+v", b)
	}
	b.apply(entry{Message: two, State: ended, Outcome: hook.OutcomeCompleted, Command: "cd x"})
	if b.handover() != nil || !b.handed || b.find(two).command != "cd x" {
		t.Errorf("over: %+v", b)
	}
	b.apply(entry{Order: &Order{ID: resume, Kind: hook.MessageResume}})
	if !b.handed {
		t.Error("whether the resume is ours is not known yet")
	}
	b.apply(entry{Message: resume, State: confirmed})
	if b.handed {
		t.Error("the host goes on with it")
	}
	s := &session{meta: meta{Session: "s", Agent: "coder"}, book: b}
	for _, f := range s.frames() {
		if f.Message == two && (f.Outcome != hook.OutcomeCompleted) != (f.Command == "") || f.Event != nil && strings.HasPrefix(f.ID, two) {
			t.Errorf("%+v", f)
		}
	}
}

// The command goes to where the session works, and is one that a shell takes apart as it is meant.
func TestCommandOfAHandover(t *testing.T) {
	project := filepath.Join(t.TempDir(), "it's here")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &Host{cfg: Config{Home: t.TempDir(), Logf: t.Logf, File: func() (optin.File, error) {
		return optin.File{Agents: []optin.Agent{{Name: "coder", CLI: "/opt/no such/claude"}}}, nil
	}}}
	s := &session{h: h, meta: meta{Session: two, Agent: "coder", Project: project, Worktree: "assent-x", MadeAt: time.Now()}}
	quoted := strings.ReplaceAll(project, "'", `'\''`)
	if want := "cd '" + quoted + "' && '/opt/no such/claude' --resume " + two; s.command() != want {
		t.Errorf("%s, want %s", s.command(), want)
	}
	if err := os.MkdirAll(filepath.Join(project, ".claude/worktrees/assent-x"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.meta.Agent = "another"
	if want := "cd '" + quoted + "/.claude/worktrees/assent-x' && claude --resume " + two; s.command() != want {
		t.Errorf("%s, want %s", s.command(), want)
	}
}
