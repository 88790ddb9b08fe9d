package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// Summary is what a ledger holds.
type Summary struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // of the file
	Rows  int64  `json:"rows"`
	// First and Last are times of events, empty without rows.
	First     string  `json:"first,omitempty"`
	Last      string  `json:"last,omitempty"`
	HookTypes []Count `json:"hook_types"`
	Tools     []Count `json:"tools"`
	Agents    []Count `json:"agents"`
	Branches  []Count `json:"branches"`
	Files     []Count `json:"files"`
}

// Count is how many rows have a value.
type Count struct {
	Value string `json:"value"`
	Rows  int64  `json:"rows"`
}

// topCounts is how many values of a column a Summary has at most, the most frequent ones.
const topCounts = 10

// Summarize counts the rows of the work tree at root from since on, before until; zero times
// bound nothing.
func Summarize(ctx context.Context, root string, since, until time.Time) (s Summary, err error) {
	s.Path = Path(root)
	c := Filter{Since: since, Until: until}.times()
	err = read(root, func(db *sql.DB) error {
		if err := db.QueryRowContext(ctx, "SELECT count(*), coalesce(min(event_timestamp), ''), coalesce(max(event_timestamp), '') FROM mutations"+c.where(), c.args...).
			Scan(&s.Rows, &s.First, &s.Last); err != nil {
			return err
		}
		for _, col := range []struct {
			name string
			into *[]Count
		}{{"hook_type", &s.HookTypes}, {"tool_name", &s.Tools}, {"agent_id", &s.Agents}, {"branch", &s.Branches}, {"file_path", &s.Files}} {
			if *col.into, err = top(ctx, db, col.name, c); err != nil {
				return err
			}
		}
		fi, err := os.Stat(s.Path)
		if err == nil {
			s.Bytes = fi.Size()
		}
		return err
	})
	return s, err
}

func top(ctx context.Context, db *sql.DB, column string, c conditions) (_ []Count, err error) {
	counts := []Count{}
	if column == "file_path" {
		c.add("file_path IS NOT NULL")
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s, count(*) FROM mutations%s GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %d", column, c.where(), topCounts), c.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n Count
		if err := rows.Scan(&n.Value, &n.Rows); err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	return counts, rows.Err()
}
