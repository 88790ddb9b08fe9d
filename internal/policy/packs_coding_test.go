package policy

import (
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
)

func coding(t *testing.T) *Set {
	set, err := Load([]Source{{Name: "x.yaml", Data: []byte("version: 1\nuse: [builtin/coding@1, builtin/readonly@1]\n")}}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// builtin/coding@1 allows what builds, tests, checks and formats the project.
func TestPackCodingAllows(t *testing.T) {
	allowsAll(t, coding(t), "coding-allow.txt")
}

// It allows nothing that publishes, installs, leaves the project or names another program.
func TestPackCodingAsks(t *testing.T) {
	asksAll(t, coding(t), "coding-ask.txt")
}

// A word @FILE names a file of further flags to some programs. It may be anywhere, and hold any flag.
func TestPackCodingTakesNoResponseFile(t *testing.T) {
	set := coding(t)
	for _, c := range commands(t, "coding-allow.txt") {
		if strings.HasPrefix(c, "npm ls") || strings.HasPrefix(c, "pnpm list") {
			continue // @x is a scope of packages there
		}
		for _, file := range []string{" @/tmp/x", " @x"} {
			if v := set.Eval(bashCall(c + file)); v.Action == hook.ActionAllow {
				t.Errorf("allowed by %s: %s", v.Rule, c+file)
			}
		}
	}
}

// textFlags take a pattern or the name of a test, so that ".." in them leads nowhere.
var textFlags = []string{"-run", "-skip", "-bench", "-benchtime", "-fuzz", "-fuzztime", "-list", "-vet", "-shuffle", "-count", "-cpu", "-parallel", "-p", "-timeout", "-tags", "-covermode", "-coverpkg",
	"-t", "--testNamePattern", "-k", "-m", "-e"}

// A value that names a directory or a file cannot lead out of the project.
func TestPackCodingValuesStayInside(t *testing.T) {
	data, err := pack("builtin/coding@1")
	if err != nil {
		t.Fatal(err)
	}
	const outside = "a/../../../tmp/x"
	flags := 0
	for _, r := range readFile(&reader{file: "coding"}, Source{Name: "coding", Layer: Builtin, Data: data}).rules {
		if r.match.command == nil || r.match.command.flags == nil || r.match.command.flags.only == nil {
			continue
		}
		set := r.match.command.flags.only
		names := []string{}
		for flag, mode := range set.long {
			if mode == hasValue || mode == optional {
				names = append(names, flag)
			}
		}
		for c, mode := range set.short {
			if mode == hasValue || mode == optional {
				names = append(names, "-"+string(rune(c)))
			}
		}
		for _, flag := range names {
			flags++
			if slices.Contains(textFlags, flag) {
				continue
			}
			for _, shape := range set.shapes(flag) {
				if shape.match(outside) {
					t.Errorf("%s: %s takes %s", r.id, flag, outside)
				}
			}
		}
	}
	if flags < 40 {
		t.Errorf("%d flags were looked at", flags)
	}
}
