package suggest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksOutOfTheProject: a link in the project, which the agent may have made, leads to no rule
// for the place that it points to.
func TestLinksOutOfTheProject(t *testing.T) {
	d := newDesk(t, "")
	home := filepath.Dir(d.project)
	if err := os.Symlink(home, filepath.Join(d.project, "notes")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("docs", filepath.Join(d.project, "in")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(d.project, "notes", "todo.md")
	for _, tool := range []string{"Write", "Edit"} {
		if p := d.propose(d.call(tool, map[string]string{"file_path": at})); len(p.Proposals) > 0 {
			t.Errorf("%s: offered %q\n%s", tool, p.Proposals[len(p.Proposals)-1].Sentence, p.Proposals[len(p.Proposals)-1].Rule)
		}
	}
	if p := d.propose(d.call("Read", map[string]string{"file_path": at})); len(p.Proposals) != 1 || !strings.Contains(p.Proposals[0].Sentence, filepath.Join(home, "todo.md")) {
		t.Errorf("Read: %+v", p.Proposals)
	}
	for _, c := range []string{"mytool > notes/todo.md", "mytool notes/todo.md", "mytool --out=notes/todo.md", "touch notes/todo.md"} {
		if p := d.propose(d.bash(c)); len(p.Proposals) > 0 {
			t.Errorf("%s: offered %q\n%s", c, p.Proposals[0].Sentence, p.Proposals[0].Rule)
		}
	}
	// One that stays inside is fine, and said.
	for _, c := range []string{"mytool > in/todo.md", "mytool in/todo.md"} {
		if p := d.propose(d.bash(c)); len(p.Proposals) == 0 {
			t.Errorf("%s: %s", c, p.Reason)
		}
	}
	from := d.bash("mytool")
	from.CWD = filepath.Join(d.project, "notes")
	for _, p := range d.propose(from).Proposals {
		if !strings.Contains(p.Sentence, "leads to "+home) {
			t.Errorf("where it leads is not said: %s\n%s", p.Sentence, p.Rule)
		}
	}
}
