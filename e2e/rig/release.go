package rig

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"aead.dev/minisign"
)

// What releases of tests are called.
const (
	ReleaseVersion = "9.8.7-rc.1"
	ReleaseCommit  = "0123456789abcdef0123456789abcdef01234567"
	ReleaseDate    = "2001-02-03T04:05:06Z"
)

// ReleaseTargets are this machine's platform and a foreign one; ASSENT_E2E_RELEASE=all makes all
// four, and has the second release compile everything anew, which takes many minutes.
func ReleaseTargets() string {
	if os.Getenv("ASSENT_E2E_RELEASE") == "all" {
		return "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"
	}
	targets := []string{"linux/" + runtime.GOARCH, "darwin/arm64"}
	if host := runtime.GOOS + "/" + runtime.GOARCH; !slices.Contains(targets, host) {
		targets = append(targets, host)
	}
	return strings.Join(targets, ",")
}

// Releases that the tests of a package share: of all platforms they look at, and of this one.
var (
	released     = sync.OnceValues(func() (string, error) { return release(ReleaseTargets()) })
	hostReleased = sync.OnceValues(func() (string, error) { return release(runtime.GOOS + "/" + runtime.GOARCH) })
)

func release(targets string) (string, error) {
	dir, err := os.MkdirTemp(scratch, "release-")
	if err != nil {
		return "", err
	}
	return dir, MakeRelease(root, filepath.Join(dir, "dist"), targets)
}

// MakeRelease makes a release of the sources in root, into out, for platforms such as
// "linux/amd64,darwin/arm64". env is what the program that makes it finds in its environment besides.
func MakeRelease(root, out, targets string, env ...string) error {
	key, err := releaseKey()
	if err != nil {
		return err
	}
	program, err := releaser()
	if err != nil {
		return err
	}
	c := exec.Command(program, "-out", out, "-targets", targets,
		"-version", ReleaseVersion, "-commit", ReleaseCommit, "-date", ReleaseDate, "-homepage", "https://example.net/assent", "-sign", key)
	c.Dir, c.Env = root, append(os.Environ(), env...)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("release: %w\n%s", err, text)
	}
	return nil
}

// releaser is the program that makes releases, built once: under another environment the go command
// would compile it, and all that it is made of, once more.
var releaser = sync.OnceValues(func() (string, error) {
	name := filepath.Join(scratch, "make-release")
	c := exec.Command("go", "build", "-o", name, "./internal/tool/release")
	c.Dir = root
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program that makes releases: %w\n%s", err, text)
	}
	return name, nil
})

// BuildOlder builds the programs of a release that came before TheRelease into dir. They look for newer
// ones at the URL.
func BuildOlder(dir, version, url string) error {
	key, err := releaseKey()
	if err != nil {
		return err
	}
	private, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	var k minisign.PrivateKey
	if err := k.UnmarshalText(private); err != nil {
		return err
	}
	public := k.Public().(minisign.PublicKey).String()
	c := exec.Command(filepath.Join(root, "internal/tool/release/build.sh"), dir, version, ReleaseCommit, ReleaseDate, public, url)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build.sh: %w\n%s", err, text)
	}
	return nil
}

// releaseKey is the file of the key that signs the releases of a test run.
var releaseKey = sync.OnceValues(func() (string, error) {
	_, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	text, err := private.MarshalText()
	if err != nil {
		return "", err
	}
	name := filepath.Join(scratch, "release.key")
	return name, os.WriteFile(name, text, 0o600)
})

// TheRelease is the directory of a release that the tests of a package share.
func TheRelease(t *testing.T) string { return shared(t, released) }

// HostRelease is such a release for this machine's platform alone, which is sooner made.
func HostRelease(t *testing.T) string { return shared(t, hostReleased) }

func shared(t *testing.T, make func() (string, error)) string {
	t.Helper()
	dir, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}
