package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"assent/internal/host/wholefile"
	"assent/internal/store/follow"
)

// cursor is up to where a Follower has read the event stream, and what it left behind. It is kept in
// a file.
type cursor struct {
	follow.Cursor                 // everything up to here is stored, but for Held
	Held          map[string]held `json:"held,omitempty"` // by root
}

// held is a work tree whose ledger could not be written. Its mutations are in the event stream,
// and are read from there again once it can.
type held struct {
	From  uint64    `json:"from"`  // the first that is not stored
	Last  uint64    `json:"last"`  // the newest
	Since time.Time `json:"since"` // when it began
	// NoTree says that there is no work tree of ours. It may come back, as a disk does; but anybody
	// can tell of any number of roots that never were, so these go first when there are too many.
	NoTree bool   `json:"no_tree,omitempty"`
	Why    string `json:"why"` // for people
}

// maxHeld bounds the work trees that are remembered; the one that waits longest goes first.
// maxWhy bounds what is kept of the reason, in bytes.
const (
	maxHeld = 1000
	maxWhy  = 200
)

// readCursor returns the zero cursor if there is no file, or a damaged one: everything is then read
// again, and what is in a ledger already is passed over.
func readCursor(path string) (c cursor, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("read the cursor of the ledger: %w", err)
	}
	if json.Unmarshal(b, &c) != nil {
		return cursor{}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return cursor{}, fmt.Errorf("read the cursor of the ledger: %w", err)
	}
	c.Stored = info.ModTime()
	return c, nil
}

// resume moves the cursor to where the stream as it is goes on. It returns the roots whose ledgers miss
// what the stream has no more.
func (c *cursor) resume(s follow.Stream) (found follow.Found, lost []string) {
	c.Cursor, found = c.Resume(s)
	if found == follow.Same {
		return found, nil
	}
	for root, h := range c.Held {
		if h.From > c.Seq {
			delete(c.Held, root)
			lost = append(lost, root)
			continue
		}
		h.Last = min(h.Last, c.Seq)
		c.Held[root] = h
	}
	slices.Sort(lost)
	return found, lost
}

func (c cursor) write(path string) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the cursor of the ledger: %w", err)
	}
	if err := wholefile.Write(path, b, 0o600); err != nil {
		return fmt.Errorf("write the cursor of the ledger: %w", err)
	}
	return nil
}

// hold remembers that the ledger of a work tree cannot be written. It returns the root that had to
// be given up for it, if one had.
func (c *cursor) hold(root string, why error) (dropped string) {
	if c.Held == nil {
		c.Held = map[string]held{}
	}
	var none noTreeError
	h := held{Since: time.Now().UTC(), NoTree: errors.As(why, &none) || errors.Is(why, ErrGone), Why: why.Error()}
	if len(h.Why) > maxWhy { // the reason itself stands behind the path
		h.Why = "…" + strings.ToValidUTF8(h.Why[len(h.Why)-maxWhy:], "")
	}
	c.Held[root] = h
	if len(c.Held) <= maxHeld {
		return ""
	}
	dropped = slices.MinFunc(slices.Collect(maps.Keys(c.Held)), func(a, b string) int {
		x, y := c.Held[a], c.Held[b]
		if x.NoTree != y.NoTree {
			if x.NoTree {
				return -1
			}
			return 1
		}
		return x.Since.Compare(y.Since)
	})
	delete(c.Held, dropped)
	return dropped
}

// miss notes that the event seq is missing from the ledger of root, if that is held.
func (c *cursor) miss(root string, seq uint64) bool {
	h, ok := c.Held[root]
	if !ok {
		return false
	}
	if h.From == 0 {
		h.From = seq
	}
	h.Last = seq
	c.Held[root] = h
	return true
}

// settle notes that what the ledger of root missed up to seq is stored, or lost for good, and reports
// whether root is held no more.
func (c *cursor) settle(root string, seq uint64) bool {
	h, ok := c.Held[root]
	if ok && h.Last > seq { // more came meanwhile
		h.From = max(h.From, seq+1)
		c.Held[root] = h
		return false
	}
	delete(c.Held, root)
	return ok
}
