package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/policy"
	"assent/internal/text/layout"
	"assent/internal/text/show"
	"assent/internal/text/strictjson"
)

// File returns the file of rules, which was loaded to be certain. Comments in it say what is wide,
// what was changed and what was left out.
func (m *Import) File() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The permissions of %s,\n# as: assent rules import\n", show.Line(m.Settings))
	if note := m.Note(); note != "" {
		fmt.Fprintln(&b, layout.Wrap(show.Line(note), "# ", "# "))
	}
	fmt.Fprintf(&b, "version: 1\n")
	for _, key := range []string{"deny", "ask", "allow", underRules} {
		seen := map[string]bool{}
		for _, e := range m.Entries {
			for _, text := range e.As {
				if e.Under != key || seen[text] {
					continue
				}
				if len(seen) == 0 {
					fmt.Fprintf(&b, "\n%s:\n", key)
				}
				seen[text] = true
				if e.Meaning != "" {
					fmt.Fprintln(&b, layout.Wrap("WIDE: "+e.Meaning+".", "  # ", "  #   "))
				}
				if e.State == Changed {
					fmt.Fprintln(&b, layout.Wrap("for "+e.Action+" "+show.Line(e.Text), "  # ", "  #   "))
				}
				if key != underRules {
					text = quotedYAML(text)
				}
				fmt.Fprintf(&b, "  - %s\n", text)
			}
		}
	}
	if left := m.Count(Left); left > 0 {
		b.WriteString("\n# Left out:\n")
		for _, e := range m.Entries {
			if e.State == Left {
				fmt.Fprintln(&b, layout.Wrap(show.Line(e.Action+" "+e.Text)+": "+show.Line(e.Why), "#   ", "#     "))
			}
		}
	}
	if _, err := policy.Load([]policy.Source{{Name: "import", Layer: policy.User, Data: b.Bytes()}}, policy.LoadOptions{}); err != nil {
		return nil, fmt.Errorf("the rules made of the settings cannot be read back: %w", err)
	}
	return b.Bytes(), nil
}

// quotedYAML writes a text so that YAML reads exactly it, and a terminal shows it safely.
func quotedYAML(text string) string {
	b, _ := strictjson.Encode(text) // a string always can be
	return safeJSON(b)
}

// safeJSON writes JSON so that a terminal shows it safely.
func safeJSON(text []byte) string { return strings.TrimSpace(string(show.JSON(text))) }

// Create writes a new file of rules, for its user only, with the directories that it needs. It
// replaces none.
func Create(path string, text []byte) error {
	if !filepath.IsAbs(path) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("write rules: %w", err)
		}
		path = abs
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is; without --write the rules are printed, to put in by hand", path)
	}
	if err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	_, err = out.Write(text)
	if err2 := out.Close(); err == nil {
		err = err2
	}
	if err != nil {
		os.Remove(path) // a part of it may lack what denies
		return fmt.Errorf("write rules %s: %w", path, err)
	}
	return nil
}
