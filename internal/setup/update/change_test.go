package update

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What lies there takes the place of the programs if it is newer, or was asked for by its version.
func TestChange(t *testing.T) {
	r, in := newReleases(t), installation(t)
	r.put("0.2.0", pack(t, entries("0.2.0")...))
	update := func(current, to string, check bool) (Change, error) {
		return in.Update(t.Context(), r.source, current, to, check)
	}
	for _, c := range []struct {
		what, current, to string
		check             bool
		want              Change
		err               error
		programs          string // afterwards
	}{
		{"a look", "0.1.0", "", true, Change{Found: "0.2.0", Newer: true}, nil, "0.1.0"},
		{"a look at an older one", "0.3.0", "", true, Change{Found: "0.2.0"}, nil, "0.1.0"},
		{"the same version", "0.2.0", "", false, Change{Found: "0.2.0"}, nil, "0.1.0"},
		{"an older one", "0.3.0", "", false, Change{}, ErrOlder, "0.1.0"},
		{"a newer one", "0.1.0", "", false, Change{Found: "0.2.0", Newer: true, Replaced: true}, nil, "0.2.0"},
		{"an older one, by its version", "0.3.0", "0.2.0", false, Change{Found: "0.2.0", Replaced: true}, nil, "0.2.0"},
	} {
		got, err := update(c.current, c.to, c.check)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
		in.says(t, c.programs)
	}
	if _, err := update("0.3.0", "", false); err == nil || !strings.Contains(err.Error(), "there lies 0.2.0, and this is 0.3.0; to go there all the same: assent update --to 0.2.0") {
		t.Errorf("an older one: %v", err)
	}
	if staged, err := filepath.Glob(filepath.Join(in.Bin, ".assent-update-*")); err != nil || len(staged) > 0 {
		t.Errorf("left behind: %v, %v", staged, err)
	}
	r.source.At = t.TempDir()
	if _, err := update("0.1.0", "", true); err == nil || !strings.HasPrefix(err.Error(), "find the newest release: ") {
		t.Errorf("where nothing lies: %v", err)
	}
	r.source.Key = ""
	if _, err := update("0.1.0", "", true); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "; install it again") {
		t.Errorf("without a key: %v", err)
	}
}

// Going back and on again, and what is wrong leaves the programs alone.
func TestGoBack(t *testing.T) {
	r, in := newReleases(t), installation(t)
	if _, err := in.GoBack(t.Context(), "0.1.0"); err == nil || !strings.Contains(err.Error(), "no earlier programs are kept") {
		t.Errorf("where nothing is kept: %v", err)
	}
	r.put("0.2.0", pack(t, entries("0.2.0")...))
	if _, err := in.Update(t.Context(), r.source, "0.1.0", "", false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to string }{{"0.2.0", "0.1.0"}, {"0.1.0", "0.2.0"}} {
		got, err := in.GoBack(t.Context(), c.from)
		if want := (Change{Found: c.to, Newer: c.to == "0.2.0", Replaced: true}); got != want || err != nil {
			t.Errorf("back from %s: %+v, %v", c.from, got, err)
		}
		in.says(t, c.to)
	}
	others := entries("0.4.0")
	for i := range others {
		others[i].text = strings.ReplaceAll(others[i].text, "version 0.4.0", "version 0.4.1")
	}
	r.put("0.4.0", pack(t, others...))
	if got, err := in.Update(t.Context(), r.source, "0.2.0", "", false); got != (Change{}) || err == nil || !strings.Contains(err.Error(), "does not run here") {
		t.Errorf("programs of another version: %+v, %v", got, err)
	}
	in.says(t, "0.2.0")
	if os.Geteuid() == 0 {
		return // nobody keeps root out of a directory
	}
	if err := os.Chmod(in.Bin, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(in.Bin, 0o700) }()
	if _, err := in.GoBack(t.Context(), "0.2.0"); err == nil || !strings.Contains(err.Error(), "cannot be replaced by this user") {
		t.Errorf("in a directory of others: %v", err)
	}
}
