package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/outlet/notify"
)

func (a *app) noticesCmd() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "notices",
		Short: "Test the services that are notified when a request waits",
		Long: `Work with the file of notices: the services (ntfy, Telegram, Slack, a webhook …) that are notified
when a request waits. The broker reads the file when it starts. See docs/notifications.md.`,
		Example: "  assent notices test\n  assent notices test phone",
		Args:    cobra.ArbitraryArgs,
		RunE:    helpOrUnknown,
	}
	test := &cobra.Command{
		Use:   "test [NAME]",
		Short: "Send a test message to all services, or to one",
		Long: `Send a test message to all services in the file of notices, or to one, and print the result of
each. A service's answer may repeat parts of its URL, which is a secret.`,
		Example: "  assent notices test\n  assent notices test phone --notices ./notices.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := notify.ReadNotices(noticesPath(path))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no file of notices at %s; docs/notifications.md shows how to write one", noticesPath(path))
			}
			if err != nil {
				return err
			}
			return a.testNotices(cmd.Context(), list, args)
		},
	}
	test.Flags().StringVar(&path, "notices", "", "file of notices (default $XDG_CONFIG_HOME/assent/notices.yaml)")
	test.Flags().BoolVar(&a.json, "json", false, "one JSON object for each service")
	send := &cobra.Command{
		Use:     sendCommand,
		Short:   "Hand one message to a service, for the broker",
		Long:    "Hand one message to a service. The broker runs this, so that a service can neither hold it up nor bring it down. URL and text come on stdin.",
		Example: `  echo '{"url":"ntfy://ntfy.sh/topic","text":"hello"}' | assent notices send`,
		Hidden:  true,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return sendNotice(a.in) },
	}
	c.AddCommand(test, send)
	return c
}

// sendCommand is the command below notices that delivers one message.
const sendCommand = "send"

// noNotices in the place of a path is for a broker that tells nobody.
const noNotices = "off"

// noticesPath is the file of notices, "" for none and where there is no home.
func noticesPath(given string) string {
	if given == noNotices {
		return ""
	}
	if given != "" {
		return given
	}
	if dir := configDir(os.Getenv); dir != "" {
		return filepath.Join(dir, "notices.yaml")
	}
	return ""
}

// pageURL is where notices and push services find the page: the first public URL, or the
// listener's.
func pageURL(public []string, own string) string {
	if len(public) > 0 {
		return strings.TrimRight(public[0], "/")
	}
	return own
}

// testNotices prints, for each notice, whether it took a test.
func (a *app) testNotices(ctx context.Context, list []notify.Notice, only []string) error {
	tried, failed := 0, 0
	for i := range list {
		n := &list[i]
		if len(only) > 0 && n.Name != only[0] {
			continue
		}
		tried++
		err := notify.TestNotice(ctx, n, deliverNotice)
		if err != nil {
			failed++
		}
		if a.json {
			doc := struct {
				Name  string `json:"name"`
				OK    bool   `json:"ok"`
				Error string `json:"error,omitempty"`
			}{Name: n.Name, OK: err == nil}
			if err != nil {
				doc.Error = err.Error()
			}
			if err := a.printJSON(doc); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			fmt.Fprintf(a.out, "%s: not sent: %s\n", n.Name, readable(err.Error()))
		} else {
			fmt.Fprintf(a.out, "%s: sent\n", n.Name)
		}
	}
	switch {
	case tried == 0 && len(only) > 0:
		return fmt.Errorf("the file has no notice of the name %q", only[0])
	case tried == 0:
		fmt.Fprintln(a.out, "The file names no service.")
	case failed > 0:
		return fmt.Errorf("%d of %d services did not take the test", failed, tried)
	}
	return nil
}

// deliverNotice hands text to the service of a URL in a process of its own, which ends with ctx.
func deliverNotice(ctx context.Context, url, text string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return notify.DeliverBy(ctx, exec.Command(self, "notices", sendCommand), url, text)
}

// sendNotice is what runs in that process.
func sendNotice(in io.Reader) error {
	limitMemory()
	err := notify.DeliverOne(in)
	if errors.Is(err, notify.ErrNoJob) {
		return usagef("%w", err)
	}
	return err
}
