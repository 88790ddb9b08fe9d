package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/hook"
	"assent/internal/mcp"
)

// mcpFlags are the flags of assent mcp.
type mcpFlags struct {
	socket  string
	owner   string // whose socket it is
	timeout time.Duration
	print   bool
}

// mcpCmd is the permission prompt tool.
func (a *app) mcpCmd() *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use:   "mcp",
		Short: "An MCP server with a tool for claude -p --permission-prompt-tool",
		Long: `Speak MCP on standard input and output. The server's one tool, approve, asks the broker before the
agent runs another tool, and waits for the answer. Claude Code starts this server by itself.

Behind this tool there is no other prompt. So if nobody answers in time, or no broker can be
reached, the call is denied with a message that says so. If Claude Code also runs assent's hooks,
both ask about the same call and share one answer.

--socket, --url or --state-dir must be given: an environment variable could come from the
repository in which the agent works. The token for --url is read from hook.conf or ASSENT_TOKEN.`,
		Example: `  assent mcp --print > assent.json
  claude -p "…" --mcp-config assent.json --permission-prompt-tool mcp__assent__approve
  assent mcp --url https://broker.example:7717 --timeout 2m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.timeout <= 0 {
				return usagef("--timeout %v: want a duration like 300s", f.timeout)
			}
			url := ""
			if cmd.Flags().Changed("url") {
				url = a.url
			}
			if f.socket != "" && url != "" {
				return usagef("--socket and --url exclude each other; give one")
			}
			if f.print {
				return a.printMCP(f, cmp.Or(url, a.url))
			}
			if f.socket == "" && url == "" && cmd.Flags().Changed("state-dir") {
				f.socket = a.hookSocket(filepath.Join(a.stateDir, "hook.sock")) // where it is without a runtime directory
			}
			if f.socket == "" && url == "" {
				return usagef("say where the broker is, with --socket, --url or --state-dir; assent mcp --print writes a configuration that does")
			}
			return a.serveMCP(cmd.Context(), f, url, func(line string) { cmd.PrintErrln("assent mcp:", line) })
		},
	}
	c.Flags().StringVar(&f.socket, "socket", "", "the broker's socket")
	c.Flags().StringVar(&f.owner, "socket-owner", "", "user whose broker listens there, by name or number, if it is not you")
	c.Flags().DurationVar(&f.timeout, "timeout", 300*time.Second, "how long a call waits before it is denied")
	c.Flags().BoolVar(&f.print, "print", false, "print the configuration for claude --mcp-config, and do nothing else")
	return c
}

// printMCP prints what makes Claude Code start this server, with the broker that runs now.
func (a *app) printMCP(f mcpFlags, url string) error {
	servers, err := a.mcpServers(f, url)
	if err != nil {
		return err
	}
	return a.printJSON(servers)
}

// mcpConfig is what printMCP prints, for a file.
func (a *app) mcpConfig(f mcpFlags, url string) ([]byte, error) {
	servers, err := a.mcpServers(f, url)
	if err != nil {
		return nil, err
	}
	return json.Marshal(servers)
}

func (a *app) mcpServers(f mcpFlags, url string) (any, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	args := []string{"mcp", "--url", url}
	if url == "" || f.socket != "" {
		socket := f.socket
		if socket == "" {
			socket = a.hookSocket(defaultSocket(a.stateDir, os.Getenv))
		}
		if socket, err = filepath.Abs(socket); err != nil {
			return nil, fmt.Errorf("--socket: %w", err)
		}
		args = []string{"mcp", "--socket", socket}
		if f.owner != "" {
			args = append(args, "--socket-owner", f.owner)
		}
	} else if a.caCert != "" {
		file, err := filepath.Abs(a.caCert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		args = append(args, "--cacert", file)
	}
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	return map[string]any{"mcpServers": map[string]server{
		"assent": {stable(self), append(args, "--timeout", f.timeout.String())},
	}}, nil
}

func (a *app) serveMCP(ctx context.Context, f mcpFlags, url string, warn func(string)) error {
	target := []string{"--socket", f.socket}
	if f.owner != "" {
		target = append(target, "--socket-owner", f.owner)
	}
	if url != "" {
		target = []string{"--url", url}
	}
	cfg, err := hookclient.ReadConfig(append(target, "--timeout", f.timeout.String()), os.Getenv)
	if err != nil {
		return usagef("%w", err)
	}
	cfg.OnTimeout, cfg.OnFailure = hook.Deny, hook.Deny
	if url != "" {
		config, err := a.remoteTLS()
		if err != nil {
			return err
		}
		cfg.Dial = dialTLS(config)
	}
	session := os.Getenv("CLAUDE_CODE_SESSION_ID")
	if session == "" { // another client: its calls need a session of their own
		session = "mcp-" + uuid.NewString()
	}
	return mcp.Serve(ctx, mcp.Config{
		Ask: func(ctx context.Context, payload []byte) ([]byte, error) {
			if len(payload) > hook.MaxRequest {
				return nil, errors.New("the call is too large to be held; the limit is 1 MiB")
			}
			got := hookclient.Submit(ctx, cfg, hook.Event{Type: hook.EventPermissionRequest, Source: hook.SourceMCP, Raw: payload})
			switch {
			case got.Answered:
				return got.Body, nil
			case got.Expired:
				return nil, fmt.Errorf("nobody answered this permission request within %v", cfg.Timeout)
			}
			return nil, errors.New(got.Why)
		},
		Session: session, Dir: workDir(), Version: version(), Warn: warn,
	}, os.Stdin, os.Stdout)
}

// workDir is the working directory without links, as the agent names it to its hooks: both must
// tell of one place.
func workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if plain, err := filepath.EvalSymlinks(dir); err == nil {
		return plain
	}
	return dir
}
