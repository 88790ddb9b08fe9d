package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecipe runs build.sh with a stand-in for go, which says how it was called.
func TestRecipe(t *testing.T) {
	dir := t.TempDir()
	stub := filepath.Join(dir, "go")
	if err := os.WriteFile(stub, []byte("#!/bin/sh\necho CGO=$CGO_ENABLED\npwd\nfor a; do echo \"$a\"; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		c := exec.Command(filepath.Join(root, "internal/tool/release/build.sh"), args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GO="+stub)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := run("bin", "1.2.3", "abc", "")
	want := "Building four programs into bin. Where Go has built nothing yet it downloads and compiles everything first, which takes some minutes.\nCGO=0\n" + root + "\nbuild\n-trimpath\n-buildvcs=false\n-mod=readonly\n-ldflags=-s -w -X main.built=1.2.3 -X main.commit=abc -X main.date=\n-o\nbin/\n./cmd/assent\n./cmd/assent-hook\n./cmd/assent-hook-strict\n./cmd/assent-contain\n" +
		"  bin/assent             the broker and all commands\n  bin/assent-hook        what an agent's hooks run\n" +
		"  bin/assent-hook-strict the same, where the hook checks who decided\n  bin/assent-contain     runs a command that can only read\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = run("bin", "1.2.3", "abc", "", "RWQf+/=", "https://downloads.example/{version}")
	if want := "-X main.date= -X main.releaseKey=RWQf+/= -X main.releasesAt=https://downloads.example/{version}\n"; err != nil || !strings.Contains(out, want) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.WriteFile(stub, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := run("bin", "1.2.3", "abc", ""); err == nil || strings.Contains(out, "bin/assent") {
		t.Errorf("a build that failed: %v\n%s", err, out)
	}
	if out, err := run("bin", "1.2.3"); err == nil || !strings.HasPrefix(out, "usage: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestOneRecipe: nobody else says how the programs are linked.
func TestOneRecipe(t *testing.T) {
	for _, name := range []string{"Makefile", "Dockerfile", "internal/tool/release/build.go"} {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "build.sh") || strings.Contains(string(text), "ldflags") || strings.Contains(string(text), "LDFLAGS") {
			t.Errorf("%s does not leave the build to build.sh", name)
		}
	}
}
