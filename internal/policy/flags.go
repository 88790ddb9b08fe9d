package policy

import (
	"fmt"
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// flagMode says what value a flag takes.
type flagMode uint8

const (
	unlisted  flagMode = iota
	noValue            // -v
	hasValue           // -n=: -n 5, -n5, --lines=5, --lines 5
	optional           // --color[=]: attached only
	twoValues          // --arg==: the next two words
)

// flagSet is a closed list of flags.
type flagSet struct {
	short  [128]flagMode
	long   map[string]flagMode // with its dashes; -name is how Go's and find's flags look
	number bool                // -#: a number such as -5
	strict bool                // -check=false is not -check: in packs
	// values are the shapes that the values of a flag may have, by the flag as it is listed; those
	// of "*" hold for flags that have no entry. Only an allow looks at them.
	values map[string][]glob
	// clusters: -la is -l -a. Not where the program writes long names with one dash, for
	// there -exec is no cluster.
	clusters bool
}

// flagRules is the flags selector of a command.
type flagRules struct {
	any    bool     // every flag of the program is harmless
	only   *flagSet // no other flag
	before *flagSet // the flags that may stand in front of the subcommand
	has    *flagSet // at least one of these
	names  bool     // names of files may look like flags: no flag of the program writes, runs or connects
}

// writesOneDash knows programs whose long flags begin with one dash, or that have more ways to write
// options than the usual ones: letters are not clusters there, and -- ends nothing.
func writesOneDash(program string) bool {
	return slices.Contains([]string{
		"find", "go", "gofmt", "gcc", "g++", "cc", "c++", "clang", "clang++", "java", "javac", "javap", "jar", "terraform", "tofu", "vault", "consul",
		"nomad", "packer", "openssl", "ffmpeg", "ffprobe", "ffplay", "magick", "convert", "identify", "mogrify", "montage",
		"exiftool", "xxd", "dig", "ip", "tc", "iw", "ss", "ifconfig", "route", "ps", "tar", "dd", "test", "[", "expr", "echo", "printf",
		"scala", "kotlin", "dotnet", "mvn", "ant", "ssh-keygen", "sox", "X", "xrandr", "xprop", "xset", "7z", "7za", "7zr",
		"pdftotext", "pdfinfo", "unzip", "zip", "zipinfo", "aapt", "adb", "fastboot", "latex", "pdflatex", "tex", "ghc", "ocaml", "swipl", "m4",
	}, program)
}

var (
	shortFlag = lazily(`^-[!-,.-<>-~]$`)
	longFlag  = lazily(`^--?[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// newFlagSet compiles the entries of a list for the given programs.
func newFlagSet(entries, programs []string) (*flagSet, error) {
	set := &flagSet{long: map[string]flagMode{}, clusters: true}
	for _, p := range programs {
		if writesOneDash(p) {
			set.clusters = false
		}
	}
	for _, entry := range entries {
		mode, name := noValue, entry
		if s, ok := strings.CutSuffix(entry, "[=]"); ok {
			mode, name = optional, s
		} else if s, ok := strings.CutSuffix(entry, "=="); ok {
			mode, name = twoValues, s
		} else if s, ok := strings.CutSuffix(entry, "="); ok {
			mode, name = hasValue, s
		}
		switch {
		case entry == "-#":
			set.number = true
		case shortFlag.MatchString(name):
			set.short[name[1]] = mode
		case longFlag.MatchString(name):
			set.long[name] = mode
			if name[1] != '-' {
				set.clusters = false
			}
		default:
			return nil, fmt.Errorf("%q is no flag, expected -x, --long, -n= or --lines= (takes a value), --arg== (takes two), --color[=] (may take one) or -# (a number)", short(entry))
		}
	}
	return set, nil
}

// flagFault says why words do not fit a flagSet.
type flagFault struct {
	word shell.Word
	why  string
	// unknown: the word's text comes at run time, and might fit.
	unknown bool
}

// scan walks words, checks every flag against the set and returns the operands. With first it
// stops at the first operand and returns the words from there.
func (set *flagSet) scan(words []shell.Word, first bool, operands []shell.Word) ([]shell.Word, *flagFault) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.Static {
			// --format="$x" is certainly the flag --format; --include=*.go is --include, and
			// so is every file that the pattern could fit.
			if name, _, ok := strings.Cut(w.Prefix, "="); ok && set.shapes(name) == nil && (!w.Glob || !strings.ContainsAny(w.Text, "$`")) && set.long[name] > noValue && strings.HasPrefix(name, "-") {
				continue
			}
			if w.MaybeFlag {
				return nil, &flagFault{w, "may become a flag", true}
			}
		}
		t := w.Text
		if !w.Static || len(t) < 2 || t[0] != '-' {
			if first {
				return words[i:], nil
			}
			operands = append(operands, w)
			continue
		}
		if t == "--" {
			if !set.clusters || first {
				return nil, &flagFault{w, "does not end the flags of this program for certain", false}
			}
			return append(operands, words[i+1:]...), nil
		}
		f, ok := set.flag(t)
		if !ok {
			return nil, &flagFault{w, "is not listed", false}
		}
		if f.attached && !set.shaped(f.name, f.value) {
			return nil, &flagFault{w, "has a value of another shape than is listed", false}
		}
		for range f.takes {
			if i++; i == len(words) {
				return nil, &flagFault{w, "has no value", false}
			}
			switch v := words[i]; {
			case v.Glob || !v.Static && v.MaybeFlag:
				return nil, &flagFault{v, "may become more than the value of a flag", true}
			case v.Static && len(v.Text) > 1 && v.Text[0] == '-' && !digits(strings.TrimRight(v.Text[1:], "cwbkMG")):
				return nil, &flagFault{v, "stands where a value is expected, and looks like a flag", false}
			case set.shapes(f.name) != nil && !v.Static:
				return nil, &flagFault{v, "is known only when it runs", true}
			case f.takes == 1 && !set.shaped(f.name, v.Text):
				return nil, &flagFault{v, "has another shape than is listed for the value of " + quote(f.name), false}
			}
		}
	}
	if first {
		return nil, nil
	}
	return operands, nil
}

// flagUse is one word that is a listed flag, or several letters.
type flagUse struct {
	name, value string // of the flag that has a value: the last of a cluster
	attached    bool   // the value stands in the word
	takes       int    // how many of the words after it are values
}

// shapes are those that the value of a flag must have one of; nil: any value will do.
func (set *flagSet) shapes(name string) []glob {
	if gs, ok := set.values[name]; ok {
		return gs
	}
	return set.values["*"]
}

func (set *flagSet) shaped(name, value string) bool {
	gs := set.shapes(name)
	return gs == nil || matchAny(gs, value)
}

// flag says whether the flag is listed, and what it takes.
func (set *flagSet) flag(t string) (flagUse, bool) {
	name, value, attached := strings.Cut(t, "=")
	if mode := set.long[name]; mode != unlisted {
		f := flagUse{name: name, value: value, attached: attached}
		switch {
		case mode == hasValue && !attached:
			f.takes = 1
		case mode == twoValues:
			f.takes = 2
			return f, !attached
		case mode == noValue:
			return f, !attached || t[1] != '-' && !set.strict // -run=x is how Go's flags are written
		}
		return f, true
	}
	if t[1] == '-' {
		return flagUse{}, false
	}
	if set.number && digits(t[1:]) {
		return flagUse{name: "-#"}, true
	}
	for i := 1; i < len(t); i++ {
		if t[i] >= 128 {
			return flagUse{}, false
		}
		f := flagUse{name: "-" + t[i:i+1], value: t[i+1:], attached: i+1 < len(t)}
		switch set.short[t[i]] {
		case unlisted, twoValues:
			return f, false
		case hasValue:
			if !f.attached {
				f.takes = 1
			}
			return f, !f.attached || set.clusters
		case optional:
			return f, !f.attached || set.clusters
		}
		if f.attached && !set.clusters {
			return f, false
		}
	}
	return flagUse{name: t}, true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// present says whether one of the flags stands in words; perhaps when a word is known only at
// run time. It finds -f in -rf and --force in --forc: it serves rules that deny or ask.
func (set *flagSet) present(words []shell.Word) truth {
	found := no
	for _, w := range words {
		t := w.Text
		if !w.Static {
			if w.MaybeFlag {
				found = perhaps
			}
			t = w.Prefix
		}
		if t == "--" {
			break
		}
		if len(t) < 2 || t[0] != '-' {
			continue
		}
		name, _, _ := strings.Cut(t, "=")
		for long := range set.long {
			if name == long || len(name) > 3 && name[1] == '-' && strings.HasPrefix(long, name) {
				return yes
			}
		}
		if t[1] == '-' {
			continue
		}
		if set.number && digits(t[1:]) {
			return yes
		}
		for i := 1; i < len(t) && t[i] < 128 && (set.clusters || len(t) == 2); i++ {
			if set.short[t[i]] != unlisted {
				return yes
			}
		}
	}
	return found
}

// truth is the answer to whether a rule that denies or asks is meant.
type truth uint8

const (
	no      truth = iota
	perhaps       // it depends on what is known at run time only: no allow
	likely        // the same, but the command says so itself: ~/.s*/id*
	yes
)

func (t truth) and(o truth) truth { return min(t, o) }
func (t truth) or(o truth) truth  { return max(t, o) }
