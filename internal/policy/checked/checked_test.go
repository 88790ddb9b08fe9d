package checked

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/internal/policy"
	"assent/internal/policy/files"
)

// What check says of a file that is no error.
func TestCheckNotes(t *testing.T) {
	c := File{}
	text := "version: 1\nallow: ['Bash(python *)', 'Bash(sudo *)', 'Bash(bash *)', 'Bash(npx:*)', 'Bash(timeout 60 npm test)', 'Read(/etc/hosts)', 'Bash(git push *)', 'Bash(ls *)']\ndeny: ['Bash(git *)']\n"
	var all []string
	for _, p := range c.count(files.Found{Source: policy.Source{Name: "f", Layer: policy.User, Data: []byte(text)}}, policy.LoadOptions{}) {
		all = append(all, p.Message)
	}
	said := strings.Join(all, "\n")
	for _, want := range []string{
		"Bash(python *) allows any Python", "Bash(sudo *) allows", "Bash(bash *) allows any script", "Bash(npx:*) allows", "never matches", "written //etc/hosts", "`Bash(git *)` in line 3 of f always beats it",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %s\n%s", want, said)
		}
	}
	if strings.Contains(said, "Bash(ls *)") {
		t.Error("Bash(ls *) is nagged about")
	}
}

// Check counts what is in each file, and says of which one what is wrong with it.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	const rules = "version: 1\nallow: ['Bash(make test)', 'Bash(make)']\n"
	good, wrong := file("good.yaml", rules, 0o600), file("wrong.yaml", "version: 1\nalow: []\n", 0o600)
	check := func(cfg files.Config, name string) Report {
		t.Helper()
		cfg.Home = dir
		f, err := files.LookAt(cfg, name, "")
		if err != nil {
			t.Fatal(err)
		}
		return Check(cfg, f, name)
	}
	none := filepath.Join(dir, "none.yaml")
	all := check(files.Config{User: good, Own: none}, "")
	if want := []File{{Path: good, Layer: string(policy.User), State: OK, Rules: 2}, {Path: none, Layer: string(policy.Assent), State: Absent}}; !all.OK || !slices.EqualFunc(all.Files, want, same) {
		t.Errorf("%+v", all)
	}
	one := check(files.Config{}, wrong)
	if one.OK || len(one.Files) != 1 || one.Files[0].State != Broken || len(one.Problems) == 0 || one.Problems[0].Line != 2 {
		t.Errorf("%+v", one)
	}
	open := check(files.Config{}, file("open.yaml", rules, 0o666))
	if !open.OK || len(open.Notices) == 0 || !strings.HasPrefix(open.Notices[0].Message, "as your own file the broker would refuse it: ") {
		t.Errorf("%+v", open)
	}
	signature := file("good.yaml.sig", "{}", 0o600)
	if r := check(files.Config{User: good}, good); !r.OK || len(r.Notices) == 0 || r.Notices[0].File != signature || r.Files[0].SignedBy != "" {
		t.Errorf("%+v", r)
	}
	r := Report{OK: true, Files: []File{}, Problems: []policy.Problem{}, Notices: []policy.Problem{}}
	if text, err := json.Marshal(r); err != nil || string(text) != `{"ok":true,"files":[],"problems":[],"notices":[]}` {
		t.Errorf("%s, %v", text, err)
	}
	for _, other := range []Report{all, one, all} {
		r.Add(other)
	}
	if r.OK || len(r.Files) != 5 || len(r.Problems) != len(one.Problems) {
		t.Errorf("together: %+v", r)
	}
}

func same(a, b File) bool {
	return a.Path == b.Path && a.Layer == b.Layer && a.State == b.State && a.Rules == b.Rules && a.Tests == b.Tests && slices.Equal(a.Packs, b.Packs) && a.SignedBy == b.SignedBy
}
