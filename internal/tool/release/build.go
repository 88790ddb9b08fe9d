package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build puts both programs for a platform into dir.
func (o options) build(ctx context.Context, root, dir, goos, arch string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "sh", filepath.Join("internal", "tool", "release", "build.sh"), dir, o.version, o.commit, o.date, o.key, o.updates)
	c.Dir, c.Env, c.Stdout, c.Stderr = root, buildEnv(goos, arch), os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build.sh: %w", err)
	}
	return nil
}

// buildEnv is the environment without what changes a build from outside. Which Go is used is the
// only thing left to the machine; the bill of materials names it.
func buildEnv(goos, arch string) []string {
	var env []string
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN", "GOROOT":
			env = append(env, e)
		default:
			if !strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "CGO_") {
				env = append(env, e)
			}
		}
	}
	return append(env, "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOENV=off", "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off")
}

// extras are the files that are alike on all platforms: pages, completions, docs. The programs of
// this machine write them.
func (o options) extras(ctx context.Context, root, work string) ([]file, error) {
	bin := filepath.Join(work, runtime.GOOS+"_"+runtime.GOARCH)
	if err := o.build(ctx, root, bin, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	assent := filepath.Join(bin, "assent")
	pages := filepath.Join(work, "man")
	if err := os.Mkdir(pages, 0o700); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, assent, "man", pages).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("assent man: %w: %s", err, out)
	}
	files, err := take(pages, "share/man/man1")
	if err != nil {
		return nil, err
	}
	for shell, path := range map[string]string{
		"bash": "share/bash-completion/completions/assent",
		"zsh":  "share/zsh/site-functions/_assent",
		"fish": "share/fish/vendor_completions.d/assent.fish",
	} {
		script, err := exec.CommandContext(ctx, assent, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("assent completion %s: %w", shell, err)
		}
		files = append(files, file{Path: path, Data: script})
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "docs", "schemas"} {
		more, err := take(filepath.Join(root, name), "share/doc/assent/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// take reads a file, or all files below a directory, to be put at path.
func take(from, path string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), ".go") {
			return err
		}
		if !d.Type().IsRegular() {
			return errors.New(p + " is no file")
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		files = append(files, file{Path: filepath.ToSlash(filepath.Join(path, rel)), Data: data})
		return nil
	})
	return files, err
}
