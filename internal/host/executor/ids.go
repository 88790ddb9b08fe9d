package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assent/internal/host/wholefile"
)

const (
	// idsFile holds the ids of messages that were taken here, with their times: what a device once signed is not obeyed a
	// second time, also where the journal that says so was forgotten or removed.
	idsFile = "forgotten.json"
	maxIDs  = 4 << 20 // bytes of it
	// overID is the name in it of the latest time of a message that was dropped from it. What holds until then or less is over,
	// whatever this machine's clock says: it may have been set back since.
	overID = ""
)

// overWhy says why a message is refused that the clock alone would have taken.
const overWhy = "messages that hold as long as it were over here already, and this machine's clock was set back since; send a new one"

// keepIDs writes down the ids of messages that were taken here, beside those that stand there, as far as their time is not
// over.
func (h *Host) keepIDs(now time.Time, messages ...*message) error {
	ids, over := map[string]time.Time{}, h.over
	keep := func(id string, at time.Time) {
		if now.Before(at) {
			ids[id] = at
		} else if at.After(over) {
			over = at
		}
	}
	for id, at := range h.ids {
		keep(id, at)
	}
	for _, m := range messages {
		if !m.Own {
			keep(m.ID, m.ExpiresAt)
		}
	}
	all := map[string]time.Time{overID: over}
	for id, at := range ids {
		all[id] = at
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if len(text) > maxIDs {
		return errors.New("too many messages were taken whose time is not over")
	}
	if err := wholefile.Write(filepath.Join(h.cfg.Dir, idsFile), text, 0o600); err != nil {
		return err
	}
	h.ids, h.over = ids, over
	return nil
}

// loadIDs reads what keepIDs wrote.
func (h *Host) loadIDs() error {
	path := filepath.Join(h.cfg.Dir, idsFile)
	text, err := readFile(path, maxIDs)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h.ids)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read (%w); a day after the last message that was forgotten it may be removed", path, err)
	}
	if h.ids == nil {
		h.ids = map[string]time.Time{}
	}
	h.over = h.ids[overID]
	delete(h.ids, overID)
	return nil
}
