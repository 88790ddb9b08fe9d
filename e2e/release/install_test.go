package release

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"assent/e2e/rig"
)

// installer runs the install script of a release.
type installer struct {
	t      *testing.T
	script string
	shell  []string
	path   string // PATH
	home   string
}

func newInstaller(t *testing.T, dist string, shell ...string) *installer {
	t.Helper()
	return &installer{t: t, script: filepath.Join(dist, "install.sh"), shell: shell, path: os.Getenv("PATH"), home: t.TempDir()}
}

// run returns what was said, and whether it went well. The script gets as little as a login shell.
func (i *installer) run(args ...string) (string, bool) {
	i.t.Helper()
	c := exec.Command(i.shell[0], append(append(slices.Clone(i.shell[1:]), i.script), args...)...)
	tmp := filepath.Join(i.home, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		i.t.Fatal(err)
	}
	c.Dir, c.Env = i.home, []string{"HOME=" + i.home, "PATH=" + i.path, "TMPDIR=" + tmp}
	out, err := c.CombinedOutput()
	if left := below(i.t, tmp); len(left) > 0 {
		i.t.Errorf("left in TMPDIR: %q", left)
	}
	return string(out), err == nil
}

// prefix is where it installs to by itself.
func (i *installer) prefix() string { return filepath.Join(i.home, ".local") }

// refuses wants a failure that says why, and nothing installed.
func (i *installer) refuses(why string, args ...string) {
	i.t.Helper()
	out, ok := i.run(args...)
	if ok || !strings.Contains(out, why) {
		i.t.Errorf("%v: %v, and %q, want it refused with %q", args, ok, out, why)
	}
	if files := below(i.t, i.prefix()); len(files) > 0 {
		i.t.Errorf("refused, and installed: %q", files)
	}
}

// only makes a PATH of links to these programs.
func only(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// said puts a program into a PATH that only prints something.
func said(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

var posix = []string{"sh", "uname", "mktemp", "rm", "cp", "mv", "mkdir", "rmdir", "find", "sort", "grep", "tar", "gzip", "cat"}

// TestReleaseInstallScript installs, installs again and removes, in each shell of this machine and
// with each way to fetch and to check.
func TestReleaseInstallScript(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	url := serveRelease(t, dist, func(_ string, data []byte) []byte { return data })
	for name, shell := range map[string][]string{"dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}, "zsh": {"zsh", "--emulate", "sh"}} {
		t.Run(name, func(t *testing.T) {
			rig.Need(t, shell[0])
			in := newInstaller(t, dist, shell...)
			for range 2 {
				if out, ok := in.run("--from", url); !ok || !strings.Contains(out, "Installed assent "+rig.ReleaseVersion) || !strings.Contains(out, "export PATH=") {
					t.Fatalf("%s", out)
				}
				saysVersion(t, filepath.Join(in.prefix(), "bin"))
			}
			files := below(t, in.prefix())
			list, err := os.ReadFile(filepath.Join(in.prefix(), "share/assent/installed"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(list), "\n") + 1; got != len(files) || got < 50 {
				t.Errorf("%d files, and %d on the list", len(files), got)
			}
			if out, ok := in.run("--remove"); !ok {
				t.Error(out)
			}
			if left, err := os.ReadDir(in.prefix()); err != nil || len(left) > 0 {
				t.Errorf("removed, and there is still: %v (%v)", left, err)
			}
			in.refuses("installed no assent", "--remove")
		})
	}
	t.Run("tools", func(t *testing.T) {
		for _, tools := range [][]string{{"curl", "sha256sum"}, {"wget", "shasum"}, {"wget", "openssl"}} {
			rig.Need(t, tools[0])
			rig.Need(t, tools[1])
			in := newInstaller(t, dist, "sh")
			in.path = only(t, append(tools, posix...)...)
			if out, ok := in.run("--from", url, "--prefix", filepath.Join(in.home, "a b")); !ok {
				t.Errorf("%v: %s", tools, out)
			}
			saysVersion(t, filepath.Join(in.home, "a b", "bin"))
		}
		in := newInstaller(t, dist, "sh")
		in.path = only(t, append([]string{"curl"}, posix...)...)
		in.refuses("cannot be checked", "--from", url)
		in.path = only(t, append([]string{"sha256sum"}, posix...)...)
		in.refuses("neither curl nor wget", "--from", url)
	})
	t.Run("beside it, in a pipe, on a mac", func(t *testing.T) {
		in := newInstaller(t, dist, "sh")
		if out, ok := in.run(); !ok { // finds the archive beside itself
			t.Error(out)
		}
		text, err := os.ReadFile(in.script)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sh", "-s", "--", "--from", url, "--prefix", filepath.Join(in.home, "piped"))
		c.Stdin, c.Env = bytes.NewReader(text), []string{"HOME=" + in.home, "PATH=" + in.path}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
		saysVersion(t, filepath.Join(in.home, "piped", "bin"))
		c = exec.Command("sh") // piped as it is, it knows no place
		c.Stdin, c.Env, c.Dir = bytes.NewReader(text), []string{"HOME=" + in.home, "PATH=" + in.path}, t.TempDir()
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "curl -fsSL URL/install.sh | sh -s -- --from URL") {
			t.Errorf("%v, and %q", err, out)
		}

		for _, arch := range []string{"arm64", "x86_64"} { // an Intel shell under Rosetta gets the same
			mac := newInstaller(t, dist, "sh")
			dir := t.TempDir()
			said(t, dir, "uname", `case $1 in -s) echo Darwin ;; -m) echo `+arch+` ;; esac`)
			said(t, dir, "sysctl", "echo 1")
			mac.path = dir + ":" + mac.path
			if out, ok := mac.run(); !ok {
				t.Fatal(out)
			}
			info, err := buildinfo.ReadFile(filepath.Join(mac.prefix(), "bin/assent"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"GOOS=darwin", "GOARCH=arm64"} {
				key, value, _ := strings.Cut(want, "=")
				if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key && s.Value == value }) {
					t.Errorf("a mac gets a program without %s", want)
				}
			}
		}
	})
}

// TestReleaseInstallScriptRefuses gives the script archives that are not the release's, machines
// that it knows nothing for, and itself in part.
func TestReleaseInstallScriptRefuses(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	for what, change := range map[string]func(string, []byte) []byte{
		"a bit":   func(_ string, data []byte) []byte { data[len(data)/2] ^= 1; return data },
		"a part":  func(_ string, data []byte) []byte { return data[:len(data)-1] },
		"more":    func(_ string, data []byte) []byte { return append(data, 0) },
		"nothing": func(string, []byte) []byte { return nil },
		"another platform": func(string, []byte) []byte {
			b, _ := os.ReadFile(filepath.Join(dist, assetOf("darwin", "arm64", ".tar.gz")))
			return b
		},
	} {
		t.Run(what, func(t *testing.T) {
			newInstaller(t, dist, "sh").refuses("not the one of this release", "--from", serveRelease(t, dist, change))
		})
	}
	in := newInstaller(t, dist, "sh")
	in.refuses("cannot fetch", "--from", serveRelease(t, t.TempDir(), nil))
	in.refuses("say where the archives lie", "--from", t.TempDir())
	in.refuses("wants a value", "--from")
	in.refuses("usage:", "--no-such-flag")
	for _, machine := range []struct{ system, arch, why string }{
		{"Linux", "riscv64", "has no assent for linux on riscv64"},
		{"FreeBSD", "amd64", "there is no assent for FreeBSD"},
		{"MINGW64_NT-10.0", "x86_64", "use WSL"},
	} {
		other := newInstaller(t, dist, "sh")
		dir := t.TempDir()
		said(t, dir, "uname", `case $1 in -s) echo '`+machine.system+`' ;; -m) echo `+machine.arch+` ;; esac`)
		other.path = dir + ":" + other.path
		other.refuses(machine.why)
	}

	// A script of which only a part arrives does nothing.
	text, err := os.ReadFile(in.script)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(text, []byte("main "))
	for cut := 1; cut <= end; cut += 97 {
		part := newInstaller(t, dist, "sh")
		part.script = filepath.Join(part.home, "install.sh")
		if err := os.WriteFile(part.script, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		part.run("--from", dist)
		if files := below(t, part.prefix()); len(files) > 0 {
			t.Fatalf("of %d bytes %d installed %q", len(text), cut, files)
		}
	}

	// What cannot be written into its place is not half there.
	if err := os.MkdirAll(filepath.Join(in.home, "full/share"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in.home, "full/share/man"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(in.home, "full")
	out, ok := in.run("--prefix", full, "--from", dist)
	if left := below(t, full+"/bin"); ok || len(left) > 0 || !strings.Contains(out, "the programs are as they were") {
		t.Errorf("%v %s, and there are %q", ok, out, left)
	}
	out, ok = in.run("--prefix", full, "--remove")
	if left := below(t, full); !ok || !slices.Equal(left, []string{"share/man"}) {
		t.Errorf("%v %s, and there are %q", ok, out, left)
	}
}

// TestReleaseInstallScriptUpgrades replaces an older release: its files that are no more go, what
// others put beside them stays, and a list that names other places is not obeyed.
func TestReleaseInstallScriptUpgrades(t *testing.T) {
	t.Parallel()
	in := newInstaller(t, rig.TheRelease(t), "sh")
	for path, text := range map[string]string{
		".local/bin/assent":              "old",
		".local/bin/assent-gone":         "old",
		".local/bin/theirs":              "theirs",
		".local/share/man/man1/theirs.1": "theirs",
		"precious":                       "precious",
		".local/share/assent/installed":  "bin/assent\nbin/assent-gone\nbin/../../precious\n../precious\n/" + in.home + "/precious\n",
	} {
		path = filepath.Join(in.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.Open(filepath.Join(in.prefix(), "bin/assent")) // as if it ran
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if out, ok := in.run(); !ok {
		t.Fatal(out)
	}
	saysVersion(t, filepath.Join(in.prefix(), "bin"))
	still := make([]byte, 9)
	if n, _ := old.Read(still); string(still[:n]) != "old" {
		t.Errorf("a running program was written over: %q", still[:n])
	}
	if _, err := os.Stat(filepath.Join(in.prefix(), "bin/assent-gone")); !os.IsNotExist(err) {
		t.Error("a program that is no more is still there")
	}
	if out, ok := in.run("--remove"); !ok {
		t.Fatal(out)
	}
	left := below(t, in.home)
	if want := []string{".local/bin/theirs", ".local/share/man/man1/theirs.1", "precious"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if runtime.GOOS == "linux" && len(below(t, filepath.Join(in.home, "tmp"))) > 0 {
		t.Error("something is left in TMPDIR")
	}
}
