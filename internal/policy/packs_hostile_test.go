package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/hook"
)

// classes reads a table whose lines "## NAME" begin a class of commands.
func classes(t *testing.T, name string) map[string][]string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all, class := map[string][]string{}, ""
	for line := range strings.SplitSeq(string(data), "\n") {
		if title, is := strings.CutPrefix(line, "## "); is {
			class = title
			continue
		}
		if line != "" && !strings.HasPrefix(line, "# ") {
			all[class] = append(all[class], strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	if len(all) == 0 {
		t.Fatalf("testdata/%s holds no class", name)
	}
	return all
}

// All packs together, those that run code of the project too, ask about every hostile command,
// whichever of the shells runs it.
func TestPacksHostile(t *testing.T) {
	every, err := Load([]Source{{Name: "packs.yaml", Data: []byte("version: 1\nuse: [" + strings.Join(Packs(), ", ") + "]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for class, rows := range classes(t, "packs-hostile.txt") {
		t.Run(class, func(t *testing.T) {
			for _, command := range rows {
				for _, shell := range []string{"bash", ""} {
					c := bashCall(command)
					c.Shell = shell
					if v := every.Eval(c); v.Action == hook.ActionAllow {
						t.Errorf("allowed by %s (shell %q): %s", v.Rule, shell, command)
					}
				}
			}
		})
	}
}
