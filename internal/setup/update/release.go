// Package update replaces the programs of an installation by those of a newer release. What it takes
// is signed, by the one key that was built into the program, and never older unless somebody says so.
//
// A release is a directory of files at a URL or on a disk (see docs/release.md). SHA256SUMS is signed
// as minisign does it, and the signed comment is "assent VERSION": so neither an archive nor the name of
// the version is anybody else's word.
package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"
)

// What is taken of each file at most, in bytes.
const (
	maxSums    = 64 << 10
	maxSig     = 4 << 10
	maxArchive = 256 << 20
)

// Timeouts of a download: of the answer's beginning, and of all of it.
const (
	answerTimeout = 30 * time.Second
	allTimeout    = 15 * time.Minute
)

// Errors that a caller tells apart.
var (
	// ErrNoKey says that this program was built without a key, so that it can trust no release.
	ErrNoKey = errors.New("this assent was built without a release's key, so it cannot tell who made a release")
	// ErrOlder says that the release is older than what is there.
	ErrOlder = errors.New("the release is older than this assent")
	// ErrUntrusted says that what was found was not signed with the key.
	ErrUntrusted = errors.New("the release is not signed with the key of this assent")
)

// Source is where releases lie, and whom to believe.
type Source struct {
	// Key is a minisign public key, as its file has it on the second line.
	Key string
	// At is a URL, https or http to loopback, or an absolute directory. In it {version} stands for
	// the version, or for "latest" where none is wanted.
	At string
	// System and Arch are Go's names of the platform.
	System, Arch string
	// Progress is told how many bytes of the archive are there; nil: nobody is. total is -1 where
	// it is not known.
	Progress func(done, total int64)
}

// Release is a release for one platform.
type Release struct {
	Version string
	dir     string // in the archive, and the archive's name without its ending
	sha256  string
	at      string
}

// Find returns the release that lies there, of the version want, or whichever it is. What it returns is
// signed.
func (s Source) Find(ctx context.Context, want string) (Release, error) {
	if s.Key == "" {
		return Release{}, ErrNoKey
	}
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(s.Key)); err != nil {
		return Release{}, fmt.Errorf("the key of this assent: %w", err)
	}
	place := "latest"
	if want != "" {
		place = want
	}
	at := strings.TrimRight(strings.ReplaceAll(s.At, "{version}", place), "/")
	if at == "" {
		return Release{}, errors.New("this assent was not told where releases lie")
	}
	sums, err := fetch(ctx, at+"/SHA256SUMS", maxSums)
	if err != nil {
		return Release{}, err
	}
	text, err := fetch(ctx, at+"/SHA256SUMS.minisig", maxSig)
	if err != nil {
		return Release{}, err
	}
	if !minisign.Verify(key, sums, text) {
		return Release{}, fmt.Errorf("%w (%s)", ErrUntrusted, at)
	}
	var sig minisign.Signature
	if err := sig.UnmarshalText(text); err != nil {
		return Release{}, fmt.Errorf("the signature of %s: %w", at, err)
	}
	version, ok := strings.CutPrefix(sig.TrustedComment, "assent ")
	if !ok || !semver.IsValid("v"+version) || strings.Contains(version, "+") {
		return Release{}, fmt.Errorf("%w: what is signed there is %q, and no version of assent", ErrUntrusted, sig.TrustedComment)
	}
	if want != "" && version != want {
		return Release{}, fmt.Errorf("at %s lies assent %s, not %s", at, version, want)
	}
	r := Release{Version: version, dir: fmt.Sprintf("assent_%s_%s_%s", version, s.System, s.Arch), at: at}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		if b, err := hex.DecodeString(sum); err == nil && len(b) == sha256.Size && name == r.dir+".tar.gz" {
			r.sha256 = sum
			return r, nil
		}
	}
	return Release{}, fmt.Errorf("assent %s is not there for %s on %s; build it from source", version, s.System, s.Arch)
}

// Newer reports whether version comes after this one. What has no proper version, as a program that was
// built by hand, comes before every release.
func Newer(version, this string) bool { return semver.Compare("v"+version, "v"+this) > 0 }

// fetch is a small file, whole.
func fetch(ctx context.Context, at string, most int64) ([]byte, error) {
	var b bytes.Buffer
	_, err := copyFrom(ctx, at, &b, most, nil)
	return b.Bytes(), err
}

// client follows a redirect to nothing less safe than where it came from.
var client = &http.Client{
	Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: answerTimeout}).DialContext,
		TLSHandshakeTimeout:   answerTimeout,
		ResponseHeaderTimeout: answerTimeout,
		DisableKeepAlives:     true,
	},
	CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("redirected too often")
		}
		return safe(r.URL)
	},
}

// safe says why nothing is fetched from a URL; nil if it can be.
func safe(u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%s: want https, or http to this machine", u.Redacted())
}

// copyFrom writes what lies at a URL or in a file to w. More than most is an error.
func copyFrom(ctx context.Context, at string, w io.Writer, most int64, progress func(done, total int64)) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, allTimeout)
	defer cancel()
	var from io.Reader
	total := int64(-1)
	if filepath.IsAbs(at) {
		f, err := os.Open(at)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
			return 0, fmt.Errorf("%s is no file", at)
		} else {
			total = fi.Size()
		}
		from = f
	} else {
		u, err := url.Parse(at)
		if err == nil {
			err = safe(u)
		}
		if err != nil {
			return 0, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return 0, err
		}
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("%s: %s", u.Redacted(), res.Status)
		}
		from, total = res.Body, res.ContentLength
	}
	if progress != nil {
		from = &counted{from, progress, 0, total}
	}
	n, err := io.Copy(w, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s is larger than %d bytes", at, most)
	}
	return n, err
}

// counted tells of each part that was read.
type counted struct {
	io.Reader
	tell        func(done, total int64)
	done, total int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done += int64(n)
	c.tell(c.done, c.total)
	return n, err
}
