package grants

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"assent/internal/hook"
	"assent/internal/host/wholefile"
	"assent/internal/policy"
	"assent/internal/text/show"
)

const fileHead = `# Written by assent: what approvers saved with "always". This is a copy for people to read, and for
# the commands beside the broker. The broker has these rules from its record: a change here
# changes nothing. To remove one: assent grants revoke ID
`

// Placeholder stands for the id in the rule and the tests of what is not saved yet. YAML holds no
// such character.
const Placeholder = "\x01"

// WithID returns a rule or its tests with id in place of Placeholder.
func WithID(text, id string) string { return strings.ReplaceAll(text, Placeholder, id) }

// Document returns a rules file with the rules of a list and then their tests, each rule under a
// comment that says who saved it and what it allows.
func Document(list []hook.Saved) string {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for _, x := range list {
		fmt.Fprintf(&b, "# %s\n# saved %s by %s, from the request %s\n", show.Line(x.Sentence),
			x.CreatedAt.UTC().Format("2006-01-02 15:04:05Z"), show.Line(x.By.Who()), show.Line(x.RequestID))
		b.WriteString(x.Rule)
	}
	b.WriteString("tests:\n")
	for _, x := range list {
		b.WriteString(x.Tests)
	}
	return b.String()
}

// Check loads the rules of a list as a file of this name and runs their tests; the error says what
// is wrong with them.
func Check(list []hook.Saved, name string) error {
	_, err := policy.Load([]policy.Source{{Name: name, Layer: policy.Assent, Data: []byte(Document(list))}}, policy.LoadOptions{})
	return err
}

// write brings the file up to date. The broker does not need it, so an error is only logged.
func (s *Store) write() {
	if s.cfg.File == "" {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	text := ""
	if list := s.active(hook.SavedRule); len(list) > 0 {
		text = fileHead + Document(list)
	}
	var err error
	switch have, readErr := os.ReadFile(s.cfg.File); {
	case readErr == nil && string(have) == text, errors.Is(readErr, fs.ErrNotExist) && text == "":
		return
	case text == "":
		err = os.Remove(s.cfg.File)
	default:
		err = wholefile.Write(s.cfg.File, []byte(text), 0o600)
	}
	if err != nil {
		s.cfg.Logf("the copy of the saved rules could not be written: %v", err)
	}
}
