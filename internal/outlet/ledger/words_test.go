package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("z", 3600)
	now := time.Date(2026, 2, 6, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"1h":                   now.Add(-time.Hour),
		"90s":                  now.Add(-90 * time.Second),
		"7d":                   now.Add(-7 * 24 * time.Hour),
		"0s":                   now,
		"2026-02-01":           time.Date(2026, 2, 1, 0, 0, 0, 0, zone),
		"2026-02-01T15:04":     time.Date(2026, 2, 1, 15, 4, 0, 0, zone),
		"2026-02-01 15:04:05":  time.Date(2026, 2, 1, 15, 4, 5, 0, zone),
		"2026-02-01T15:04:05Z": time.Date(2026, 2, 1, 15, 4, 5, 0, time.UTC),
	} {
		if got, err := ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"tomorrow", "-1h", "d", "-1d", "1.5d", "99999999d", "2026-13-01", "1", " "} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestFileNames(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root+"/src", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src", root+"/link"); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root + "/src")
	if got := FileNames(root, ""); got != nil {
		t.Errorf("%q", got)
	}
	for file, want := range map[string][]string{
		"main.rs":              {"main.rs", root + "/src/main.rs", root + "/main.rs"},
		"src/main.rs":          {"src/main.rs", root + "/src/main.rs"},
		root + "/link/main.rs": {root + "/link/main.rs", root + "/src/main.rs"},
		"/elsewhere/x":         {"/elsewhere/x"},
	} {
		got := FileNames(root, file)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q is not in %q", file, w, got)
			}
		}
	}
}
