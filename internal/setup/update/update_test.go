package update

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"assent/internal/setup/programs"
)

// entry is one of an archive.
type entry struct {
	name, text string
	kind       byte // of tar; 0: a plain file
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Mode: 0o4777, Size: int64(len(e.text)), Typeflag: e.kind}
		if e.kind == tar.TypeSymlink {
			h.Linkname, h.Size, e.text = e.text, 0, ""
		}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// program is one that says its version.
func program(name, version string) string {
	return "#!/bin/sh\necho " + name + " version " + version + "\n"
}

func below(version string) string { return "assent_" + version + "_linux_amd64/" }

func entries(version string) (all []entry) {
	for _, name := range programs.Names {
		all = append(all, entry{name: below(version) + "bin/" + name, text: program(name, version)})
	}
	return append(all, entry{below(version) + "bin/hookd-emit", "assent-hook", tar.TypeSymlink},
		entry{name: below(version) + "share/man/man1/assent.1", text: "page of " + version})
}

// releases signs releases with one key.
type releases struct {
	t       testing.TB
	private minisign.PrivateKey
	source  Source
}

func newReleases(t testing.TB) *releases {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &releases{t, private, Source{Key: public.String(), At: t.TempDir(), System: "linux", Arch: "amd64"}}
}

// put makes the directory of a release.
func (r *releases) put(version string, archive []byte) { r.sign(version, archive, "assent "+version) }

func (r *releases) sign(version string, archive []byte, comment string) {
	name := strings.TrimSuffix(below(version), "/") + ".tar.gz"
	sums := fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(archive), name)
	r.write(name, archive)
	r.write("SHA256SUMS", sums)
	r.write("SHA256SUMS.minisig", minisign.SignWithComments(r.private, sums, comment, "a comment"))
}

func (r *releases) write(name string, data []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.source.At, name), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// take finds and fetches.
func (r *releases) take(want string) (Staged, error) {
	rel, err := r.source.Find(context.Background(), want)
	if err != nil {
		return Staged{}, err
	}
	return r.source.Fetch(context.Background(), rel, r.t.(*testing.T).TempDir())
}

// installation has programs of 0.1.0, as install.sh installs them.
func installation(t *testing.T) Installation {
	t.Helper()
	dir := t.TempDir()
	in := Installation{Bin: filepath.Join(dir, "bin"), Lock: filepath.Join(dir, "lock")}
	for _, name := range programs.Names {
		if err := putFile(filepath.Join(in.Bin, name), strings.NewReader(program(name, "0.1.0")), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"man/man1/assent.1": "old", "man/man1/assent-gone.1": "old", "man/man1/theirs.1": "theirs", "assent/installed": "bin/assent\nshare/man/man1/assent.1\nshare/man/man1/assent-gone.1\nshare/../../precious\n"} {
		if err := putFile(filepath.Join(dir, "share", name), strings.NewReader(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func (in Installation) says(t *testing.T, version string) {
	t.Helper()
	for _, name := range programs.Names {
		b, err := os.ReadFile(filepath.Join(in.Bin, name))
		if err != nil || string(b) != program(name, version) {
			t.Errorf("%s is %q (%v), want that of %s", name, b, err, version)
		}
	}
}

func TestUpdateAndBack(t *testing.T) {
	r := newReleases(t)
	r.put("0.2.0", pack(t, entries("0.2.0")...))
	var last, total int64
	r.source.Progress = func(done, of int64) { last, total = done, of }
	in := installation(t)
	step := func(s Staged, before string) {
		t.Helper()
		if err := s.Try(context.Background()); err != nil {
			t.Error(err)
		}
		err := in.Locked(context.Background(), func() error {
			return errors.Join(in.Replace(s, before), in.Share(s))
		})
		if err != nil {
			t.Error(err)
		}
	}
	s, err := r.take("")
	if err != nil || s.Version != "0.2.0" || last == 0 || last != total {
		t.Fatalf("%+v, %v, progress %d of %d", s, err, last, total)
	}
	if in.Previous() != "" {
		t.Error("there is something to go back to")
	}
	step(s, "0.1.0")
	in.says(t, "0.2.0")
	prefix := filepath.Dir(in.Bin)
	if b, _ := os.ReadFile(filepath.Join(prefix, "share/man/man1/assent.1")); string(b) != "page of 0.2.0" {
		t.Errorf("the page is %q", b)
	}
	if _, err := os.Stat(filepath.Join(prefix, "share/man/man1/assent-gone.1")); !os.IsNotExist(err) {
		t.Error("a page that is no more is still there")
	}
	if _, err := os.Stat(filepath.Join(prefix, "share/man/man1/theirs.1")); err != nil {
		t.Error("the page of somebody else is gone")
	}
	list, _ := os.ReadFile(programs.List(in.Bin))
	for _, want := range []string{"bin/assent\n", "bin/hookd-query\n", "bin/.assent-previous/assent\n", "bin/.assent-previous/version\n", "share/man/man1/assent.1\n"} {
		if !strings.Contains(string(list), want) {
			t.Errorf("the list lacks %q: %s", want, list)
		}
	}
	if to, err := os.Readlink(filepath.Join(in.Bin, "hookd-emit")); err != nil || to != "assent-hook" {
		t.Errorf("hookd-emit: %q, %v", to, err)
	}

	for _, want := range []string{"0.1.0", "0.2.0"} { // back, and back from there
		if in.Previous() != want {
			t.Errorf("back would lead to %s", in.Previous())
		}
		s, err := in.Back(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		step(s, map[string]string{"0.1.0": "0.2.0", "0.2.0": "0.1.0"}[want])
		in.says(t, want)
	}

	// From a version that had no hook that checks signatures, and back to it.
	strict := filepath.Join(in.Bin, "assent-hook-strict")
	if err := os.Remove(strict); err != nil {
		t.Fatal(err)
	}
	if s, err = r.take(""); err != nil {
		t.Fatal(err)
	}
	step(s, "0.2.0")
	in.says(t, "0.2.0")
	if s, err = in.Back(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	step(s, "0.2.0")
	if b, err := os.ReadFile(strict); err != nil || string(b) != program("assent-hook-strict", "0.2.0") {
		t.Errorf("it is %q (%v): settings that name it have nothing to run", b, err)
	}
}

func TestFindRefuses(t *testing.T) {
	whole := pack(t, entries("0.2.0")...)
	for what, c := range map[string]struct {
		change func(r *releases)
		want   string // the version that is wanted
		err    error
		why    string
	}{
		"no key":            {func(r *releases) { r.source.Key = "" }, "", ErrNoKey, ""},
		"another key":       {func(r *releases) { r.source.Key = newReleases(t).source.Key }, "", ErrUntrusted, ""},
		"a broken key":      {func(r *releases) { r.source.Key = "RW" }, "", nil, "the key of this assent"},
		"other sums":        {func(r *releases) { r.write("SHA256SUMS", []byte("0  x\n")) }, "", ErrUntrusted, ""},
		"no signature":      {func(r *releases) { os.Remove(filepath.Join(r.source.At, "SHA256SUMS.minisig")) }, "", os.ErrNotExist, ""},
		"garbage":           {func(r *releases) { r.write("SHA256SUMS.minisig", []byte("x")) }, "", ErrUntrusted, ""},
		"another's file":    {func(r *releases) { r.sign("0.2.0", whole, "somebody 0.2.0") }, "", ErrUntrusted, ""},
		"no version":        {func(r *releases) { r.sign("0.2.0", whole, "assent newest") }, "", ErrUntrusted, ""},
		"another version":   {func(*releases) {}, "0.1.0", nil, "lies assent 0.2.0, not 0.1.0"},
		"no such platform":  {func(r *releases) { r.source.Arch = "riscv64" }, "", nil, "linux on riscv64"},
		"a long signature":  {func(r *releases) { r.write("SHA256SUMS.minisig", make([]byte, maxSig+1)) }, "", nil, "larger than"},
		"long sums":         {func(r *releases) { r.write("SHA256SUMS", make([]byte, maxSums+1)) }, "", nil, "larger than"},
		"nowhere":           {func(r *releases) { r.source.At = "" }, "", nil, "not told where"},
		"a relative place":  {func(r *releases) { r.source.At = "dist" }, "", nil, "want https"},
		"http to strangers": {func(r *releases) { r.source.At = "http://downloads.example" }, "", nil, "want https"},
		"another archive": {func(r *releases) { r.write("assent_0.2.0_linux_amd64.tar.gz", pack(t, entries("0.2.1")...)) },
			"", ErrUntrusted, "checksum"},
		"half an archive": {func(r *releases) { r.write("assent_0.2.0_linux_amd64.tar.gz", whole[:len(whole)/2]) }, "", ErrUntrusted, ""},
		"no archive":      {func(r *releases) { os.Remove(filepath.Join(r.source.At, "assent_0.2.0_linux_amd64.tar.gz")) }, "", os.ErrNotExist, ""},
	} {
		r := newReleases(t)
		r.put("0.2.0", whole)
		if _, err := r.take(""); err != nil {
			t.Fatalf("%s, before: %v", what, err)
		}
		c.change(r)
		if _, err := r.take(c.want); err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	for what, extra := range map[string]entry{
		"out of the directory":     {name: below("1.0.0") + "share/../../../x", text: "x"},
		"a line break":             {name: below("1.0.0") + "share/a\nbin/x", text: "x"},
		"a program too many times": {name: below("1.0.0") + "bin/assent", text: "x"},
	} {
		dir := t.TempDir()
		if _, err := unpack(bytes.NewReader(pack(t, append(entries("1.0.0"), extra)...)), below("1.0.0"), dir); err == nil {
			t.Errorf("%s was unpacked", what)
		}
	}
	if _, err := unpack(bytes.NewReader(pack(t, entries("1.0.0")[1:]...)), below("1.0.0"), t.TempDir()); err == nil {
		t.Error("an archive without one of the programs was unpacked")
	}
	// What is none of bin and share is passed over, and so is a link.
	dir := t.TempDir()
	more := append(entries("1.0.0"), entry{below("1.0.0") + "share/link", "/etc/passwd", tar.TypeSymlink}, entry{name: "elsewhere/bin/assent", text: "x"}, entry{name: below("1.0.0") + "bin/other", text: "x"})
	share, err := unpack(bytes.NewReader(pack(t, more...)), below("1.0.0"), dir)
	if err != nil || len(share) != 1 {
		t.Errorf("%q, %v", share, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "bin/other")); !os.IsNotExist(err) {
		t.Error("a foreign program was unpacked")
	}
	if fi, err := os.Stat(filepath.Join(dir, "bin/assent")); err != nil || fi.Mode() != 0o755 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, entries("1.0.0")...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		_, _ = unpack(bytes.NewReader(data), below("1.0.0"), filepath.Join(dir, "in"))
		if all, _ := os.ReadDir(dir); len(all) > 1 {
			t.Errorf("outside of its directory: %v", all)
		}
	})
}

// TestFetchOverHTTP follows redirects to nothing less safe, and says what a server answered.
func TestFetchOverHTTP(t *testing.T) {
	r := newReleases(t)
	r.put("0.2.0", pack(t, entries("0.2.0")...))
	dir := r.source.At
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch first, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/"); first {
		case "moved":
			http.Redirect(w, q, strings.TrimPrefix(q.URL.Path, "/moved"), http.StatusFound)
		case "away":
			http.Redirect(w, q, "http://downloads.example/", http.StatusFound)
		case "0.2.0", "latest":
			http.StripPrefix("/"+first, files).ServeHTTP(w, q)
		default:
			files.ServeHTTP(w, q)
		}
	}))
	defer s.Close()
	for at, why := range map[string]string{s.URL: "", s.URL + "/moved/": "", s.URL + "/{version}": "", s.URL + "/away": "want https", s.URL + "/none": "404"} {
		r.source.At = at
		if _, err := r.take(""); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", at, err)
		}
	}
	r.source.At = s.URL + "/{version}"
	if _, err := r.take("0.2.0"); err != nil {
		t.Error(err)
	}
}

func TestReplaceFailsWhole(t *testing.T) {
	in := installation(t)
	dir := t.TempDir()
	for _, name := range programs.Names[:2] { // the last one is missing
		if err := putFile(filepath.Join(dir, "bin", name), strings.NewReader("new"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Replace(Staged{Version: "0.2.0", Dir: dir}, "0.1.0"); err == nil {
		t.Error("a part was replaced without an error")
	}
	in.says(t, "0.1.0")
	if err := (Staged{Version: "0.2.0", Dir: dir}).Try(context.Background()); err == nil {
		t.Error("programs that do not run passed the trial")
	}
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		version, this string
		want          bool
	}{
		{"0.2.0", "0.1.0", true}, {"0.10.0", "0.9.0", true}, {"0.1.0", "0.1.0", false}, {"0.1.0", "0.2.0", false},
		{"0.2.0", "0.2.0-rc.1", true}, {"0.2.0-rc.1", "0.2.0", false}, {"0.0.0-dev.20260102030405.g1", "0.1.0", false}, {"0.1.0", "devel", true},
	} {
		if Newer(c.version, c.this) != c.want {
			t.Errorf("%s after %s: want %v", c.version, c.this, c.want)
		}
	}
}
