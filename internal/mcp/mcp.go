// Package mcp is assent as an MCP server on standard input and output. It has one tool, approve,
// for agents that ask a tool before they run another: Claude Code's --permission-prompt-tool.
//
// Facts it rests on, found by experiment with Claude Code 2.1.197 and 2.1.329: the tool is called
// with {tool_name, input, tool_use_id}; the result must be one text with {"behavior":"allow",
// "updatedInput":{…}} or {"behavior":"deny","message":"…"}; whatever else comes back, an error and
// a dead server too, is a denial with words about this plumbing. There is no prompt behind the
// tool that could decide instead, so everything that goes wrong here is a denial with words that
// the model can act on.
//
// # Concurrency
//
// The SDK calls the tool in a goroutine for each call, which ends with its answer, when the agent
// cancels the call, or with Serve; a second one beside it tells the agent that it waits. At most
// maxCalls calls wait; more are denied at once.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ToolName is what the tool is called: mcp__SERVER__approve for the agent.
const ToolName = "approve"

const (
	maxCalls = 64
	// maxLine bounds a message of the agent, in bytes.
	maxLine = 17 << 20
)

// Config says whom to ask and about which session.
type Config struct {
	// Ask asks the broker about a PermissionRequest and returns what a hook would print; nothing
	// means that the broker left the decision to the agent.
	Ask func(ctx context.Context, payload []byte) ([]byte, error)
	// Session is the agent's session, Dir where it works.
	Session, Dir string
	Version      string
	// Alive is how often the agent is told that a call still waits; 0 means every minute. Claude
	// Code gives up on a tool of which it hears nothing for 30 minutes.
	Alive time.Duration
	// Warn hears, in one line, why a call was denied for want of a decision.
	Warn func(line string)
}

const inputSchema = `{"type":"object","properties":{` +
	`"tool_name":{"type":"string","description":"The tool that would run"},` +
	`"input":{"type":"object","description":"Its input"},` +
	`"tool_use_id":{"type":"string","description":"The id of the call"}},` +
	`"required":["tool_name","input"]}`

// Serve answers one agent until it hangs up, which is no error, or ctx is done.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "assent", Title: "assent", Version: cfg.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the tools never change
	})
	no := false
	s.AddTool(&mcp.Tool{
		Name:        ToolName,
		Description: "Asks the approvers of this machine whether a tool may run. For the agent's own permission checks; the model has no use for it.",
		InputSchema: json.RawMessage(inputSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
	}, (&handler{cfg: cfg, slots: make(chan struct{}, maxCalls)}).call)
	err := s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxLine})
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EPIPE):
		return nil
	}
	return fmt.Errorf("speak MCP on standard input and output: %w", err)
}

// handler answers calls of the tool.
type handler struct {
	cfg   Config
	slots chan struct{}
}

func (h *handler) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return h.undecided("too many calls wait for an answer already"), nil
	}
	q, err := readQuestion(r.Params.Arguments)
	if err != nil {
		return h.undecided(err.Error()), nil
	}
	if id, ok := r.Params.Meta["claudecode/toolUseId"].(string); ok && id != q.toolUseID {
		// The client names the call that it makes. For a permission check that is the call which is
		// checked; here it is the call of this tool, so the model made it.
		return textResult("Nothing was asked: the agent itself calls this tool before others run, the model cannot.", true), nil
	}
	stop := h.alive(ctx, r)
	printed, err := h.cfg.Ask(ctx, q.payload(h.cfg.Session, h.cfg.Dir))
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err() // the agent has the answer from elsewhere, or is gone
		}
		return h.undecided(err.Error()), nil
	}
	text, err := answer(printed, q.input)
	if err != nil {
		return h.undecided(err.Error()), nil
	}
	return textResult(text, false), nil
}

// alive tells the agent from time to time that a call still waits, until stop is called, which
// waits for the end of it.
func (h *handler) alive(ctx context.Context, r *mcp.CallToolRequest) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	every := h.cfg.Alive
	if every == 0 {
		every = time.Minute
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-tick.C:
				// An agent that cannot be told is going away, which ends the call.
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: "waiting for an approver"})
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// undecided denies a call that nobody decided.
func (h *handler) undecided(why string) *mcp.CallToolResult {
	if h.cfg.Warn != nil {
		h.cfg.Warn("denied for want of a decision: " + why)
	}
	return textResult(denial("Denied: "+why+". "+nobody), false)
}

func textResult(text string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}
}
