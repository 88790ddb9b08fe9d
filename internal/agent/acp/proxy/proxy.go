// Package proxy stands on the pipe between an editor and an agent that speak the Agent Client Protocol:
// it starts the agent, carries every line as it is, and puts the agent's requests for permission to
// somebody else, too. What a line means, package acp knows.
//
// The agent must never fare worse for it. Whatever is wrong with who is asked, lines pass, and the editor's
// own dialog decides.
//
// # Concurrency
//
// Run has a goroutine for each direction, one that waits for the agent, and one for each question that
// waits, of which package acp bounds the number. All end before Run returns but the one that reads from
// the editor: a read of a pipe cannot be interrupted, so it is left behind where the agent ended first, and
// writes to nobody.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"assent/internal/agent/acp"
)

// Config says whose lines are carried, and who is asked.
type Config struct {
	// Argv is the agent's program and its arguments.
	Argv []string
	// In and Out are the editor's; the agent shares Err.
	In  io.Reader
	Out io.Writer
	Err *os.File
	// Ask puts a question, of the agent's process pid, to whoever else may answer it, and blocks until there
	// is an answer, or ctx is done. nil: nobody is asked.
	Ask func(ctx context.Context, q *acp.Question, pid int) acp.Decision
}

// How long an agent may take to end: of itself when its editor has gone, then after a signal. And how long,
// and how often, what it wrote is waited for when it has ended: an editor may read slowly, and somebody
// whom the agent started may hold its output open for good.
const (
	endsItself  = 5 * time.Second
	endsOnTerm  = 5 * time.Second
	lastOutput  = time.Second
	mostOutputs = 30
)

// Run starts the agent and returns its exit status when it has ended: 128 and the signal's number where
// one ended it. The end of In, and that of ctx, end the agent. An error means that it could not be started.
func Run(ctx context.Context, cfg Config) (status int, err error) {
	cmd := exec.Command(cfg.Argv[0], cfg.Argv[1:]...)
	if cfg.Err != nil {
		cmd.Stderr = cfg.Err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe to the agent: %w", err)
	}
	out, childOut, err := os.Pipe() // Wait would close a StdoutPipe before all of it is read
	if err != nil {
		return 0, fmt.Errorf("make a pipe from the agent: %w", err)
	}
	cmd.Stdout = childOut
	err = cmd.Start()
	childOut.Close()
	if err != nil {
		stdin.Close()
		out.Close()
		return 0, fmt.Errorf("start the agent: %w", err)
	}
	asking, stop := context.WithCancel(ctx)
	p := &proxy{
		cfg: cfg, ctx: asking, pid: cmd.Process.Pid, talk: acp.NewConversation(cfg.Argv[0]),
		agent: &lineWriter{w: stdin}, editor: &lineWriter{w: cfg.Out},
	}
	editorGone, agentSilent, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(editorGone)
		_ = carry(cfg.In, p.agent, p.fromEditor) // however it ends, there is nobody on one side
	}()
	go func() {
		defer close(agentSilent)
		defer out.Close() // an agent that goes on writing finds out
		_ = carry(out, p.editor, p.fromAgent)
	}()
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its status stands in ProcessState
	}()

	select {
	case <-editorGone:
	case <-agentSilent: // it closed its output, so nobody hears it
	case <-ended:
	case <-ctx.Done():
	}
	p.talk.Close()
	stop()
	end(ctx, cmd.Process, stdin, ended)
	if p.drained(ctx, out, agentSilent) {
		p.questions.Wait()
	}
	return statusOf(cmd.ProcessState), nil
}

// drained waits until all that the agent wrote has gone to the editor, and reports whether that is so.
func (p *proxy) drained(ctx context.Context, out io.Closer, silent <-chan struct{}) bool {
	for range mostOutputs {
		select {
		case <-silent:
			return true
		case <-time.After(lastOutput):
		}
		if !p.editor.busy.Load() || ctx.Err() != nil { // somebody whom the agent started holds it open
			out.Close()
		}
	}
	return false
}

// end waits for the agent's end, and brings it about.
func end(ctx context.Context, agent *os.Process, stdin io.Closer, ended <-chan struct{}) {
	stdin.Close()
	wait := time.NewTimer(endsItself)
	defer wait.Stop()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	case <-wait.C:
	}
	_ = agent.Signal(syscall.SIGTERM) // it may have ended by now
	wait.Reset(endsOnTerm)
	select {
	case <-ended:
		return
	case <-wait.C:
	}
	_ = agent.Kill()
	<-ended
}

func statusOf(s *os.ProcessState) int {
	if s == nil {
		return 1
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// proxy is one run.
type proxy struct {
	cfg           Config
	ctx           context.Context // of all questions
	pid           int
	talk          *acp.Conversation
	agent, editor *lineWriter
	questions     sync.WaitGroup
	blind         sync.Once
}

// look calls see, and nothing any more once that has failed: a bug of ours must not become the agent's.
func (p *proxy) look(see func()) {
	defer func() {
		if r := recover(); r != nil {
			p.blind.Do(func() { p.warn(errors.New("internal error; nobody is asked any more")) })
			p.talk.Close()
		}
	}()
	see()
}

func (p *proxy) warn(err error) {
	if p.cfg.Err != nil {
		fmt.Fprintln(p.cfg.Err, "assent acp:", err)
	}
}

func (p *proxy) fromAgent(line []byte, whole bool) (bool, passed) {
	if p.cfg.Ask == nil {
		return true, nil
	}
	var q *acp.Question
	p.look(func() { q = p.talk.FromAgent(line, whole) })
	if q == nil {
		return true, nil
	}
	return true, func() { p.questions.Go(func() { p.ask(q) }) }
}

func (p *proxy) fromEditor(line []byte, whole bool) (may bool, _ passed) {
	may = true
	if p.cfg.Ask != nil {
		p.look(func() { may = p.talk.FromEditor(line, whole) })
	}
	return may, nil
}

// ask puts a question, and gives the answer to the agent, and then to the editor that it needs none any
// more, unless that was quicker.
func (p *proxy) ask(q *acp.Question) {
	defer p.talk.Drop(q)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	answered := make(chan acp.Decision, 1)
	go func() {
		d := acp.Undecided
		defer func() { answered <- d }()
		p.look(func() { d = p.cfg.Ask(ctx, q, p.pid) })
	}()
	var d acp.Decision
	select {
	case d = <-answered:
	case <-q.Withdrawn():
		cancel()
		<-answered
		return
	}
	if toAgent, toEditor, ok := p.talk.Answer(q, d); ok {
		if p.agent.write(toAgent) == nil { // else it has gone, and so does the dialog
			_ = p.editor.write(toEditor)
		}
	}
}
