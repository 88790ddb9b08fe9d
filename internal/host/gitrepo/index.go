package gitrepo

import (
	"bytes"
	"errors"
	"os"
	"path"
	"strings"
	"syscall"
)

// maxIndex bounds the part of an index that is read. Entries are in the order of their names, so
// nothing behind the one that is looked for is read: for a name that begins with a dot that is
// little, however large the repository.
const maxIndex = 16 << 20

// ErrIndex says that a git index cannot be read with certainty.
var ErrIndex = errors.New("git's index cannot be read")

// Tracked reports whether git's index of the work tree at root has something named name, in any
// letter case, at its top: a file, or a directory with something in it. It errs on the side of
// yes: of a split index it reads what its parts hold, also if it was removed since.
func Tracked(root, name string) (bool, error) {
	g, ok := openGit(root)
	if !ok {
		return false, ErrIndex
	}
	hash := 20
	if strings.EqualFold(setting(string(readUpTo(path.Join(g.common, "config"), maxConfig)), "extensions", "objectformat"), "sha256") {
		hash = 32
	}
	files := []string{path.Join(g.own, "index")}
	shared, err := sharedIndexes(g.own)
	if err != nil {
		return false, err
	}
	for _, file := range append(files, shared...) {
		if found, err := trackedIn(file, hash, name); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// sharedIndexes are the other parts of a split index.
func sharedIndexes(dir string) (files []string, err error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, ErrIndex
	}
	defer d.Close()
	const most = 10_000 // of some twenty
	names, err := d.Readdirnames(most)
	if err != nil || len(names) == most {
		return nil, ErrIndex
	}
	for _, n := range names {
		if strings.HasPrefix(n, "sharedindex.") {
			files = append(files, path.Join(dir, n))
		}
	}
	return files, nil
}

// trackedIn reads one file, in pieces that grow.
func trackedIn(file string, hash int, name string) (bool, error) {
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		return false, nil // before the first git add
	}
	f := openRegular(file)
	if f == nil {
		return false, ErrIndex
	}
	defer f.Close()
	var b []byte
	for size := 16 << 10; size <= maxIndex; size *= 4 {
		have := len(b)
		b = append(b, make([]byte, size-have)...)
		b = b[:have+readFull(f, b[have:])]
		switch scanIndex(b, hash, name) {
		case indexHas:
			return true, nil
		case indexHasNot:
			return false, nil
		case indexOdd:
			return false, ErrIndex
		}
		if len(b) < size { // the end of the file, in the middle of an entry
			break
		}
	}
	return false, ErrIndex
}

// readFull fills b, as far as there is something.
func readFull(f *os.File, b []byte) (n int) {
	for n < len(b) {
		k, err := f.Read(b[n:])
		n += k
		if k == 0 || err != nil {
			break
		}
	}
	return n
}

// indexAnswer is what the beginning of an index says.
type indexAnswer int

const (
	indexGoesOn indexAnswer = iota // more of it has to be read
	indexHas
	indexHasNot
	indexOdd // it is none, or of a version that is not known
)

// scanIndex looks through the entries: see gitformat-index(5). hash is the length of an object name
// in bytes.
func scanIndex(b []byte, hash int, name string) indexAnswer {
	const header, beforeHash = 12, 40
	if len(b) < header {
		return indexGoesOn
	}
	version := number(b[4:8])
	if string(b[:4]) != "DIRC" || version < 2 || version > 4 {
		return indexOdd
	}
	entries, b := number(b[8:12]), b[header:]
	var last []byte
	for range entries {
		fixed := beforeHash + hash + 2
		if len(b) < fixed {
			return indexGoesOn
		}
		if flags := uint(b[fixed-2]) << 8; flags&0x4000 != 0 { // extended
			if version == 2 {
				return indexOdd
			}
			fixed += 2
		}
		at := fixed
		var entry []byte
		if version == 4 { // names are told by what differs from the one before
			cut, n := varint(b[min(at, len(b)):])
			if n == 0 {
				return indexGoesOn
			}
			if cut > uint64(len(last)) {
				return indexOdd
			}
			at += n
			entry = last[: len(last)-int(cut) : len(last)-int(cut)]
		}
		end := bytes.IndexByte(b[min(at, len(b)):], 0)
		if end < 0 {
			return indexGoesOn
		}
		entry = append(entry, b[at:at+end]...)
		if bytes.Compare(entry, last) < 0 { // in a split index the first have no name, but one in the other part
			return indexOdd
		}
		top, _, _ := bytes.Cut(entry, []byte("/"))
		switch {
		case strings.EqualFold(string(top), name):
			return indexHas
		case string(entry) > name+"/": // capitals come before it
			return indexHasNot
		}
		last = entry
		at += end + 1
		if version < 4 { // up to eight NULs, so that the length is a multiple of eight
			at = fixed + end + 8 - (fixed+end)%8
		}
		if at > len(b) {
			return indexGoesOn
		}
		b = b[at:]
	}
	return indexHasNot
}

func number(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// varint reads a number as in a pack's offsets. n is its length, 0 if it is not whole.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 9 {
		c := b[n]
		n++
		v |= uint64(c & 0x7f)
		if c&0x80 == 0 {
			return v, n
		}
		v = (v + 1) << 7
	}
	return 0, 0
}

// setting returns the last value of section.key in a git configuration.
func setting(conf, section, key string) (v string) {
	within := false
	for conf != "" {
		var line string
		line, conf, _ = strings.Cut(conf, "\n")
		line = strings.TrimLeft(line, " \t")
		if strings.HasPrefix(line, "[") {
			end := strings.IndexByte(line, ']')
			if end < 0 {
				within = false
				continue
			}
			within = strings.EqualFold(strings.TrimSpace(line[1:end]), section)
			line = line[end+1:]
		}
		if name, raw, ok := strings.Cut(line, "="); within && ok && strings.EqualFold(strings.TrimSpace(name), key) {
			v = value(raw)
		}
	}
	return v
}
