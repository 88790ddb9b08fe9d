package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"assent/internal/setup/programs"
	"assent/internal/setup/statedir"
	"assent/internal/setup/update"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// What the linker says of this build besides: whose signature makes a release, and where newer ones lie.
// Without the key it updates to nothing.
var releaseKey, releasesAt string

// dpkgLists is where Debian keeps which files are whose.
const dpkgLists = "/var/lib/dpkg/info"

type updateFlags struct {
	check, back bool
	to, from    string
}

// updated is what assent update prints for programs.
type updated struct {
	Current  string `json:"current"`            // the version of this program
	Found    string `json:"found,omitempty"`    // what lies there; with --back what was kept
	Newer    bool   `json:"newer"`              // Found comes after Current
	Replaced bool   `json:"replaced"`           // the programs are Found now
	Previous string `json:"previous,omitempty"` // what --back leads to
	Way      string `json:"way"`                // how this assent came: hand, script, deb, brew, npm
	Instead  string `json:"instead,omitempty"`  // the command that updates it, where this one does not
	Broker   string `json:"broker,omitempty"`   // the version of the broker that runs now
	Service  bool   `json:"service"`            // it was restarted
}

func (a *app) updateCmd() *cobra.Command {
	var f updateFlags
	c := &cobra.Command{
		Use:   "update",
		Short: "Replace the programs by those of the newest release",
		Long: `Find the newest release, check its signature and its checksum, and replace the programs. The
previous programs are kept: --back restores them. If the broker runs as a service, it is
restarted, and waiting requests reconnect to the new broker. A broker in a terminal keeps running
the old version until you restart it.

Only releases signed with the key that is built into this program are accepted, and none older
than the installed version unless you say --to or --back. Programs that a package manager
installed are updated with that package manager.`,
		Example: `  assent update
  assent update --check --json
  assent update --back
  assent update --to 0.2.0
  assent update --from https://downloads.example/assent/latest`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.back && (f.check || f.to != "" || f.from != "") {
				return usagef("--back takes the programs that were kept; it goes with none of --check, --to and --from")
			}
			return a.update(cmd.Context(), f)
		},
	}
	c.Flags().BoolVar(&f.check, "check", false, "only say whether there is a newer one")
	c.Flags().BoolVar(&f.back, "back", false, "go back to the programs from before the last update")
	c.Flags().StringVar(&f.to, "to", "", "exactly this version, also an older one")
	c.Flags().StringVar(&f.from, "from", "", "where releases lie, a URL or a directory; {version} in it stands for latest, or what --to says (default: what was built in)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: current, found, newer, replaced, previous, way, instead, broker, service")
	return c
}

// installation is where this program stands, without links, and how it came there.
func installation(stateDir string) (update.Installation, programs.Way, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return update.Installation{}, "", fmt.Errorf("path of this program: %w", err)
	}
	return update.Installation{Bin: filepath.Dir(self), Lock: filepath.Join(stateDir, "update.lock")}, programs.Of(self, dpkgLists), nil
}

func (a *app) update(ctx context.Context, f updateFlags) error {
	in, way, err := installation(a.stateDir)
	if err != nil {
		return err
	}
	done := updated{Current: version(), Way: string(way), Instead: way.Instead(), Previous: in.Previous()}
	if done.Instead != "" && !f.check {
		return fmt.Errorf("this assent came by %s, and is updated there: %s", way, done.Instead)
	}
	if err := statedir.Make(a.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	source, err := a.releases(f.from)
	if err != nil {
		return shown(err)
	}
	var c update.Change
	err = in.Locked(ctx, func() (err error) {
		if f.back {
			c, err = in.GoBack(ctx, done.Current)
		} else {
			c, err = in.Update(ctx, source, done.Current, f.to, f.check)
		}
		return err
	})
	if errors.Is(err, update.ErrOlder) {
		err = &exitError{exitRefused, err}
	}
	if err != nil {
		return shown(err)
	}
	done.Found, done.Newer, done.Replaced = c.Found, c.Newer, c.Replaced
	if c.Unshared != nil {
		fmt.Fprintln(a.err, "note: man pages and docs stay as they were:", show.Line(c.Unshared.Error()))
	}
	if done.Replaced {
		done.Previous = in.Previous()
		err = a.restartBroker(ctx, &done)
	}
	if a.json {
		return errors.Join(err, a.printJSON(done))
	}
	a.printUpdated(done)
	return err
}

// releases is where releases lie: what was built in, or what --from says.
func (a *app) releases(from string) (update.Source, error) {
	s := update.Source{Key: releaseKey, At: cmp.Or(from, releasesAt), System: runtime.GOOS, Arch: runtime.GOARCH, Progress: a.downloadProgress()}
	if from != "" && !strings.Contains(from, "://") {
		abs, err := filepath.Abs(from)
		if err != nil {
			return s, fmt.Errorf("--from: %w", err)
		}
		s.At = abs
	}
	return s, nil
}

// restartBroker has the service run the new programs, and finds out what runs.
func (a *app) restartBroker(ctx context.Context, done *updated) error {
	s, err := a.service()
	if err == nil {
		done.Service, err = s.Restart(ctx)
		if done.Service && err != nil {
			err = fmt.Errorf("the programs are those of %s, but the broker does not come up: %w\nTo have the old ones back: assent update --back", done.Found, err)
		} else {
			err = nil // there is no manager, so no service
		}
	} else {
		err = nil
	}
	if info, ready := a.ready(ctx); ready {
		done.Broker = info.Version
	}
	if host, none := a.agentsService(); none == nil && err == nil {
		if there, failed := host.Restart(ctx); there && failed != nil {
			fmt.Fprintln(a.err, "note: the host of agents does not come up:", show.Line(failed.Error()))
		}
	}
	return err
}

func (a *app) printUpdated(done updated) {
	switch {
	case done.Replaced:
		fmt.Fprintf(a.out, "assent is %s now; it was %s. To go back: assent update --back\n", done.Found, done.Current)
		switch {
		case done.Service && done.Broker == done.Found:
			fmt.Fprintln(a.out, "The service runs it. What waited comes back by itself.")
		case done.Broker == "":
			fmt.Fprintln(a.out, "No broker runs.")
		case done.Broker != done.Found:
			fmt.Fprintf(a.out, "The broker that runs is still %s: stop it and start it again. What waits comes back by itself.\n", show.Line(done.Broker))
		}
		fmt.Fprintln(a.out, "assent doctor says whether the hooks should be written anew.")
	case done.Newer && done.Instead != "":
		fmt.Fprintf(a.out, "assent %s is there; this is %s. To update: %s\n", done.Found, done.Current, done.Instead)
	case done.Newer:
		fmt.Fprintf(a.out, "assent %s is there; this is %s. To update: assent update\n", done.Found, done.Current)
	default:
		fmt.Fprintf(a.out, "Nothing to do: this is assent %s, and there lies %s.\n", done.Current, done.Found)
	}
}

// downloadProgress tells a person at a terminal how far the download is; nil where nobody looks.
func (a *app) downloadProgress() func(done, total int64) {
	if a.json || !terminal.IsTerminal(a.err) {
		return nil
	}
	last := int64(-1)
	return func(done, total int64) {
		const mib = 1 << 20
		if done/mib == last && done != total {
			return
		}
		last = done / mib
		if total > 0 {
			fmt.Fprintf(a.err, "\r%d of %d MiB", last, (total+mib-1)/mib)
		} else {
			fmt.Fprintf(a.err, "\r%d MiB", last)
		}
		if done == total {
			fmt.Fprint(a.err, "\r                    \r")
		}
	}
}
