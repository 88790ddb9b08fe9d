package history

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A session whose fold is in memory is, at any time, what a reader finds in the file.
func TestStandingIsTheFile(t *testing.T) {
	r := newRig(t)
	h := r.start()
	const agents = 4
	for turns := range 5 {
		for i := range agents {
			r.agent(rand.New(rand.NewPCG(uint64(turns), uint64(i))), fmt.Sprintf("session-%d", i), 2)
		}
		r.catchUp()
		for i := range agents {
			id := fmt.Sprintf("session-%d", i)
			if _, known := h.standsNow(id, time.Now()); !known {
				t.Fatalf("%s is not in memory", id)
			}
			list, err := h.sessions(t.Context(), `WHERE id = ?`, id)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", id, list, err)
			}
			// What the file says depends on when it is asked.
			var packed []byte
			if err := h.query(t.Context(), "read session", `SELECT fold FROM sessions WHERE id = ?`, []any{id}, func(row *sql.Rows) error {
				return row.Scan(&packed)
			}); err != nil {
				t.Fatal(err)
			}
			fold, err := readFold(id, packed)
			if err != nil {
				t.Fatal(err)
			}
			want := list[0]
			for _, later := range []time.Duration{-time.Hour, 0, 30 * time.Second, 61 * time.Second, stillAfter, 24 * time.Hour} {
				now := time.Now().Add(later)
				got, _ := h.standsNow(id, now)
				want.Info = fold.Info(now)
				if a, b := asJSON(t, got), asJSON(t, want); a != b {
					t.Errorf("%s, %s later, in memory\n%s\nin the file\n%s", id, later, a, b)
				}
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Of sessions whose folds leave the memory nothing stays there for readers either.
func TestStandingIsBounded(t *testing.T) {
	r := newRig(t)
	h := r.start()
	const n = 3 * maxStates
	for i := range n {
		r.event(fmt.Sprintf("session-%d", i), "SessionStart", `"source":"startup"`)
	}
	r.catchUp()
	h.mu.Lock()
	kept := len(h.standing)
	h.mu.Unlock()
	if kept == 0 || kept > maxStates {
		t.Errorf("%d of %d sessions are in memory, want up to %d", kept, n, maxStates)
	}
	for i := range n { // all can be read all the same
		if _, err := h.Session(t.Context(), fmt.Sprintf("session-%d", i)); err != nil {
			t.Error(err)
		}
	}
}
