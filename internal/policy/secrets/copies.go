package secrets

import (
	"slices"
	"strings"
)

// Editors, people and databases put what a file holds into others: id_rsa~, .id_rsa.swp, #id_rsa#, .npmrc.bak,
// "wallet.dat (1)", cookies.sqlite-wal. A copy of what is on the list is on it.

// copyEnds are what the name of a copy has behind that of the file, if it is not the number of one, by their
// last character.
var copyEnds = [128][]string{ // read-only
	'~': {".un~", "~"}, // the longer first
	'k': {".bak", ".lock", "-bak", "_bak"},
	'p': {".backup", ".bkp", ".tmp", ".temp", "-backup", "_backup", ".zip", ".kate-swp"},
	'd': {".old", ".saved", "-old", "_old"},
	'g': {".orig", ".gpg"},
	'l': {".original", "-wal", "-journal"},
	'v': {".prev"},
	'e': {".save", ".age"},
	'y': {".copy", "-copy", "_copy", " copy", " - copy"},
	'w': {".new"},
	'j': {".rej"},
	't': {".part", ".zst"},
	'x': {".hex"},
	'_': {"___jb_tmp___", "___jb_old___"},
	'm': {"-shm"},
	'z': {".gz", ".xz", ".7z", ".tgz"},
	'2': {".bz2"},
	'4': {".lz4", ".b64"},
	'r': {".tar"},
	'c': {".asc", ".enc"},
}

// Originals are the names of files of which one with this name, folded, is a copy; nil if it looks like none. Each
// is shorter than the name.
func Originals(name string) []string {
	n := len(name)
	if n < 3 {
		return nil
	}
	if name[0] == '#' && name[n-1] == '#' {
		return []string{name[1 : n-1]}
	}
	var all []string
	if rest, ok := strings.CutPrefix(name, ".#"); ok && rest != "" {
		all = append(all, rest)
	}
	if rest, ok := strings.CutPrefix(name, "._"); ok && rest != "" {
		all = append(all, rest)
	}
	add := func(inner string) {
		all = append(all, inner)
		if inner[0] == '.' && len(inner) > 1 { // an editor hides what it swaps
			all = append(all, inner[1:])
		}
	}
	switch c := name[n-1]; {
	case c >= '0' && c <= '9':
		// Without a kind in front of the number it is a page of a manual.
		if inner, ok := strings.CutSuffix(strings.TrimRight(name, "0123456789-_"), "."); ok && strings.Contains(inner, ".") {
			add(inner)
		}
	case c == ')':
		if i := strings.LastIndex(name, " ("); i > 0 && strings.Trim(name[i+2:n-1], "0123456789") == "" {
			add(name[:i])
		}
	}
	if n > 4 && name[n-4:n-1] == ".sw" { // .swp, and .swo and so on while others are there
		add(name[:n-4])
	}
	if name[n-1] == '~' {
		if inner, ok := strings.CutSuffix(strings.TrimRight(name[:n-1], "0123456789"), ".~"); ok && inner != "" {
			add(inner) // one of several, as x.~1~
		}
	}
	if c := name[n-1]; c < 128 {
		ends := copyEnds[c]
		if i := slices.IndexFunc(ends, func(end string) bool { return len(end) < n && strings.HasSuffix(name, end) }); i >= 0 {
			add(name[:n-len(ends[i])])
		}
	}
	return all
}
