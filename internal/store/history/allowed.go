package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"assent/internal/hook"
)

// allowedCounts says how often people have allowed a call before: the same input of the same tool in
// the same project, as it was asked for. It is in memory, so that who shows a request need not wait for
// the file; it is behind like all of history, and empty while there is none.
type allowedCounts struct {
	mu sync.Mutex
	n  map[allowedKey]int // guarded by mu
}

// allowedKey is a part of the hash of a tool's name, a project and a digest.
type allowedKey [16]byte

// maxAllowed bounds allowedCounts. Beyond it any one is forgotten for a new one.
const maxAllowed = 20_000

// inputBytes is how much of an input's digest is kept.
const inputBytes = 16

// keyOfAllowed takes work trees of a project for the project: each of its agents works in one of its own.
func keyOfAllowed(tool, project string, input []byte) (key allowedKey) {
	project = hook.ProjectDir(project)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %s %s", len(tool), tool, len(project), project, input))
	copy(key[:], sum[:])
	return key
}

// inputOf is the digest of a request's input as it is kept, nil where there is none.
func inputOf(r *hook.Request) []byte {
	sum, err := hex.DecodeString(r.InputSHA256)
	if err != nil || len(sum) < inputBytes {
		return nil
	}
	return sum[:inputBytes]
}

// Allowed is how often a person has allowed this very call before, in the same project and as it was
// asked for. It does not block. 0 may also mean that history is not there or has forgotten.
func (h *History) Allowed(r *hook.Request) int {
	input := inputOf(r)
	if input == nil {
		return 0
	}
	key := keyOfAllowed(r.ToolName, where(r), input)
	h.allowed.mu.Lock()
	defer h.allowed.mu.Unlock()
	return h.allowed.n[key]
}

// byPerson is the condition of the requests that count. A token may be a program's.
const byPerson = `outcome = 'allowed' AND edited = 0 AND by_kind IN ('device', 'owner-cli') AND input <> x''`

// load reads all counts anew, from the requests that are in the file.
func (a *allowedCounts) load(w *writer) error {
	rows, err := w.d.conn.QueryContext(context.Background(),
		`SELECT tool, repo, input, count(*) FROM requests WHERE `+byPerson+` GROUP BY tool, repo, input ORDER BY max(settled) DESC LIMIT ?`, maxAllowed)
	if err != nil {
		return w.wrap(err)
	}
	defer rows.Close()
	all := map[allowedKey]int{}
	for rows.Next() {
		var tool, project string
		var input []byte
		var n int
		if err := rows.Scan(&tool, &project, &input, &n); err != nil {
			return w.wrap(err)
		}
		all[keyOfAllowed(tool, project, input)] += n
	}
	if err := rows.Err(); err != nil {
		return w.wrap(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n = all
	return nil
}

// add counts requests that were just settled, if they count.
func (a *allowedCounts) add(w *writer) error {
	for _, id := range w.requests.settled {
		if row := w.requests.rows[id]; row != nil {
			if row.byPerson() {
				a.count(keyOfAllowed(row.tool, row.repo, row.input))
			}
			continue
		}
		rows, err := w.do.allowedRow.QueryContext(context.Background(), id)
		if err != nil {
			return w.wrap(err)
		}
		var tool, project string
		var input []byte
		counts := rows.Next()
		if counts {
			err = rows.Scan(&tool, &project, &input)
		} else {
			err = rows.Err()
		}
		rows.Close()
		if err != nil {
			return w.wrap(err)
		}
		if counts {
			a.count(keyOfAllowed(tool, project, input))
		}
	}
	return nil
}

func (a *allowedCounts) count(key allowedKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == nil {
		a.n = map[allowedKey]int{}
	}
	if _, known := a.n[key]; !known && len(a.n) >= maxAllowed {
		for other := range a.n {
			delete(a.n, other)
			break
		}
	}
	a.n[key]++
}
