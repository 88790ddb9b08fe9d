package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/hook"
	"assent/internal/mcp"
)

// mcpWait is how long a call waits where nobody says otherwise: as in a pipeline.
const mcpWait = 300 * time.Second

// mcpCmd is the permission prompt tool. Its flags are the hook client's own, so that both are told
// in the same way where the broker is.
func (a *app) mcpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "An MCP server with a tool for claude -p --permission-prompt-tool",
		Long: `Speak MCP on standard input and output. The one tool, approve, asks the broker before the
agent runs another tool, and waits for the answer. Claude Code starts this server by itself.

Behind this tool there is no other prompt. So when nobody answers in time, and when no broker can
be asked, the call is denied, with words that say so; --on-timeout and --on-failure change nothing.
Where Claude Code also runs assent's hooks, both ask about one call and share one answer.

Flags and what stands in for them are those of assent-hook, but --timeout is ` + mcpWait.String() + `:

` + hookclient.Flags,
		Example: `  claude -p "…" --permission-prompt-tool mcp__assent__approve --mcp-config assent.json
  where assent.json says that assent is "assent mcp":
  {"mcpServers": {"assent": {"command": "assent", "args": ["mcp", "--timeout", "300s"]}}}`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--help" || arg == "-h" {
					return cmd.Help()
				}
			}
			cfg, err := hookclient.ReadConfig(args, os.Getenv)
			if err != nil {
				return usagef("%w; see %s --help", err, cmd.CommandPath())
			}
			return serveMCP(cmd.Context(), cfg, func(line string) { cmd.PrintErrln("assent mcp:", line) })
		},
	}
}

func serveMCP(ctx context.Context, cfg hookclient.Config, warn func(string)) error {
	if cfg.Timeout == 0 {
		cfg.Timeout = mcpWait
	}
	cfg.OnTimeout, cfg.OnFailure = hook.Deny, hook.Deny
	cfg.Dial = dialTLS(cfg.URL, &tls.Config{MinVersion: tls.VersionTLS12})
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	session := os.Getenv("CLAUDE_CODE_SESSION_ID")
	if session == "" { // another client: its calls need a session of their own
		session = "mcp-" + uuid.NewString()
	}
	return mcp.Serve(ctx, mcp.Config{
		Ask: func(ctx context.Context, payload []byte) ([]byte, error) {
			out, err := hookclient.Question(ctx, cfg, hook.ViaMCP, payload)
			if errors.Is(err, hookclient.ErrNoAnswer) {
				err = fmt.Errorf("nobody answered this permission request within %v", cfg.Timeout)
			}
			return out, err
		},
		Session: session, Dir: dir, Version: version(), Warn: warn,
	}, os.Stdin, os.Stdout)
}
