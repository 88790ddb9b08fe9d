package shell

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// eight is some 200 characters with eight commands, of the kind that agents write.
const eight = `cd /srv/app && git status --short && git diff --stat HEAD~1; grep -rn "TODO" --include='*.go' internal | sort -u | head -20; go test ./internal/policy/shell -run 'TestX$' -count=1 2>&1; echo "the end is near"`

// bare parses and walks as little as one can: what any reader of shell text pays.
func bare(p *syntax.Parser, text string) int {
	f, err := p.Parse(strings.NewReader(text), "")
	if err != nil {
		return 0
	}
	n := 0
	syntax.Walk(f, func(syntax.Node) bool { n++; return true })
	return n
}

// BenchmarkRead reports the cost of reading as a ratio to a bare parse and walk in the same run.
func BenchmarkRead(b *testing.B) {
	if len(eight) < 195 || len(eight) > 210 {
		b.Fatalf("%d characters", len(eight))
	}
	for _, c := range []struct {
		name string
		o    Options
	}{{"bash", here}, {"zsh", Options{Dir: "/p", Home: "/home/u", Project: "/p", Zsh: true}}} {
		b.Run(c.name, func(b *testing.B) {
			p := syntax.NewParser()
			var ours, theirs time.Duration
			for b.Loop() {
				const turn = 20
				begun := time.Now()
				for range turn {
					bare(p, eight)
				}
				theirs += time.Since(begun)
				begun = time.Now()
				for range turn {
					if s := Read(eight, c.o); len(s.Units) != 8 {
						b.Fatalf("%d units: %v", len(s.Units), Commands(eight, c.o))
					}
				}
				ours += time.Since(begun)
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
		})
	}
}

// BenchmarkGrowth reports how the time grows when a script is four times as long.
func BenchmarkGrowth(b *testing.B) {
	one, four := strings.Repeat(eight+"\n", 4), strings.Repeat(eight+"\n", 16)
	var short, long time.Duration
	for b.Loop() {
		begun := time.Now()
		Read(one, here)
		short += time.Since(begun)
		begun = time.Now()
		Read(four, here)
		long += time.Since(begun)
	}
	b.ReportMetric(float64(long)/float64(short), "x-for-4x")
}

// hostile are texts below 64 KiB that are meant to take long.
func hostile() map[string]string {
	const n = maxBytes - 16
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	wrapped := func(open, mid, end string) string {
		k := n / (len(open) + len(end))
		return strings.Repeat(open, k) + mid + strings.Repeat(end, k)
	}
	out := map[string]string{
		"groups": wrapped("(", "a", ")"), "braces": wrapped("{ ", "a", ";}"), "substitutions": wrapped("$(", "a", ")"), "quoted": wrapped(`"$(`, "a", `)"`), "arithmetic": "echo " + wrapped("$((", "1", "))"),
		"parens in arithmetic": "echo $((" + wrapped("(", "1", ")") + "))", "sum": "echo $((" + rep("1+") + "1))", "expansions": "echo " + wrapped("${x:-", "a", "}"), "tests": "[[ " + wrapped("( ", "a", " )") + " ]]", "nots": "[[ " + rep("! ") + "a ]]",
		"open": rep("("), "open substitutions": rep("$("), "backquotes": rep("`"), "ifs": rep("if "), "bangs": rep("! "), "times": rep("time "), "commands": rep("a;"), "lines": rep("a\n"), "pipes": rep("a|") + "a", "ands": rep("a&&") + "a",
		"words": rep("a "), "one word": rep("a"), "globs": "ls " + rep("*"), "brackets": "ls " + rep("["), "open braces": "ls " + rep("{"), "braces with commas": "ls " + rep("{,"), "tildes": "ls " + rep("~:"), "quotes": "ls " + rep("''"), "redirects": "ls " + rep(">a "),
		"heredocs": rep("cat <<A\nx\nA\n"), "heredocs in one line": "cat " + strings.Repeat("<<A ", n/12) + "\n" + strings.Repeat("x\nA\n", n/12), "herestrings": "ls " + rep("<<<a "), "assignments": rep("a=b "), "sudo": rep("sudo "), "timeout": rep("timeout 5 "), "env": "env " + rep("A=b ") + "ls",
		"find": "find . " + rep("-exec a ; "), "find exec find": rep("find . -exec "), "xargs": rep("xargs "), "bash -c": rep("bash -c "), "git": "git " + rep("-C a "), "sudo bash": rep("sudo bash -c 'a b' "), "comments": rep("#\\\n"), "continued": rep(" \\\n"), "functions": rep("f() { a; };"),
		"guesses": "sudo " + strings.Repeat("'a b; c d' ", n/11), "nested guesses": "sudo '" + strings.Repeat("sudo a b c d e;", n/15) + "'", "nul": rep("\x00"), "carriage returns": rep("a\r"), "invalid": rep("\xff"), "bidi": rep("\u202e"), "dups": rep(">&--a "), "dollar": rep("$'"), "loops": wrapped("for x in a; do ", "a", ";done "),
		"cases": rep("case a in a) "), "subscripts": "echo " + wrapped("${a[", "1", "]}"), "extglob": "ls " + wrapped("@(", "a", ")"), "exec commands": "xargs " + rep("xargs -I{} ") + "a", "unclosed heredocs": rep("<<A "), "cds": rep("cd a&&") + "git log", "functions nested": wrapped("f(){ ", "a", ";}"),
		"hidden closers": rep("'))))))))' (((((((("), "env bash": "env bash -c '" + strings.ReplaceAll(rep("env bash -c a;"), "'", "") + "'", "groups in 10,000": wrapped("(", "a", ")")[n/2-4900:][:9800], "zsh": rep("{a}~#^"), "commands in 10,000": strings.Repeat("{a};", 2400),
		"moves": rep("cd a;"), "moves or others": rep("cd a||cd b;"), "values": "f=" + strings.Repeat("a", 500) + ";" + rep(`echo "$f$f$f";`), "set or not": rep("f=a||g=b;"), "rounds": "for x in {a..z}; do " + strings.Repeat("a {1..64};", 30) + "done",
		"braces of words": rep("a {1..64};"), "rounds of rounds": rep("for f in a b c d;do for g in a b c d;do a $f$g;done;done;"), "loops that set": "f=a;" + rep("while a;do f=b;done;"), "many set": many(), "values of values": "f=a;" + rep(`f="$f$f";`),
	}
	return out
}

// many is a script that sets more variables than are kept.
func many() string {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "v%d=$v%d;", i, i/2)
	}
	return b.String()
}

// BenchmarkHostile reports the slowest hostile text, the best of several readings of each, against
// the 5 ms that no text below 64 KiB may take. Those that seem slow are read more often: on a
// busy machine most of their time is someone else's.
func BenchmarkHostile(b *testing.B) {
	zsh := here
	zsh.Zsh = true
	for b.Loop() {
		slowest, which := time.Duration(0), ""
		texts := hostile()
		for name, text := range texts {
			// The longest that is parsed is the most that a text can cost, not the longest of all.
			if len(text) > maxChars {
				texts[name+", shorter"] = text[:maxChars]
			}
		}
		for name, text := range texts {
			best := time.Hour
			for n := 0; n < 3 || n < 40 && best > 2*time.Millisecond; n++ {
				begun := time.Now()
				Read(text, zsh)
				best = min(best, time.Since(begun))
			}
			if best > 2*time.Millisecond {
				b.Logf("%-24s %v", name, best)
			}
			if best > slowest {
				slowest, which = best, name
			}
		}
		b.ReportMetric(float64(slowest)/float64(5*time.Millisecond), "x-of-5ms")
		b.Logf("slowest: %s, %v", which, slowest)
	}
}
