package hostlink

import (
	"strings"
	"testing"

	"assent/internal/api"
)

// Whatever a machine is called, its id is one line, and two of one name have two.
func TestIdentity(t *testing.T) {
	const own = "0123456789abcdef"
	if id, err := Identity("box", own); err != nil || id != "box#"+own {
		t.Errorf("%q, %v", id, err)
	}
	for _, name := range []string{"a\nb\x1b\u0085", "#x#", strings.Repeat("ä", 300), "\xff"} {
		if id, err := Identity(name, own); err != nil || !api.IsHostID(id) {
			t.Errorf("%q: %q, %v", name, id, err)
		}
	}
	for name, id := range map[string]string{"": own, "box": "", "a": "0123", "b": own + "\n", "c": strings.Repeat("x", 300)} {
		if got, err := Identity(name, id); err == nil {
			t.Errorf("%q, %q: %q", name, id, got)
		}
	}
}
