package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"assent/internal/text/digest"
)

// file is one that will lie below a prefix such as /usr.
type file struct {
	Path string
	Data []byte
	Run  bool   // a program
	Link string // what it points to, if it is a symbolic link
}

// archive is one of a release.
type archive struct {
	OS, Arch, Name, SHA256 string
	NPM                    string // its package there
}

// tarGz packs files below a directory. Owners, times and order say nothing of the machine.
func tarGz(below string, files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	put := func(h tar.Header, data []byte) error {
		h.ModTime, h.Uname, h.Gname, h.Format, h.Size = when, "root", "root", tar.FormatGNU, int64(len(data))
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[below] = true
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			dirs[below+d+"/"] = true
		}
	}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		if err := put(tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: 0o755}, nil); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		h := tar.Header{Typeflag: tar.TypeReg, Name: below + f.Path, Mode: 0o644}
		switch {
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.Link, 0o777
		case f.Run:
			h.Mode = 0o755
		}
		if err := put(h, f.Data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// sums is what sha256sum -c reads.
func sums(dist map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(dist)) {
		fmt.Fprintf(&b, "%s  %s\n", digest.Of(dist[name]), name)
	}
	return b.Bytes()
}
