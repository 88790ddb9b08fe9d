package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"assent/e2e/rig"
)

// npmRegistry serves the release's packages as npm's registry does, and nothing else.
func npmRegistry(t *testing.T, dist string) string {
	t.Helper()
	tarballs, err := filepath.Glob(filepath.Join(dist, "*.tgz"))
	if err != nil || len(tarballs) < 3 {
		t.Fatalf("packages for npm: %q, %v", tarballs, err)
	}
	type source struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"`
	}
	packages := map[string]map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if strings.HasSuffix(name, ".tgz") {
			http.ServeFile(w, r, filepath.Join(dist, filepath.Base(name)))
			return
		}
		p, ok := packages[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(p) // npm went away
	}))
	t.Cleanup(s.Close)
	for _, path := range tarballs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(fileOf(t, data, "package/package.json"), &m); err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(data)
		m["dist"] = source{s.URL + "/" + filepath.Base(path), "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		name, version := m["name"].(string), m["version"].(string)
		packages[name] = map[string]any{"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: m}}
	}
	return s.URL
}

// fileOf is a file of a .tgz.
func fileOf(t *testing.T, data []byte, name string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Name == name {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
}

// npmPackage is what npm calls this machine's platform.
func npmPackage() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

// TestReleaseNPX goes from npx to an approval, with a home of its own, and looks at what is left when
// npm empties its cache.
func TestReleaseNPX(t *testing.T) {
	t.Parallel()
	rig.Need(t, "npx")
	dist := rig.TheRelease(t)
	m := newMachine(t, "node", "npm", "npx")
	registry := "--registry=" + npmRegistry(t, dist)
	m.argv = []string{"npx", registry, "--yes", "assent"}
	m.up()
	m.firstApproval()

	m.assent("install", "--yes", "--claude-version", "2.1.329")
	kept := filepath.Join(m.home, ".local/share/assent/programs/current")
	settings, err := os.ReadFile(filepath.Join(m.home, ".claude/settings.json"))
	if err != nil || !bytes.Contains(settings, []byte(kept+"/assent-hook")) || bytes.Contains(settings, []byte("_npx")) {
		t.Errorf("the hooks are of npm's cache: %v\n%s", err, settings)
	}
	if _, err := os.Stat(filepath.Join(m.home, ".npm/_npx")); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(m.home, ".npm")); err != nil {
		t.Fatal(err)
	}
	saysVersion(t, kept)
	m.argv = []string{filepath.Join(kept, "assent")}
	m.firstApproval() // with the broker that was started from the cache
	out, err := m.command(append(m.argv, "update")...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "npx assent@latest up") {
		t.Errorf("update of what came from npm: %v\n%s", err, out)
	}
	m.assent("uninstall", "--yes")
	if _, err := os.Stat(filepath.Join(m.home, ".claude/settings.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after uninstall: %v", err)
	}
}

// TestReleaseNPMLauncher installs the packages from their files, as after npm pack, and looks at what the
// launcher passes on.
func TestReleaseNPMLauncher(t *testing.T) {
	t.Parallel()
	rig.Need(t, "npm")
	dist := rig.TheRelease(t)
	m := newMachine(t, "node", "npm")
	file := func(ending string) string {
		return filepath.Join(dist, "assent_"+rig.ReleaseVersion+"_npm"+ending+".tgz")
	}
	nothing := httptest.NewServer(http.NotFoundHandler()) // no package has to be fetched
	defer nothing.Close()
	registry := "--registry=" + nothing.URL
	m.run("npm", "install", registry, file(""), file("_"+strings.Replace(npmPackage(), "-", "_", 1)))
	program := filepath.Join(m.home, "node_modules/.bin/assent")
	m.argv = []string{program}
	if out := m.assent("version"); !strings.HasPrefix(out, "assent "+rig.ReleaseVersion+"\n") {
		t.Errorf("version says %s", out)
	}
	if _, err := os.Stat(filepath.Join(m.home, "node_modules/assent-"+npmPackage(), "THIRD-PARTY-LICENSES.txt")); err != nil {
		t.Error(err)
	}
	code := func(args ...string) int {
		err := m.command(append([]string{program}, args...)...).Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return -1
	}
	if a, b := code("pending"), code("--no-such-flag"); a != 3 || b != 2 { // no broker, wrong usage
		t.Errorf("exit codes %d and %d", a, b)
	}
	// Standard input goes through.
	c := m.command(program, "rules", "eval", "--rules", os.DevNull)
	c.Stdin = strings.NewReader(`{"id":"x","command":"ls"}` + "\n")
	if out, err := c.Output(); err != nil || !bytes.Contains(out, []byte(`"id":"x"`)) {
		t.Errorf("rules eval: %v\n%s", err, out)
	}
	// A signal ends the broker politely, and with it the launcher.
	var out rig.Output
	serve := m.start(&out, program, "serve", "--listen", "127.0.0.1:0", "--nats-listen", "off")
	rig.Eventually(t, rig.Soon, "the broker", func() bool { return m.broker().PID != 0 })
	if m.broker().PID == serve.Process.Pid {
		t.Error("the launcher is the broker; then this test tests nothing")
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil || m.broker().PID != 0 {
		t.Errorf("after SIGTERM: %v, broker %d\n%s", err, m.broker().PID, out.Tail(2000))
	}
	// A program that is killed is told as that.
	serve = m.start(&out, program, "serve", "--listen", "127.0.0.1:0", "--nats-listen", "off")
	rig.Eventually(t, rig.Soon, "the broker", func() bool { return m.broker().PID != 0 })
	if err := syscall.Kill(m.broker().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := serve.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("after SIGKILL: %v", err)
	}
	// Without the platform's package it says what is missing.
	if err := os.RemoveAll(filepath.Join(m.home, "node_modules/assent-"+npmPackage())); err != nil {
		t.Fatal(err)
	}
	c = m.command(program, "version")
	if text, err := c.CombinedOutput(); err == nil || !strings.Contains(string(text), "--omit=optional") {
		t.Errorf("without its program: %v\n%s", err, text)
	}
	for _, platform := range []string{"win32 x64", "linux riscv64"} {
		name, arch, _ := strings.Cut(platform, " ")
		script := fmt.Sprintf(`Object.defineProperty(process,"platform",{value:%q});Object.defineProperty(process,"arch",{value:%q});require(%q)`, name, arch, filepath.Join(m.home, "node_modules/assent/bin/assent.js"))
		if text, err := m.command("node", "-e", script).CombinedOutput(); err == nil || !strings.Contains(string(text), "there is no assent for "+name+" on "+arch) {
			t.Errorf("%s: %v\n%s", platform, err, text)
		}
	}
}
