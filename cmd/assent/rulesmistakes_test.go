package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/policy"
)

// What check says of a file that is no error.
func TestCheckNotes(t *testing.T) {
	c := checkedFile{}
	text := "version: 1\nallow: ['Bash(python *)', 'Bash(sudo *)', 'Bash(bash *)', 'Bash(npx:*)', 'Bash(timeout 60 npm test)', 'Read(/etc/hosts)', 'Bash(git push *)', 'Bash(ls *)']\ndeny: ['Bash(git *)']\n"
	var all []string
	for _, p := range c.count(ruleFile{Source: policy.Source{Name: "f", Layer: policy.User, Data: []byte(text)}}, policy.LoadOptions{}) {
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

// What settings say and rules cannot match is left out or asked about, with the reason.
func TestImportSaysWhatCannotMatch(t *testing.T) {
	settings, err := json.Marshal(map[string]any{"permissions": map[string]any{
		"allow": []string{"Bash(timeout 60 npm test)", "Bash(PYTHONPATH=. pytest:*)", "Bash(git -C /Users/me/x status)", "Bash(npm test)", "Agent(model:opus)", "Raed"},
		"deny":  []string{"Agent(model:opus)", "Bash(run_in_background:true)", "Bash(git:* push)", "Bsh"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, settings, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &imported{path: path, everywhere: true}
	if err := m.read(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"allow Bash(timeout 60 npm test)": "left", "allow Bash(PYTHONPATH=. pytest:*)": "left", "allow Bash(git -C /Users/me/x status)": "left", "allow Bash(npm test)": "carried",
		"allow Agent(model:opus)": "left", "allow Raed": "left", "deny Agent(model:opus)": "carried", "deny Bash(run_in_background:true)": "carried", "deny Bash(git:* push)": "changed", "deny Bsh": "changed",
	}
	for _, e := range m.entries {
		if got := e.State; got != want[e.Action+" "+e.Text] || got != "carried" && e.Why == "" {
			t.Errorf("%s %s: %s (%s), want %s", e.Action, e.Text, got, e.Why, want[e.Action+" "+e.Text])
		}
	}
	if text, err := m.file(); err != nil {
		t.Error(err)
	} else if !strings.Contains(string(text), "ask:\n") {
		t.Errorf("no ask in %s", text)
	}
}
