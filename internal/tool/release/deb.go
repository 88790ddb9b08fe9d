package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"time"
)

// deb is a package for Debian and what comes of it: an ar of two archives, see deb(5). It has no
// scripts: what it installs are files, and services and hooks are a user's own. (The library for
// such packages, nfpm, brings a git client and OpenPGP with it.)
func (o options) deb(arch string, files []file) (name string, data []byte, err error) {
	var contents []file
	for _, f := range files {
		switch {
		case strings.HasPrefix(f.Path, "share/man/"):
			if f.Data, err = gzipped(f.Data); err != nil {
				return "", nil, err
			}
			f.Path += ".gz"
		case strings.HasPrefix(f.Path, "share/zsh/"):
			f.Path = strings.Replace(f.Path, "site-functions", "vendor-completions", 1)
		case f.Path == "share/doc/assent/LICENSE":
			f.Path = "share/doc/assent/copyright"
		}
		f.Path = "usr/" + f.Path
		contents = append(contents, f)
	}
	slices.SortFunc(contents, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	version := strings.Replace(o.version, "-", "~", 1) // which sorts before the release
	var md5sums bytes.Buffer
	kib := 0
	for _, f := range contents {
		kib += (len(f.Data) + 1023) / 1024
		if f.Link == "" {
			fmt.Fprintf(&md5sums, "%x  %s\n", md5.Sum(f.Data), f.Path)
		}
	}
	var control strings.Builder
	fmt.Fprintf(&control, "Package: assent\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: devel\nPriority: optional\n",
		version, arch, o.maintainer, kib)
	if o.homepage != "" {
		fmt.Fprintf(&control, "Homepage: %s\n", o.homepage)
	}
	control.WriteString(`Description: blocking permission broker for coding agents
 When a coding agent asks "may I run this?", assent holds the question until
 a person answers it, on a phone, in a browser or in a terminal, or until a
 rule does. Nothing is started and no agent is changed by this package: that
 is done by each user, with assent up.
`)
	controlTar, err := tarGz("./", []file{{Path: "control", Data: []byte(control.String())}, {Path: "md5sums", Data: md5sums.Bytes()}}, o.when())
	if err != nil {
		return "", nil, err
	}
	dataTar, err := tarGz("./", contents, o.when())
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	member(&b, "debian-binary", []byte("2.0\n"), o.when())
	member(&b, "control.tar.gz", controlTar, o.when())
	member(&b, "data.tar.gz", dataTar, o.when())
	return fmt.Sprintf("assent_%s_%s.deb", o.version, arch), b.Bytes(), nil
}

// member adds a member to an ar, whose header is 60 characters.
func member(b *bytes.Buffer, name string, data []byte, when time.Time) {
	fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, when.Unix(), 0, 0, "100644", len(data))
	b.Write(data)
	if len(data)%2 == 1 {
		b.WriteByte('\n')
	}
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
