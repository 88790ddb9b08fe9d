package importer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// permissions is a file of settings with these.
func permissions(t *testing.T, p map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"permissions": p})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func file(t *testing.T, m *Import) string {
	t.Helper()
	text, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What becomes of one permission in the user's own settings, with the reason where it is not
// carried over as it stands.
func TestEntry(t *testing.T) {
	for _, tt := range []struct {
		action, text string
		want         string   // its state
		as           []string // what stands in the file
		why          string   // a part of the reason
	}{
		{"allow", "Bash(npm test)", Carried, []string{"Bash(npm test)"}, ""},
		{"allow", "Bash(timeout 60 npm test)", Left, nil, "never match"},
		{"allow", "Bash(PYTHONPATH=. pytest:*)", Left, nil, "never match"},
		{"allow", "Bash(git -C /Users/me/x status)", Left, nil, "never match"},
		{"allow", "Agent(model:opus)", Left, nil, " "},
		{"allow", "Raed", Left, nil, "did you mean Read?"},
		{"allow", "Read(/x)", Left, nil, "begins with one /"},
		{"allow", "Read(//x)", Carried, []string{"Read(//x)"}, ""},
		{"deny", "Agent(model:opus)", Carried, []string{"Agent(model:opus)"}, ""},
		{"deny", "Bash(run_in_background:true)", Carried, []string{"Bash(run_in_background:true)"}, ""},
		{"deny", "Bash(git:* push)", Changed, []string{"Bash(git *)"}, "is asked about instead"},
		{"deny", "Agent(modle:opus)", Changed, []string{"Agent"}, "did you mean model"},
		{"deny", "Read('.env')", Changed, []string{"Read"}, "quotes"},
		{"ask", "WebFetch(domain:'a.b')", Changed, []string{"WebFetch"}, "quotes"},
		{"deny", "Bash('rm -rf *')", Changed, []string{"Bash"}, "quotes"},
		{"deny", "Workflow(nmae:x)", Changed, []string{"Workflow"}, "asked about instead"},
		{"deny", "Bsh", Changed, []string{"Bash"}, "did you mean Bash?"},
		{"deny", "Read(/secret/**)", Changed, []string{"Read(//home/user/.claude/secret/**)", "Read(//home/user/secret/**)"}, "begins with one /"},
		{"ask", "Bash(git push *)", Carried, []string{"Bash(git push *)"}, ""},
	} {
		t.Run(tt.action+" "+tt.text, func(t *testing.T) {
			m, err := Parse(Config{Settings: "/home/user/.claude/settings.json", UserDir: "/home/user/.claude"}, permissions(t, map[string]any{tt.action: []string{tt.text}}))
			if err != nil || len(m.Entries) != 1 {
				t.Fatalf("got %d entries, %v", len(m.Entries), err)
			}
			got := m.Entries[0]
			if got.State != tt.want || !slices.Equal(got.As, tt.as) || !strings.Contains(got.Why, tt.why) || tt.want != Carried && got.Why == "" {
				t.Errorf("got %+v, want %s as %q because of %q", got, tt.want, tt.as, tt.why)
			}
			text := file(t, m)
			for _, as := range tt.as {
				if !strings.Contains(text, "\n"+got.Under+":\n") || !strings.Contains(text, "  - \""+as+"\"\n") {
					t.Errorf("%s does not stand under %s in\n%s", as, got.Under, text)
				}
			}
		})
	}
}

// What a project's settings allow is left out unless it is wanted everywhere; what they deny is not.
func TestProject(t *testing.T) {
	settings := permissions(t, map[string]any{"allow": []string{"Bash(make)"}, "deny": []string{"Bash(rm *)", "Read(/secret/**)"}})
	c := Config{Settings: "/srv/shop/.claude/settings.json", UserDir: "/home/user/.claude"}
	for _, tt := range []struct {
		name       string
		everywhere bool
		want       string
	}{
		{"by itself", false, Left},
		{"everywhere", true, Carried},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.Everywhere = tt.everywhere
			m, err := Parse(c, settings)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range m.Entries {
				want := Carried
				if e.Action == "allow" {
					want = tt.want
				}
				if e.State != want || want == Left && !strings.Contains(e.Why, "/srv/shop only") {
					t.Errorf("got %+v, want %s", e, want)
				}
			}
		})
	}
}

// Settings may hold comments, other settings than lists, and things that are no texts.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       string // the states
		err        string
	}{
		{"nothing", `{}`, "", ""},
		{"comments", "\ufeff{ // a\n \"permissions\": {\"allow\": [\"Bash(ls)\",],},}", Carried, ""},
		{"modes and directories", `{"permissions":{"defaultMode":"plan","additionalDirectories":["/x"],"odd":1}}`, Left + " " + Left + " " + Left, ""},
		{"no list", `{"permissions":{"allow":"Bash(ls)"}}`, Left, ""},
		{"no text", `{"permissions":{"allow":[1,null,{"a":1}]}}`, Left + " " + Left + " " + Left, ""},
		{"no JSON", `[`, "", "read settings s.json: "},
		{"no object", `[]`, "", "expected a JSON object"},
		{"no permissions", `{"permissions":[]}`, "", "permissions is no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Parse(Config{Settings: "s.json"}, []byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var states []string
			for _, e := range m.Entries {
				states = append(states, e.State)
			}
			if got := strings.Join(states, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			file(t, m)
		})
	}
}

// The file says what is wide, what was changed and what was left out, once each, safe to show.
func TestFile(t *testing.T) {
	m, err := Parse(Config{Settings: "/home/user/s\x1b.json"}, permissions(t, map[string]any{
		"allow": []string{"Bash(python:*)", "Bash(ls)", "Bash(ls)", "Raed\u202e"}, "deny": []string{"Bash(git:* push)"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := file(t, m)
	want := `# The permissions of /home/user/s⟦U+001B⟧.json,
# as: assent rules import
version: 1

ask:
  # for deny Bash(git:* push)
  - "Bash(git *)"

allow:
  # WIDE: any Python code, and so anything that you can do.
  - "Bash(python:*)"
  - "Bash(ls)"

# Left out:
`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "#   allow Raed⟦U+202E⟧: ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c, ch, l := m.Count(Carried), m.Count(Changed), m.Count(Left); c != 3 || ch != 1 || l != 1 {
		t.Errorf("got %d carried over, %d changed, %d left out", c, ch, l)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	if _, err := Read(Config{Settings: path}); err == nil || !strings.Contains(err.Error(), "read settings "+path+": cannot stat it: no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := Read(Config{Settings: dir}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"permissions":{"allow":["Bash(ls)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := Read(Config{Settings: path}); err != nil || m.Count(Carried) != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Create makes directories, and replaces nothing.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "rules.yaml")
	if err := Create(path, []byte("version: 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("version: 2\n")); err == nil || !strings.Contains(err.Error(), "stays as it is") {
		t.Errorf("got %v", err)
	}
	got, err := os.ReadFile(path)
	if in, statErr := os.Stat(path); err != nil || statErr != nil || string(got) != "version: 1\n" || in.Mode().Perm() != 0o600 {
		t.Errorf("got %q, %v, %v", got, err, statErr)
	}
}
