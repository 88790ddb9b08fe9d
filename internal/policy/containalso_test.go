package policy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"assent/internal/hook"
)

// TestContainAlso: what the rules of a command's programs name goes with it, with the home in the place of ~.
func TestContainAlso(t *testing.T) {
	set := load(t, `version: 1
rules:
  - id: readers
    action: allow
    contain: {read: [~/lib, /opt/data/], env: [GOFLAGS, TZDIR]}
    match: {command: {program: [cat, grep]}}
  - id: more
    action: allow
    contain: {read: [/opt/data, ~/other.txt]}
    match: {command: {program: [sort, cat]}}
  - id: plain
    action: allow
    contain: read
    match: {command: {program: head}}
`)
	home := contain("true").Home
	for text, want := range map[string][2][]string{
		"cat a":        {{home + "/lib", "/opt/data"}, {"GOFLAGS", "TZDIR"}},
		"sort a":       {{"/opt/data", home + "/other.txt"}, nil},
		"head a":       {nil, nil},
		"cat a | sort": {{home + "/lib", "/opt/data", home + "/other.txt"}, {"GOFLAGS", "TZDIR"}},
	} {
		v := set.Eval(contain(text))
		if v.Action != hook.ActionAllow || v.Contain != hook.ContainRead || !reflect.DeepEqual(v.ContainReads, want[0]) || !reflect.DeepEqual(v.ContainEnv, want[1]) {
			t.Errorf("%s: %+v", text, v)
		}
	}
	// A secret that is named asks, also in what a rule has opened.
	for _, text := range []string{"cat ~/lib/.env", "cat /opt/data/id_rsa", "wc a"} {
		if v := set.Eval(contain(text)); v.Action != hook.ActionAsk || v.ContainReads != nil {
			t.Errorf("%s: %+v", text, v)
		}
	}
	c := contain("cat a")
	c.Home = ""
	if v := set.Eval(c); v.Action != hook.ActionAsk {
		t.Errorf("without a home: %+v", v)
	}
}

// TestContainAlsoBound: more than a command can be given asks.
func TestContainAlsoBound(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "  - {id: r%d, action: allow, contain: {read: [", i)
		for k := range maxAlso {
			fmt.Fprintf(&b, "/opt/d%d-%d, ", i, k)
		}
		fmt.Fprintf(&b, "]}, match: {command: {program: p%d}}}\n", i)
	}
	set := load(t, b.String())
	if v := set.Eval(contain("p0 a; p1 a")); v.Contain != hook.ContainRead || len(v.ContainReads) != maxAlsoAll {
		t.Errorf("%+v", v)
	}
	if v := set.Eval(contain("p0 a; p1 a; p2 a")); v.Action != hook.ActionAsk {
		t.Errorf("%+v", v)
	}
}

func TestContainAlsoRefuses(t *testing.T) {
	for p, ok := range map[string]bool{
		"~/lib": true, "~/lib/": true, "/opt/x y": true, "~/go/pkg/mod": true, "/var/log/app.log": true,
		"lib": false, "./lib": false, "~": false, "~/": false, "/": false, "~user/lib": false, "/a/../b": false, "/a//b": false, "/a/./b": false, "/a/*": false, "/a/{b,c}": false, "~/../x": false, "/a\nb": false,
		"~/.ssh": false, "~/.aws/credentials": false, "~/lib/.env": false, "/opt/id_rsa": false, "~/.ssh/known/x": false, "/" + strings.Repeat("a", maxAlsoPath): false,
	} {
		if why := containPath(p); (why == "") != ok {
			t.Errorf("%q: %q", p, why)
		}
	}
	for name, ok := range map[string]bool{
		"GOFLAGS": true, "_": true, "NODE_ENV": true, "lang2": true,
		"A=b": false, "A B": false, "1A": false, "A-B": false, "GITHUB_TOKEN": false, "aws_secret": false, "ANTHROPIC_API_KEY": false, "HTTPS_PROXY": false, "PGPASSWORD": false, strings.Repeat("A", maxAlsoName+1): false,
	} {
		if why := containName(name); (why == "") != ok {
			t.Errorf("%q: %q", name, why)
		}
	}
}
