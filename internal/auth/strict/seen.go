package strict

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// maxSeen bounds the file of what was seen.
const maxSeen = 8 << 10

// A broker that was stolen can bring older rules that were signed once. This file remembers the newest of each key. It is the
// user's own, so it holds against a broker, and not against the agent's user; and where it cannot be written nothing is remembered.
// What holds in any case is since in hook.conf, and until in the signature.

// readSeen returns when the newest rules were signed that were here, by thumbprint. Lines that are none count for nothing.
func readSeen(file string) map[string]time.Time {
	seen := map[string]time.Time{}
	text, err := regular.Read(file, maxSeen, regular.NoLink)
	if err != nil && !errors.Is(err, regular.ErrLarge) { // the beginning of a longer one counts
		return seen
	}
	for line := range strings.Lines(string(text)) {
		key, stamp, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.After(seen[key]) {
			seen[key] = at
		}
	}
	return seen
}

// newest is when the newest rules of a key were signed that were here.
func (r *Rules) newest(key string) time.Time {
	if r.Seen == "" {
		return time.Time{}
	}
	return readSeen(r.Seen)[key]
}

// remember notes that rules of a key were here. Of two hooks at a time one may win; the other's comes with its next request.
func (r *Rules) remember(key string, at time.Time) {
	if r.Seen == "" {
		return
	}
	seen := readSeen(r.Seen)
	if !at.After(seen[key]) {
		return
	}
	seen[key] = at
	var b strings.Builder
	for _, k := range r.Keys { // and no other, so that it stays small
		if at, ok := seen[k.Thumbprint]; ok {
			b.WriteString(k.Thumbprint + " " + at.UTC().Format(time.RFC3339Nano) + "\n")
		}
	}
	if os.MkdirAll(filepath.Dir(r.Seen), 0o700) != nil {
		return
	}
	_ = wholefile.Write(r.Seen, []byte(b.String()), 0o600) // else the older one stays
}
