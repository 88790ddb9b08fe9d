package gitrepo

import (
	"bytes"
	"path"
	"strings"
)

const (
	maxSymrefs = 5        // links from HEAD to a branch; git allows as many
	maxPacked  = 32 << 20 // bytes of packed-refs searched: some 400,000 refs
	packedBuf  = 64 << 10
	maxRefName = 1 << 10
)

// head returns the branch that is checked out, empty when HEAD is detached, and the object
// name it stands at, empty before the first commit. packed looks a ref up in packed-refs.
func (g gitDirs) head(packed func(ref string) string) (branch, sha string) {
	line := firstLine(readSmall(path.Join(g.own, "HEAD")))
	for i := range maxSymrefs {
		target, isRef := strings.CutPrefix(line, "ref:")
		if !isRef {
			if isObjectName(line) {
				sha = line
			}
			return branch, sha
		}
		ref := strings.TrimLeft(target, " \t")
		// refs/heads/.invalid is what HEAD holds in the reftable format: the truth is in
		// binary tables that we do not read.
		if !isRefName(ref) || ref == "refs/heads/.invalid" {
			return branch, ""
		}
		if i == 0 {
			branch = strings.TrimPrefix(ref, "refs/heads/")
		}
		if line = firstLine(readSmall(path.Join(g.common, ref))); line == "" {
			return branch, packed(ref)
		}
	}
	return branch, ""
}

// packed looks a ref up in packed-refs: lines of "<object name> <ref>", with lines of "#…" and
// "^<object name>" between them.
func (g gitDirs) packed(ref string) string {
	f := openRegular(path.Join(g.common, "packed-refs"))
	if f == nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, packedBuf)
	have, total := 0, 0
	for total < maxPacked {
		n, err := f.Read(buf[have:])
		have += n
		total += n
		if err != nil || n == 0 {
			sha, _ := findPacked(append(buf[:have:have], '\n'), ref)
			return sha
		}
		sha, rest := findPacked(buf[:have], ref)
		if sha != "" {
			return sha
		}
		if len(rest) == len(buf) {
			return "" // a line longer than the buffer
		}
		have = copy(buf, rest)
	}
	return ""
}

// findPacked searches the whole lines of b and returns what follows the last of them.
func findPacked(b []byte, ref string) (sha string, rest []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return "", b
		}
		line := bytes.TrimSuffix(b[:i], []byte("\r"))
		b = b[i+1:]
		if len(line) <= len(ref) || string(line[len(line)-len(ref):]) != ref {
			continue
		}
		name, ok := bytes.CutSuffix(line[:len(line)-len(ref)], []byte(" "))
		if ok && isObjectName(string(name)) {
			return string(name), nil
		}
	}
}

// isRefName reports whether s is a ref that may be opened below the git directory. It must
// not lead out of it, and git's own rules forbid the rest.
func isRefName(s string) bool {
	if !strings.HasPrefix(s, "refs/") || len(s) > maxRefName || strings.HasSuffix(s, "/") {
		return false
	}
	if strings.Contains(s, "..") || strings.Contains(s, "//") || strings.Contains(s, "/./") || strings.HasSuffix(s, "/.") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ', c == 0x7f, strings.IndexByte("~^:?*[\\", c) >= 0:
			return false
		}
	}
	return true
}

// isObjectName reports whether s is a whole SHA-1 or SHA-256 in hex.
func isObjectName(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f':
		default:
			return false
		}
	}
	return true
}
