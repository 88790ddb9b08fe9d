package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"assent/e2e/rig"
)

// assetOf is the release's file for a platform.
func assetOf(goos, arch, ending string) string {
	return "assent_" + rig.ReleaseVersion + "_" + goos + "_" + arch + ending
}

// TestReleaseIsReproducible makes the release again elsewhere: in a copy of the tree with a longer
// name, no repository, other modes of files, another zone and language, and settings of Go that would change it.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	first := rig.TheRelease(t)
	copied := filepath.Join(t.TempDir(), "a directory with a longer name", "and a deeper one")
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Skipf("this test copies the files that git knows: %v", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			continue // deleted, and not committed yet
		}
		path := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8", "SOURCE_DATE_EPOCH=1", "GOAMD64=v3", "GOARM64=v9.0", "CGO_ENABLED=1", "USER=somebody"}
	if os.Getenv("ASSENT_E2E_RELEASE") == "all" {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	second := filepath.Join(t.TempDir(), "dist")
	if err := rig.MakeRelease(copied, second, rig.ReleaseTargets(), env...); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadDir(second)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != len(b) || len(a) < 6 {
		t.Fatalf("%d and %d files", len(a), len(b))
	}
	for _, e := range a {
		x, err := os.ReadFile(filepath.Join(first, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(second, e.Name()))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s is another one when made elsewhere (%v)", e.Name(), err)
		}
	}
	paths, err := exec.Command("go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range append(strings.Fields(string(paths)), copied) {
		if where := holding(t, second, leak); where != "" {
			t.Errorf("%s names %s", where, leak)
		}
	}
}

// holding names a program of this machine's archive that contains the text.
func holding(t *testing.T, dist, text string) string {
	t.Helper()
	bin := unpack(t, dist, "linux", runtime.GOARCH)
	for _, name := range []string{"assent", "assent-hook", "assent-hook-strict", "assent-contain"} {
		data, err := os.ReadFile(filepath.Join(bin, "bin", name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return name
		}
	}
	return ""
}

// unpack returns the directory that an archive of the release becomes.
func unpack(t *testing.T, dist, goos, arch string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dist, assetOf(goos, arch, ".tar.gz")), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return filepath.Join(dir, assetOf(goos, arch, ""))
}

// TestReleaseIsWhatItSays looks into each archive: checksums, static programs of the right kind
// that know what they are, and a bill of exactly what is in them.
func TestReleaseIsWhatItSays(t *testing.T) {
	t.Parallel()
	dist := rig.TheRelease(t)
	sums := exec.Command(rig.Need(t, "sha256sum"), "--strict", "-c", "SHA256SUMS")
	sums.Dir = dist
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("checksums: %v\n%s", err, out)
	}
	billSchema := cycloneDX(t)
	for target := range strings.SplitSeq(rig.ReleaseTargets(), ",") {
		goos, arch, _ := strings.Cut(target, "/")
		dir := unpack(t, dist, goos, arch)
		modules := map[string]string{}
		for _, name := range []string{"assent", "assent-hook", "assent-hook-strict", "assent-contain"} {
			info, err := buildinfo.ReadFile(filepath.Join(dir, "bin", name))
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["GOOS"] != goos || settings["GOARCH"] != arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
				t.Errorf("%s of %s was built with %v", name, target, settings)
			}
			for _, m := range info.Deps {
				modules[m.Path] = m.Version
			}
		}
		text, err := os.ReadFile(filepath.Join(dist, assetOf(goos, arch, ".cdx.json")))
		if err != nil {
			t.Fatal(err)
		}
		var any any
		if err := json.Unmarshal(text, &any); err != nil {
			t.Fatal(err)
		}
		if err := billSchema.Validate(any); err != nil {
			t.Errorf("bill of materials: %#v", err)
		}
		var bill struct {
			Components []struct{ Name, Version, Purl string }
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		notices, err := os.ReadFile(filepath.Join(dir, "share/doc/assent/THIRD-PARTY-LICENSES.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range bill.Components {
			if c.Name == "std" {
				continue
			}
			if !bytes.Contains(notices, []byte("\n"+c.Name+" "+c.Version)) {
				t.Errorf("no license of %s %s", c.Name, c.Version)
			}
			if strings.HasPrefix(c.Purl, "pkg:golang/") {
				if modules[c.Name] != c.Version {
					t.Errorf("the bill has %s %s, the programs %q", c.Name, c.Version, modules[c.Name])
				}
				delete(modules, c.Name)
			}
		}
		if len(modules) > 0 {
			t.Errorf("the bill lacks %v", modules)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	bin := filepath.Join(unpack(t, dist, "linux", runtime.GOARCH), "bin")
	if out, err := exec.Command(rig.Need(t, "ldd"), filepath.Join(bin, "assent")).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a dynamic executable") {
		t.Errorf("ldd: %v %s", err, out)
	}
	saysVersion(t, bin)
}

// saysVersion runs the programs in dir.
func saysVersion(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command(filepath.Join(dir, "assent"), "version", "--json")
	c.Env = []string{}
	out, err := c.Output()
	var v struct{ Version, Commit, Date, Platform string }
	if err != nil || json.Unmarshal(out, &v) != nil || v.Version != rig.ReleaseVersion || v.Commit != rig.ReleaseCommit || v.Date != rig.ReleaseDate || v.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("assent version --json says %s (%v)", out, err)
	}
	for _, name := range []string{"assent-hook", "assent-hook-strict"} {
		out, err = exec.Command(filepath.Join(dir, name), "--version").Output()
		if err != nil || string(out) != name+" version "+rig.ReleaseVersion+"\n" {
			t.Errorf("%s --version says %s (%v)", name, out, err)
		}
	}
	out, err = exec.Command(filepath.Join(dir, "hookd-emit"), "--help").Output()
	if err != nil || !strings.HasPrefix(string(out), "hookd-emit tells") {
		t.Errorf("hookd-emit --help says %s (%v)", out, err)
	}
	out, err = exec.Command(filepath.Join(dir, "hookd-query"), "--help").Output()
	if err != nil || !strings.Contains(string(out), "assent ledger query [flags]") {
		t.Errorf("hookd-query --help says %s (%v)", out, err)
	}
}

// cycloneDX is the standard's own schema, which lies beside the library that writes the bill.
func cycloneDX(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	dir := filepath.Join(strings.TrimSpace(string(out)), "schema")
	for url, name := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("http://cyclonedx.org/schema/"+url, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// debOf is this machine's package for Debian, which has no system in its name.
func debOf(dist string) string {
	return filepath.Join(dist, strings.Replace(assetOf("", runtime.GOARCH, ".deb"), "__", "_", 1))
}

// TestReleaseDeb installs the package with dpkg below a directory of its own, and takes it away.
func TestReleaseDeb(t *testing.T) {
	t.Parallel()
	dpkg := rig.Need(t, "dpkg")
	pkg := debOf(rig.TheRelease(t))
	field := func(name string) string {
		out, err := exec.Command("dpkg-deb", "-f", pkg, name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if field("Package") != "assent" || field("Architecture") != runtime.GOARCH || field("Version") != "9.8.7~rc.1" || field("Depends") != "" {
		t.Errorf("control: %s %s %s %s", field("Package"), field("Architecture"), field("Version"), field("Depends"))
	}
	if err := exec.Command(dpkg, "--compare-versions", field("Version"), "lt", "9.8.7").Run(); err != nil {
		t.Error("a release would not replace what came before it")
	}
	out, err := exec.Command("dpkg-deb", "--ctrl-tarfile", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("tar", "-t")
	list.Stdin = bytes.NewReader(out)
	if names, err := list.Output(); err != nil || string(names) != "./\n./control\n./md5sums\n" {
		t.Errorf("beside its files the package has %s (%v): no scripts are wanted", names, err)
	}

	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		args = append([]string{dpkg, "--root=" + root, "--force-not-root", "--force-script-chrootless", "--log=" + filepath.Join(root, "log")}, args...)
		if os.Getuid() != 0 { // whom dpkg gives files to is root in there
			args = append([]string{"unshare", "--map-root-user"}, args...)
		}
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("--install", pkg)
	if out := run("--verify", "assent"); out != "" {
		t.Errorf("dpkg --verify: %s", out)
	}
	saysVersion(t, filepath.Join(root, "usr/bin"))
	for _, want := range []string{"share/man/man1/assent-allow.1.gz", "share/bash-completion/completions/assent", "share/zsh/vendor-completions/_assent", "share/fish/vendor_completions.d/assent.fish", "share/doc/assent/copyright"} {
		if fi, err := os.Stat(filepath.Join(root, "usr", want)); err != nil || fi.Size() == 0 || fi.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v", want, err)
		}
	}
	run("--purge", "assent")
	if left := below(t, filepath.Join(root, "usr")); len(left) > 0 {
		t.Errorf("the package leaves %q", left)
	}
}

// below are the files under dir, from it.
func below(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// TestReleaseFormula has Ruby read the formula, with a stand-in for Homebrew that knows the words it
// uses: each platform gets its own archive, and installing puts everything into its place.
func TestReleaseFormula(t *testing.T) {
	t.Parallel()
	ruby := rig.Need(t, "ruby")
	dist := rig.TheRelease(t)
	formula := filepath.Join(dist, "assent.rb")
	if out, err := exec.Command(ruby, "-wc", formula).CombinedOutput(); err != nil || string(out) != "Syntax OK\n" {
		t.Fatalf("ruby -wc: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for target := range strings.SplitSeq(rig.ReleaseTargets(), ",") {
		goos, arch, _ := strings.Cut(target, "/")
		cellar := t.TempDir()
		c := exec.Command(ruby, "-w", "release_brew.rb", formula, goos, arch, cellar)
		c.Dir = "testdata"
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", target, err, out)
		}
		var got struct{ Version, URL, SHA256, Caveats string }
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		name := assetOf(goos, arch, ".tar.gz")
		if got.Version != rig.ReleaseVersion || got.URL != "file://"+dist+"/"+name || !strings.Contains(string(text), got.SHA256+"  "+name+"\n") || !strings.Contains(got.Caveats, "assent up") {
			t.Errorf("%s gets %+v", target, got)
		}
		files := below(t, cellar)
		for _, want := range []string{"bin/assent", "bin/assent-hook", "bin/assent-hook-strict", "bin/assent-contain", "bin/hookd-emit", "bin/hookd-query", "share/man/man1/assent.1", "share/man/man1/hookd-query.1", "etc/bash_completion.d/assent", "share/zsh/site-functions/_assent", "share/fish/vendor_completions.d/assent.fish", "share/doc/assent/LICENSE"} {
			if !slices.Contains(files, want) {
				t.Errorf("%s: %s was not installed", target, want)
			}
		}
	}
}

// serveRelease serves the release's files, each changed by change, and returns the URL.
func serveRelease(t *testing.T, dist string, change func(name string, data []byte) []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(change(name, data)) // a client that went away is what some tests do
	}))
	t.Cleanup(s.Close)
	return s.URL
}
