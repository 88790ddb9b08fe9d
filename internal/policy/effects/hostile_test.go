package effects_test

import (
	"strings"
	"testing"
	"time"

	"assent/internal/policy/effects"
)

// TestHostile: texts that are meant to take long, short enough to be parsed and of 200 KiB, are read
// whole or in part, and what is said of them stays short. How long each takes is told with -v.
func TestHostile(t *testing.T) {
	of := effects.Func("/home/dev")
	for name, piece := range map[string]string{
		"deletes": "rm a;", "globs": "rm */*/*.env? ", "secrets": "cat .env ~/.ssh/id_rsa ", "pushes": "git push -f a b;", "words": "a ", "sudo": "sudo ", "inner": "sh -c 'rm x';", "flags": "curl -d @x ",
		"hosts": "https://a.example/x ", "stars": "ls ****", "braces": "rm {a,b}{a,b}{a,b} ", "python": "python -c 'import os;os.system(1)';", "sql": "psql -c 'select 1';", "quotes": "'", "redirects": ">a ", "xargs": "xargs rm;", "pipes": "cat .env|", "dollars": "rm $a/$b ", "npx": "npx a b c d e;",
		"long word": "a", "slashes": "rm /../", "unicode": "rm \u202e\u00e9 ", "nul": "rm \x00;", "find": "find . -exec rm {} ; ", "git": "git -c a=b -C x ", "doors": "tar --to-command=x ",
	} {
		for _, size := range []int{9_900, 200 << 10} {
			head := ""
			if !strings.ContainsAny(piece, ";|") {
				head = "rm "
			}
			req := bash(t, head+strings.Repeat(piece, size/len(piece)), "/srv/shop")
			begun := time.Now()
			e := of(req)
			t.Logf("%-10s %8d: %v, %d effects, %d more", name, size, time.Since(begun), len(e.Effects), e.MoreEffects)
			check(t, e, string(req.ToolInput))
		}
	}
}
