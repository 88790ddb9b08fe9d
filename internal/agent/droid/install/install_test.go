package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Droid takes the hooks of hooks.json in the place of those in its settings: nothing is installed that it would
// pass over without a word.
func TestShadowed(t *testing.T) {
	for _, x := range []struct {
		text, want string
		fails      bool
	}{
		{"", "", false},
		{`{"PostCompact": []}`, "", false},
		{`{"Stop": [], "PreToolUse": []}`, "Stop,PreToolUse", false},
		{`{"Stop": `, "", true},
	} {
		home := t.TempDir()
		env := func(key string) string { return map[string]string{"HOME": home}[key] }
		if x.text != "" {
			if err := os.Mkdir(filepath.Join(home, ".factory"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, ".factory", "hooks.json"), []byte(x.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, events, err := Shadowed(env)
		if strings.Join(events, ",") != x.want || (err != nil) != x.fails {
			t.Errorf("%s: %v %v", x.text, events, err)
		}
		_, err = Options(env, "/state", []string{"/opt/assent-hook"}, "")
		if refused := x.want != "" || x.fails; (err != nil) != refused {
			t.Errorf("%s: installed with %v", x.text, err)
		}
		if _, err := Options(env, "/state", nil, ""); err != nil {
			t.Errorf("%s: cannot be uninstalled: %v", x.text, err)
		}
	}
}
