package update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"assent/internal/host/wholefile"
	"assent/internal/setup/programs"
)

// Installation is a directory with assent's programs.
type Installation struct {
	Bin string // absolute, without links
	// Lock is a file that keeps two updates apart; its directory is there.
	Lock string
}

// previousDir is where the programs from before an update are kept, in Bin: on one file system with
// them, so that going back is as sure as going on.
const previousDir = ".assent-previous"

// lockWait bounds the wait for another update.
const lockWait = 10 * time.Second

// Locked calls do while no other update of the installation runs.
func (in Installation) Locked(ctx context.Context, do func() error) error {
	lock := flock.New(in.Lock, flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(wait, 50*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("another update is at work (%s is locked): %w", in.Lock, err)
	}
	defer lock.Unlock()
	return do()
}

// Stage makes an empty directory beside the programs, for Fetch; who calls it removes it. An error says
// that nothing can be replaced here.
func (in Installation) Stage() (string, error) {
	dir, err := os.MkdirTemp(in.Bin, ".assent-update-")
	if err != nil {
		return "", fmt.Errorf("the programs in %s cannot be replaced by this user: %w", in.Bin, err)
	}
	return dir, nil
}

// Previous returns the version that Back would go to, "" if there is none.
func (in Installation) Previous() string {
	b, err := os.ReadFile(filepath.Join(in.Bin, previousDir, "version"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Back stages the programs from before the last update in dir.
func (in Installation) Back(dir string) (Staged, error) {
	version := in.Previous()
	if version == "" {
		return Staged{}, fmt.Errorf("no earlier programs are kept in %s: no update was made here, or install.sh was run since", in.Bin)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return Staged{}, err
	}
	for _, name := range programs.Names {
		err := programs.Copy(filepath.Join(in.Bin, previousDir, name), filepath.Join(dir, "bin", name), io.Discard)
		if err != nil && !cameLater(name, err) {
			return Staged{}, err
		}
	}
	return Staged{Version: version, Dir: dir}, nil
}

// Try runs the staged programs and wants to hear their version: what cannot run on this machine does not
// take the place of what can.
func (s Staged) Try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, name := range []string{"assent", "assent-hook"} {
		c := exec.CommandContext(ctx, filepath.Join(s.Dir, "bin", name), "--version")
		c.Env = []string{} // nothing of the user's is its business
		c.WaitDelay = time.Second
		out, err := c.Output()
		if want := name + " version " + s.Version; err != nil || strings.TrimSpace(string(out)) != want {
			return fmt.Errorf("%s of the release does not run here: it said %q (%w)", name, strings.TrimSpace(string(out)), err)
		}
	}
	return nil
}

// Replace puts staged programs into their places, one after the other: whoever starts one meanwhile
// gets the old one or the new one, whole. The old ones, of the version before, are kept for Back. After
// an error the old ones are in place.
func (in Installation) Replace(s Staged, before string) error {
	if err := in.keepOld(before); err != nil {
		return fmt.Errorf("keep the programs from before: %w; nothing was replaced", err)
	}
	old := filepath.Join(in.Bin, previousDir)
	for i, name := range programs.Names {
		if err := os.Rename(filepath.Join(s.Dir, "bin", name), filepath.Join(in.Bin, name)); err != nil && !cameLater(name, err) {
			err = fmt.Errorf("replace %s: %w", name, err)
			for _, done := range programs.Names[:i] {
				if e := putBack(filepath.Join(old, done), filepath.Join(in.Bin, done)); !cameLater(done, e) {
					err = errors.Join(err, e)
				}
			}
			return err
		}
	}
	err := in.links()
	return errors.Join(err, wholefile.SyncDir(in.Bin))
}

// cameLater reports that a program is missing because the version has none: older ones have no hook that
// checks signatures. A newer one stays when they come back, for settings that name it.
func cameLater(name string, err error) bool {
	return name == "assent-hook-strict" && errors.Is(err, os.ErrNotExist)
}

// links sees to it that the programs have their other names.
func (in Installation) links() error {
	for link, to := range programs.Links {
		path := filepath.Join(in.Bin, link)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.Symlink(to, path); err != nil {
			return err
		}
	}
	return nil
}

func putBack(from, to string) error {
	fresh := to + ".back"
	if err := programs.Copy(from, fresh, io.Discard); err != nil {
		return err
	}
	return os.Rename(fresh, to)
}

// keepOld copies the programs that are in place to previousDir, in place of those that were there.
func (in Installation) keepOld(version string) error {
	dir := filepath.Join(in.Bin, previousDir)
	fresh, gone := dir+".new", dir+".old"
	for _, left := range []string{fresh, gone} { // of an update that was cut off
		if err := os.RemoveAll(left); err != nil {
			return err
		}
	}
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	for _, name := range programs.Names {
		if err := programs.Copy(filepath.Join(in.Bin, name), filepath.Join(fresh, name), io.Discard); err != nil && !cameLater(name, err) {
			return errors.Join(err, os.RemoveAll(fresh))
		}
	}
	if err := putFile(filepath.Join(fresh, "version"), strings.NewReader(version+"\n"), 0o644); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(dir, gone); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// Share brings what install.sh installed beside the programs up to date as well: pages, completion,
// docs. It does nothing where install.sh did not install, or where the release has none of it.
func (in Installation) Share(s Staged) error {
	list := programs.List(in.Bin)
	text, err := os.ReadFile(list)
	if errors.Is(err, os.ErrNotExist) || len(s.share) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	prefix := filepath.Dir(in.Bin)
	var now []string
	for _, name := range append(slices.Clone(programs.Names), "hookd-emit", "hookd-query") {
		now = append(now, "bin/"+name)
	}
	for _, name := range append(slices.Clone(programs.Names), "version") {
		now = append(now, "bin/"+previousDir+"/"+name)
	}
	now = append(now, s.share...)
	before := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	// The list names what is about to be there first: then it can be removed, whatever happens.
	both := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(now), before...))))
	if err := writeList(list, both); err != nil {
		return err
	}
	for _, name := range s.share {
		to := filepath.Join(prefix, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(s.Dir, filepath.FromSlash(name)), to); err != nil {
			return err
		}
	}
	for _, name := range before {
		if strings.HasPrefix(name, "share/") && filepath.IsLocal(name) && !slices.Contains(now, name) {
			_ = os.Remove(filepath.Join(prefix, filepath.FromSlash(name))) // a page too many does no harm
		}
	}
	slices.Sort(now)
	return writeList(list, now)
}

func writeList(name string, lines []string) error {
	return wholefile.Write(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
