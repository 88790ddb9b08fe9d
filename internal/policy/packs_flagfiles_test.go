package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestFlagsThatTakeFiles: a value of a flag that a pack lists may be a file that the program reads and shows, as
// with ag -p FILE, and how many words a flag takes says which word is a pattern and which a file. So no pack allows
// the name of a secret as a value, but where the manual says that the value is none (noFiles), nor as a file behind
// any flag. What shows names only shows no secret.
func TestFlagsThatTakeFiles(t *testing.T) {
	all, found := load(t, "version: 1\nuse: ["+strings.Join(Packs(), ", ")+"]\n"), map[string]bool{}
	for _, name := range Packs() {
		data, err := pack(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range readFile(&reader{file: name}, Source{Name: name, Layer: Builtin, Data: data}).rules {
			m := r.match.command
			if r.guard() || m == nil || m.flags == nil {
				continue
			}
			for _, words := range flagForms(m) {
				for _, p := range m.programs {
					c := p.src + " " + words.text
					if p.exact && (!namesOnly(p.src) && usesOf(p.src)&findsFiles == 0 || words.operand && reads(p.src)) && all.Eval(bashCall(c)).Action == hook.ActionAllow {
						if key := p.src + " " + words.flag; !noFiles[key] && !found[key] {
							found[key] = true
							t.Errorf("%s: %s", r.id, c)
						}
					}
				}
			}
		}
	}
}

// reads says whether a program shows what is in the files that are its operands.
func reads(program string) bool { return usesOf(program)&(searches|findsFiles) == searches }

type flagForm struct {
	flag, text string
	operand    bool // the secret is an operand
}

// flagForms are the words of commands that give each flag of a rule, which takes a value, the name of a secret.
func flagForms(m *commandMatch) (all []flagForm) {
	var before []string
	for _, a := range m.args {
		if len(a) == 0 || !a[0].exact {
			break
		}
		before = append(before, a[0].src)
	}
	add := func(flag string, forms ...string) {
		for _, f := range forms {
			for _, rest := range []string{"", " x", " x y"} {
				all = append(all, flagForm{flag, strings.Join(append(slices.Clone(before), f+rest), " "), false}, flagForm{flag, strings.TrimSpace(strings.Join(before, " ") + rest + " " + f), false})
			}
		}
	}
	operand := func(flag string, mode flagMode) {
		if mode == hasValue {
			flag += " 3"
		}
		all = append(all, flagForm{flag, flag + " x .env", true})
	}
	for _, set := range []*flagSet{m.flags.only, m.flags.before} {
		if set == nil {
			continue
		}
		for _, flag := range slices.Sorted(maps.Keys(set.long)) {
			operand(flag, set.long[flag])
			if mode := set.long[flag]; mode == hasValue || mode == optional {
				add(flag, flag+" .env", flag+"=.env")
			}
		}
		for c, mode := range set.short {
			flag := "-" + string(rune(c))
			operand(flag, mode)
			if mode == hasValue || mode == optional {
				add(flag, flag+" .env", flag+".env")
			}
		}
	}
	return all
}

// noFiles are flags whose value is no file that is read: one that names a revision, a colour, an encoding, a pattern or
// a date, or of which only the time is shown.
var noFiles = map[string]bool{
	"git --column": true, "git --find-renames": true, "git --ignore-submodules": true, "git --ignored": true, "git --porcelain": true, "git --untracked-files": true, "git -u": true,
	"git --abbrev": true, "git --color": true, "git --format": true, "git --sort": true, "git --contains": true, "git --merged": true, "git --no-contains": true, "git --no-merged": true, "git --points-at": true, "git -n": true,
	"git --abbrev-ref": true, "git --branches": true, "git --default": true, "git --git-path": true, "git --path-format": true, "git --remotes": true, "git --short": true, "git --since": true, "git --tags": true, "git --until": true,
	"grep --color": true, "egrep --color": true, "fgrep --color": true, "grep --colour": true, "egrep --colour": true, "fgrep --colour": true,
	"rg --color": true, "ripgrep --color": true,
	"grep --context": true, "egrep --context": true, "fgrep --context": true, "ag --context": true, // read behind a = only: the next word is the pattern
	"date --date": true, "date --iso-8601": true, "date --reference": true, "date --rfc-3339": true, "date -I": true, "date -d": true, "date -r": true,
}
