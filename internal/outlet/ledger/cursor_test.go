package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"assent/internal/store/follow"
)

// FuzzCursor: whatever stands in the file, the ledger goes on within the stream as it is, and what it writes it reads.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{
		"", "null", "{}", "7", `{"seq":7,"made":"2026-11-28T06:00:00Z","held":{"/w":{"from":3,"last":6,"since":"2026-11-28T06:00:00Z","why":"gone"}}}`,
		`{"seq":18446744073709551615,"held":{"":{"from":9,"last":1}}}`, `{"seq":-1}`, `{"held":null}`, `{"seq":99,"Seq":5,"held":{"/w":null}}`,
	} {
		f.Add([]byte(text), uint64(10))
	}
	path := filepath.Join(f.TempDir(), "cursor")
	made := time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text []byte, last uint64) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := readCursor(path)
		if err != nil {
			t.Fatal(err)
		}
		_, lost := c.resume(follow.Stream{Made: made, Last: last})
		if c.Seq > last || !c.Made.Equal(made) {
			t.Errorf("it goes on at %d of %d, in the stream of %v", c.Seq, last, c.Made)
		}
		for _, root := range lost {
			if _, held := c.Held[root]; held {
				t.Errorf("%q is lost, and held", root)
			}
		}
		c.hold("/other", errors.New("gone"))
		c.miss("/other", last)
		if len(c.Held) > maxHeld+1 {
			t.Errorf("%d are held", len(c.Held))
		}
		if err := c.write(path); err != nil {
			t.Fatal(err)
		}
		again, err := readCursor(path)
		if err != nil {
			t.Fatal(err)
		}
		again.Stored, c.Stored = time.Time{}, time.Time{}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("wrote %+v, read %+v", c, again)
		}
		for root, h := range c.Held {
			if !c.settle(root, h.Last) {
				t.Errorf("%q is not settled: %+v", root, h)
			}
		}
	})
}
