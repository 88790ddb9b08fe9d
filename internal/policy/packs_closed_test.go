package policy

import (
	"slices"
	"strings"
	"testing"
)

// openFlags are the rules whose programs have no flag that writes, runs or connects; openWords those
// whose words are texts, not names of files, hosts or commands.
var (
	openFlags = []string{"readonly-words", "readonly-echo", "readonly-numbers", "readonly-cd", "readonly-ls", "readonly-realpath", "readonly-stat-any", "readonly-cat", "readonly-count", "readonly-columns", "readonly-bytes",
		"readonly-checksums", "readonly-hardware"}
	// namesAnyway are those for which a name that looks like a flag does no harm.
	namesAnyway = []string{"readonly-grep"}
	openWords   = []string{"readonly-printf", "readonly-test", "readonly-command-v"}
)

// Packs rest on closed lists: every rule that allows names its operations, its flags, the shapes of
// its operands and, in the packs that ask others, the shapes of the values of its flags.
func TestPacksAreClosed(t *testing.T) {
	for _, name := range Packs() {
		data, err := pack(name)
		if err != nil {
			t.Fatal(err)
		}
		f := readFile(&reader{file: name}, Source{Name: name, Layer: Builtin, Data: data})
		asks := !slices.Contains([]string{"builtin/readonly@1", "builtin/git-read@1"}, name) && !strings.Contains(name, "project")
		for _, r := range f.rules {
			if r.guard() || r.match.command == nil {
				continue
			}
			for _, fault := range openFlagsOf(r.id, r.match.command, asks) {
				t.Errorf("%s: %s: %s", name, r.id, fault)
			}
		}
	}
}

func openFlagsOf(id string, m *commandMatch, asks bool) (found []string) {
	if m.flags != nil && m.flags.any && !slices.Contains(openFlags, id) {
		found = append(found, "any flag may stand there")
	}
	if m.flags != nil && m.flags.names && !slices.Contains(namesAnyway, id) {
		found = append(found, "names may look like flags")
	}
	open := m.rest || !m.argsSet
	if open && (m.flags == nil || m.flags.only == nil) && !slices.Contains(openFlags, id) && !slices.Contains(openWords, id) {
		found = append(found, "further words may be flags")
	}
	if open && m.operands == nil && m.paths == nil && !slices.Contains(openFlags, id) && !slices.Contains(openWords, id) {
		found = append(found, "further words may be anything")
	}
	for _, g := range m.operands {
		if strings.Contains(g.src, "*") && g.re == nil && g.is == nil {
			found = append(found, "the operands have a wildcard: "+g.src)
		}
	}
	if m.paths != nil && m.operands == nil && !matchAny(m.noArg, "@flags") {
		found = append(found, "a word @FILE may hold further flags")
	}
	several := slices.ContainsFunc(m.programs, func(g glob) bool {
		return slices.Contains([]string{"aws", "az", "gcloud", "gh", "docker", "podman", "kubectl", "helm", "npm", "pip", "pip3", "brew", "git", "auth0", "go", "cargo"}, g.src)
	})
	if several && m.verbs == nil && (len(m.args) == 0 || slices.ContainsFunc(m.args[0], func(g glob) bool { return !g.exact })) && !slices.Contains([]string{"cloud-read-aws-help", "cloud-read-aws-help-two", "readonly-subcommand-help", "go-project-lint"}, id) {
		found = append(found, "the operation is not named")
	}
	if !asks || m.flags == nil {
		return found
	}
	for _, set := range []*flagSet{m.flags.only, m.flags.before} {
		if set == nil {
			continue
		}
		for flag, mode := range set.long {
			if (mode == hasValue || mode == optional) && set.shapes(flag) == nil {
				found = append(found, "any value may stand after "+flag)
			}
		}
		for c, mode := range set.short {
			if flag := "-" + string(rune(c)); (mode == hasValue || mode == optional) && set.shapes(flag) == nil {
				found = append(found, "any value may stand after "+flag)
			}
		}
	}
	return found
}
