package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lockOf is the lock of a directory of sessions. What an agent put in its place is neither followed nor waited for.
func lockOf(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK), flock.SetPermissions(0o600))
}

// keepsLock makes sure that the lock still keeps others away: one whose file was removed does not. It is ErrRuns where another
// host has come in between: two would write each prompt.
func (h *Host) keepsLock(now time.Time) error {
	if now.Sub(h.seen) < lookEvery {
		return nil
	}
	h.seen = now
	if fi, err := os.Lstat(h.lock.Path()); err == nil && os.SameFile(fi, h.held) {
		return nil
	}
	again := lockOf(h.cfg.Dir)
	ok, err := again.TryLock()
	if err != nil {
		h.cfg.Logf("the lock of %s is gone, and cannot be made anew: %v", h.cfg.Dir, err)
		return nil // so nobody else can have it
	}
	if r, runs := FindRunning(h.cfg.Dir); !ok || runs && r.PID != os.Getpid() {
		_ = again.Unlock()
		return fmt.Errorf("%w: %s was removed, and that one began", ErrRuns, h.lock.Path())
	}
	fi, err := os.Lstat(again.Path())
	if err != nil {
		_ = again.Unlock()
		return nil // looked at again
	}
	h.cfg.Logf("the lock of %s was removed, and is made anew", h.cfg.Dir)
	before := h.lock
	h.lock, h.held = again, fi
	return before.Unlock()
}

// Bounds of what a host begins with, whoever made it.
const (
	maxDirs     = 1000      // sessions that are opened
	maxNames    = 100_000   // in the directory
	maxJournals = 512 << 20 // bytes of all journals
)

// load opens the sessions, and attaches to those that run. What works for others of this directory, without anybody
// who watches its ceilings or could cancel it, ends.
func (h *Host) load() error {
	found, err := names(h.cfg.Dir, maxNames)
	if errors.Is(err, errMany) { // what works is found all the same
		h.cfg.Logf("%v", err)
	} else if err != nil {
		return err
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	works := sessionsAt(h.cfg.Dir)
	total := int64(0)
	for _, id := range slices.Concat(works, found) { // those that work first
		dir := filepath.Join(h.cfg.Dir, id)
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || !isUUID(id) || h.sessions[id] != nil {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(dir, journalFile)); err == nil {
			total += fi.Size()
		}
		if len(h.sessions) >= maxDirs || total > maxJournals {
			h.cfg.Logf("%s holds more sessions than a host can have, or larger ones; the rest is left alone. Move away those that nobody needs", h.cfg.Dir)
			break
		}
		s, err := openSession(h, id)
		if errors.Is(err, os.ErrNotExist) { // the host died while it was made: nothing was taken
			err = os.RemoveAll(dir)
			if err == nil {
				continue
			}
		}
		if errors.Is(err, errDamaged) {
			// The others go on. Nothing is done for this one: its directory is in the way of what would begin it again.
			h.cfg.Logf("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		h.sessions[id] = s
	}
	for _, id := range works {
		if s := h.sessions[id]; s != nil && (s.runs || s.starting) {
			continue
		}
		h.cfg.Logf("session %s has no journal here that says so, and something works for it; that is ended", id)
		if !sweep(began{}, id) {
			h.cfg.Logf("session %s: not every process of it could be killed", id)
		}
	}
	for _, s := range h.sessions {
		s.attach(now)
	}
	return nil
}
