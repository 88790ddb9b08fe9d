package main

import (
	"strings"
	"testing"

	"assent/internal/policy"
	"assent/internal/policy/files"
)

// What check says of a file that is no error.
func TestCheckNotes(t *testing.T) {
	c := checkedFile{}
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
