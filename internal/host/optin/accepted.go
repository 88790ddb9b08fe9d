package optin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assent/internal/host/wholefile"
)

// Accepted keeps what the owner of a machine has accepted of what its projects bring along, in a file
// for their eyes only. What has changed since counts as never accepted.
type Accepted struct{ Path string }

// acceptance is the word for one project.
type acceptance struct {
	Digest string    `json:"digest"` // of Brought
	At     time.Time `json:"at"`
}

// Has reports whether what a project brings was accepted as it is; true for one that brings nothing. A
// file that cannot be read accepts nothing.
func (a Accepted) Has(project string, b Brought) (bool, error) {
	if b.Digest == "" {
		return true, nil
	}
	all, err := a.read()
	return err == nil && all[project].Digest == b.Digest, err
}

// Add accepts what a project brings, as it is in b.
func (a Accepted) Add(project string, b Brought, now time.Time) error {
	all, err := a.read()
	if err != nil {
		return err
	}
	all[project] = acceptance{b.Digest, now.UTC().Truncate(time.Second)}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(a.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := wholefile.Write(a.Path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep what was accepted: %w", err)
	}
	return nil
}

func (a Accepted) read() (map[string]acceptance, error) {
	all := map[string]acceptance{}
	text, err := unlinked(a.Path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was accepted: %w", err)
	}
	fi, err := os.Lstat(a.Path)
	if err == nil {
		err = writers(a.Path, fi, false)
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was accepted, in %s: %w; remove the file, and accept again", a.Path, err)
	}
	if all == nil {
		all = map[string]acceptance{}
	}
	return all, nil
}
