package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/hook"
	"assent/internal/show"
	"assent/internal/stream"
)

func (a *app) natsInfoCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "nats-info",
		Short: "Print where other programs read the event stream",
		Long: `Print nats-info.json of the running broker: the address, stream and token with which any
NATS client may consume hook events. The token can do nothing else.`,
		Example: "  assent nats-info\n  assent nats-info --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			info, err := a.natsInfo()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(info)
			}
			fmt.Fprintf(a.out, "url      %s\nstream   %s\nsubjects %s\ntoken    %s\n", info.URL, info.Stream, info.Subjects, info.Token)
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "the file as it is")
	return c
}

// natsInfo reads <state>/.runtime/nats-info.json; the environment of older programs
// (COOP_NATS_URL, BD_NATS_PORT, BD_DAEMON_TOKEN) wins.
func (a *app) natsInfo() (stream.NATSInfo, error) {
	var info stream.NATSInfo
	path := filepath.Join(a.stateDir, ".runtime", "nats-info.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	url := os.Getenv("COOP_NATS_URL")
	if port := os.Getenv("BD_NATS_PORT"); url == "" && port != "" {
		url = "nats://127.0.0.1:" + port
	}
	if url != "" {
		info.URL, info.JetStream, info.Stream, info.Subjects = url, true, stream.HookEvents, "hooks.>"
		info.Token = os.Getenv("BD_DAEMON_TOKEN")
		return info, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return info, noBroker(fmt.Errorf("no broker with an event listener runs on %s; start it with: assent serve", a.stateDir))
	}
	if err != nil {
		return info, fmt.Errorf("read %s: %w; restart the broker", path, err)
	}
	return info, nil
}

func (a *app) eventsCmd() *cobra.Command {
	var opt stream.SubscribeOptions
	var since time.Duration
	c := &cobra.Command{
		Use:   "events",
		Short: "Follow the agents' hook events",
		Long: `Follow the agents' hook events, live or from the past. With --durable the broker keeps
this reader's place under a name, and the next run goes on where this one stopped.`,
		Example: "  assent events\n  assent events --filter Stop --since 1h\n  assent events --all --json | jq .session_id\n  assent events --durable coop-1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.All && since > 0 {
				return usagef("--all and --since exclude each other")
			}
			if opt.Filter != "" && !hook.PlainToken(opt.Filter) {
				return usagef("--filter %s: want one event type, such as PreToolUse", opt.Filter)
			}
			if opt.Durable != "" && !hook.PlainToken(opt.Durable) {
				return usagef("--durable %s: want letters, digits, - and _", opt.Durable)
			}
			if since > 0 {
				opt.Since = time.Now().Add(-since)
			}
			info, err := a.natsInfo()
			if err != nil {
				return err
			}
			err = stream.Subscribe(cmd.Context(), info, opt, func(e hook.Event) error {
				if a.json {
					_, err := fmt.Fprintf(a.out, "%s\n", oneLine(e.Raw))
					return err
				}
				_, err := fmt.Fprintln(a.out, eventLine(e))
				return err
			})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if errors.Is(err, stream.ErrNoServer) {
				return noBroker(err)
			}
			return err
		},
	}
	c.Flags().StringVar(&opt.Filter, "filter", "", "one event type only")
	c.Flags().DurationVar(&since, "since", 0, "begin with the events of this long ago")
	c.Flags().BoolVar(&opt.All, "all", false, "begin with the oldest event kept")
	c.Flags().StringVar(&opt.Durable, "durable", "", "name under which the place is kept")
	c.Flags().IntVar(&opt.Count, "count", 0, "stop after this many events (0: never)")
	c.Flags().BoolVar(&a.json, "json", false, "each payload as one line of JSON")
	return c
}

// oneLine keeps a payload that is JSON on one line, and any other visible on one.
func oneLine(raw []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, raw) == nil {
		return show.JSON(line.Bytes())
	}
	b, _ := json.Marshal(map[string]string{"unreadable": show.Text(string(raw))}) // a text always encodes
	return show.JSON(b)
}

func eventLine(e hook.Event) string {
	var p struct {
		SessionID string `json:"session_id"`
		ToolName  string `json:"tool_name"`
		CWD       string `json:"cwd"`
	}
	_ = json.Unmarshal(e.Raw, &p) // what cannot be read stays empty
	line := fmt.Sprintf("%s  %-18s %s", e.Time.Local().Format("15:04:05.000"), show.Line(e.Type), show.Line(p.SessionID))
	if p.ToolName != "" {
		line += "  " + show.Line(p.ToolName)
	}
	if p.CWD != "" {
		line += "  " + show.Line(p.CWD)
	}
	if e.Spooled {
		line += "  (late)"
	}
	return line
}
