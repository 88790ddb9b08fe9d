// Package importer makes a file of rules from the permissions in agents' settings, and says of a rule
// whether it allows more than it may look like.
//
// Nothing is allowed by the file that the settings did not allow. What came with a checkout may deny and
// ask; what it allows is left out, as rules of a repository may only tighten. Each permission becomes an Entry
// that says whether it was carried over as it stands, changed or left out, and why.
package importer

import (
	"encoding/json"
	"fmt"
	"slices"

	"assent/internal/policy"
)

// maxSettings is how large a file of settings may be, and maxSettingsEntries how many permissions
// are read of it.
const (
	maxSettings        = 4 << 20
	maxSettingsEntries = 10_000
)

// Config says what is imported.
type Config struct {
	// Settings is the path of the file of settings, and UserDir the directory that holds the
	// user's own (~/.claude): settings in the .claude of another directory are a project's.
	Settings, UserDir string
	// Everywhere carries over what a project's settings allow, or what holds in one place only, which
	// then holds everywhere.
	Everywhere bool
}

// Import is a file of settings on its way to become one of rules.
type Import struct {
	Config
	Entries []Entry // in the order of deny, ask, allow, then other settings
}

// The results of an Entry.
const (
	Carried = "carried" // it is in the file of rules unchanged
	Changed = "changed" // something else is there in its place
	Left    = "left"    // nothing is there for it
)

// Entry is one permission, and what becomes of it. Its texts are the settings' and not safe to show.
type Entry struct {
	Action  string   `json:"action"` // allow, ask, deny; of other settings their name
	Text    string   `json:"text"`
	State   string   `json:"state"`             // Carried, Changed or Left
	As      []string `json:"as,omitempty"`      // what stands in the file of rules for it
	Under   string   `json:"under,omitempty"`   // the key that it stands under: deny, ask, allow, or rules of JSON each
	Meaning string   `json:"meaning,omitempty"` // of a wide rule: what it allows
	Why     string   `json:"why,omitempty"`     // it was changed or left out
	Unread  bool     `json:"-"`                 // what it is about cannot be told
}

// Count is how many entries were Carried, Changed or Left.
func (m *Import) Count(state string) int {
	n := 0
	for _, e := range m.Entries {
		if e.State == state {
			n++
		}
	}
	return n
}

// Read reads the settings that c names, a JSON file that may hold comments. An error says which
// file cannot be read and why.
func Read(c Config) (*Import, error) {
	text, err := readSettings(c.Settings)
	if err != nil {
		return nil, fmt.Errorf("read settings %s: %w", c.Settings, policy.WithoutPath(err))
	}
	return Parse(c, text)
}

// Parse is Read for settings with this text.
func Parse(c Config, text []byte) (*Import, error) {
	m := &Import{Config: c}
	plain, err := standardJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read settings %s: %w", c.Settings, err)
	}
	var settings, permissions map[string]json.RawMessage
	if err := json.Unmarshal(plain, &settings); err != nil {
		return nil, fmt.Errorf("read settings %s: expected a JSON object", c.Settings)
	}
	if raw := settings["permissions"]; raw != nil {
		if err := json.Unmarshal(raw, &permissions); err != nil {
			return nil, fmt.Errorf("read settings %s: permissions is no JSON object", c.Settings)
		}
	}
	keys := []string{"deny", "ask", "allow"}
	for key := range permissions {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys[3:])
	for _, key := range keys {
		raw := permissions[key]
		if raw == nil {
			continue
		}
		var list []json.RawMessage
		if slices.Index(keys, key) > 2 || json.Unmarshal(raw, &list) != nil {
			m.Entries = append(m.Entries, Entry{Action: key, Text: string(raw), State: Left, Why: otherSetting(key)})
			continue
		}
		for _, item := range list {
			if len(m.Entries) >= maxSettingsEntries {
				return nil, fmt.Errorf("read settings %s: more than %d permissions", c.Settings, maxSettingsEntries)
			}
			m.entry(key, item)
		}
	}
	return m, nil
}

// otherSetting says what becomes of a setting that is no list of rules.
func otherSetting(key string) string {
	switch key {
	case "defaultMode":
		return "the mode stays Claude Code's; no rule stands for it"
	case "additionalDirectories":
		return "directories stay Claude Code's; a rule can name paths"
	case "allow", "ask", "deny":
		return "expected a list"
	}
	return "it is no rule"
}
