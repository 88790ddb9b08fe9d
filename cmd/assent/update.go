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

// instead is the command that updates what came this way, "" where assent update does.
func instead(way programs.Way) string {
	switch way {
	case programs.ByNPM:
		return "npx assent@latest up (or npm install -g assent@latest, then assent install)"
	case programs.ByDebian:
		return "sudo apt install ./assent_VERSION_" + runtime.GOARCH + ".deb"
	case programs.ByBrew:
		return "brew upgrade assent"
	}
	return ""
}

func (a *app) update(ctx context.Context, f updateFlags) error {
	in, way, err := installation(a.stateDir)
	if err != nil {
		return err
	}
	done := updated{Current: version(), Way: string(way), Instead: instead(way), Previous: in.Previous()}
	if done.Instead != "" && !f.check {
		return fmt.Errorf("this assent came by %s, and is updated there: %s", way, done.Instead)
	}
	if err := statedir.Make(a.stateDir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	err = in.Locked(ctx, func() error {
		if f.back {
			return a.goBack(ctx, in, &done)
		}
		return a.goOn(ctx, in, f, &done)
	})
	if err != nil {
		return shown(err)
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

// goOn takes the release that lies there, if it may.
func (a *app) goOn(ctx context.Context, in update.Installation, f updateFlags, done *updated) error {
	source := update.Source{Key: releaseKey, At: cmp.Or(f.from, releasesAt), System: runtime.GOOS, Arch: runtime.GOARCH, Progress: a.downloadProgress()}
	if f.from != "" && !strings.Contains(f.from, "://") {
		abs, err := filepath.Abs(f.from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		source.At = abs
	}
	release, err := source.Find(ctx, f.to)
	switch {
	case errors.Is(err, update.ErrNoKey):
		return fmt.Errorf("%w; install it again from where you got it, or build it from a newer source", err)
	case err != nil:
		return fmt.Errorf("find the newest release: %w", err)
	}
	done.Found, done.Newer = release.Version, update.Newer(release.Version, done.Current)
	older := update.Newer(done.Current, release.Version)
	switch {
	case f.check, release.Version == done.Current:
		return nil
	case older && f.to == "":
		return &exitError{exitRefused, fmt.Errorf("%w: there lies %s, and this is %s; to go there all the same: assent update --to %s", update.ErrOlder, release.Version, done.Current, release.Version)}
	}
	dir, err := in.Stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	staged, err := source.Fetch(ctx, release, dir)
	if err != nil {
		return err
	}
	return a.replace(ctx, in, staged, done)
}

// goBack takes the programs from before the last update.
func (a *app) goBack(ctx context.Context, in update.Installation, done *updated) error {
	dir, err := in.Stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	staged, err := in.Back(dir)
	if err != nil {
		return err
	}
	done.Found, done.Newer = staged.Version, update.Newer(staged.Version, done.Current)
	return a.replace(ctx, in, staged, done)
}

func (a *app) replace(ctx context.Context, in update.Installation, staged update.Staged, done *updated) error {
	if err := staged.Try(ctx); err != nil {
		return err
	}
	if err := in.Replace(staged, done.Current); err != nil {
		return err
	}
	done.Replaced = true
	if err := in.Share(staged); err != nil {
		fmt.Fprintln(a.err, "note: man pages and docs stay as they were:", show.Line(err.Error()))
	}
	return nil
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
