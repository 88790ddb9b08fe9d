// Package gitrepo finds out which git repository a directory belongs to, and what is checked
// out there, without running git: a hook runs several times per tool call, and the broker,
// which may be on another host, cannot find this out later.
//
// It is on the path of the hook client, so it is standard library only, without fmt, bufio
// and encoding. It trusts no file that it reads: every read is bounded, only regular files
// are read (a FIFO or a device named HEAD would block or never end), and what is reported has
// the shape of what it claims to be. What cannot be read is left empty; there are no errors,
// because nobody could act on them.
package gitrepo

import (
	"bytes"
	"os"
	"path"
	"strings"

	"assent/internal/hook"
	"assent/internal/host/regular"
)

const (
	maxLevels = 128     // directories walked upwards
	maxSmall  = 4 << 10 // HEAD, a loose ref, a .git file, commondir
	maxPath   = 4 << 10
)

// Find returns the work tree that dir, an absolute path, stands in: the nearest directory at or
// above it that has a .git of its own. The zero Repo means that there is none.
func Find(dir string) hook.Repo {
	root, g, ok := find(dir)
	if !ok {
		return hook.Repo{}
	}
	r := hook.Repo{Root: root, Remote: g.remote()}
	r.Branch, r.Head = g.head(g.packed)
	return r
}

func find(dir string) (root string, g gitDirs, ok bool) {
	if !path.IsAbs(dir) || len(dir) > maxPath {
		return "", gitDirs{}, false
	}
	dir = path.Clean(dir)
	for range maxLevels {
		if g, ok := openGit(dir); ok {
			return dir, g, true
		}
		if dir == "/" {
			break
		}
		dir = path.Dir(dir)
	}
	return "", gitDirs{}, false
}

// gitDirs are the two directories of a repository. They differ in a linked work tree only.
type gitDirs struct {
	own    string // HEAD
	common string // refs, packed-refs, config
}

// openGit looks for root/.git, a directory or, in linked work trees and submodules, a file
// that names one. A directory without HEAD, objects and refs is no repository; git walks past it
// too.
func openGit(root string) (gitDirs, bool) {
	own := path.Join(root, ".git")
	fi, err := os.Lstat(own)
	if err != nil {
		return gitDirs{}, false
	}
	if !fi.IsDir() {
		if fi, err = os.Stat(own); err != nil {
			return gitDirs{}, false
		}
	}
	if fi.Mode().IsRegular() {
		line, ok := strings.CutPrefix(firstLine(readSmall(own)), "gitdir:")
		if !ok {
			return gitDirs{}, false
		}
		if own = resolve(root, strings.TrimLeft(line, " \t")); own == "" {
			return gitDirs{}, false
		}
	} else if !fi.IsDir() {
		return gitDirs{}, false
	}
	if _, err := os.Lstat(path.Join(own, "HEAD")); err != nil {
		return gitDirs{}, false
	}
	g := gitDirs{own: own, common: own}
	if c := resolve(own, firstLine(readSmall(path.Join(own, "commondir")))); c != "" {
		g.common = c
	}
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Stat(path.Join(g.common, name)); err != nil || !fi.IsDir() {
			return gitDirs{}, false
		}
	}
	return g, true
}

// resolve returns name as seen from dir, or "" if it can be no path.
func resolve(dir, name string) string {
	if name == "" || len(name) > maxPath || strings.IndexByte(name, 0) >= 0 {
		return ""
	}
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	return path.Clean(name)
}

// openRegular opens a file for reading if it is a regular one, nil if not.
func openRegular(name string) *os.File {
	f, _, _ := regular.Open(name, os.O_RDONLY, 0)
	return f
}

// readSmall returns the content of a regular file, nil if it cannot be read or is larger than
// any honest one.
func readSmall(name string) []byte {
	return readUpTo(name, maxSmall)
}

func readUpTo(name string, limit int) []byte {
	b, err := regular.Read(name, int64(limit), 0)
	if err != nil {
		return nil
	}
	return b
}

// firstLine returns b up to its first line end, without trailing blanks.
func firstLine(b []byte) string {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(bytes.TrimRight(b, " \t\r"))
}
