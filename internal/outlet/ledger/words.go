package ledger

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseTime reads a time, or how long ago it was: 2026-02-06T15:04, 15m, 7d. Times without a zone are
// in that of now. The empty text is the zero time.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%q: want how long ago, such as 1h or 7d, or a time such as 2026-02-06T15:04", text)
	}
	return now.Add(-ago), nil
}

// FileNames are the names under which the ledger of root may have a file, for Filter.Files: as it was
// given, and absolute, which is what agents mostly say. It follows the links of directories. The
// empty name has none.
func FileNames(root, file string) []string {
	if file == "" {
		return nil
	}
	names := []string{file}
	if !filepath.IsAbs(file) {
		if abs, err := filepath.Abs(file); err == nil {
			names = append(names, abs)
		}
		names = append(names, filepath.Join(root, file))
	}
	for _, n := range slices.Clone(names) {
		if !filepath.IsAbs(n) {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(n)); err == nil {
			names = append(names, filepath.Join(real, filepath.Base(n)))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
