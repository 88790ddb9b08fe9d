package rig

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// BinEnv names the directory of the programs under test.
const BinEnv = "ASSENT_E2E_BIN"

// root is the repository, seen from a package of tests.
var root = filepath.Join("..", "..")

// scratch is a directory for what the tests of a package share. It ends with them.
var scratch string

// waiting is how many tests run at once for each processor, if -parallel does not say it. What they
// drive waits for most of the time (for a deadline, for a server to start, for an agent), so one for
// each processor would leave it idle; many more would be late for everything.
const waiting = 2

// Main runs the tests of a package and returns their exit code. It sees to the programs first, unless
// BinEnv names them already. Every package of tests calls it from its TestMain.
func Main(m *testing.M) int {
	flag.Parse()
	if !given("test.parallel") {
		if err := flag.Set("test.parallel", strconv.Itoa(waiting*runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "assent-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	scratch = dir
	defer func() { _ = os.RemoveAll(dir) }()
	if os.Getenv(BinEnv) == "" {
		bin, err := build()
		if err == nil {
			err = os.Setenv(BinEnv, bin)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "build the programs under test:", err)
			return 1
		}
	}
	defer endChromium()
	return m.Run()
}

// given says whether a flag stands on the command line. The go command gives -parallel only where
// somebody asked for it.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// Program is the path of a built program.
func Program(name string) string { return filepath.Join(os.Getenv(BinEnv), name) }

var programs = []string{"assent", "assent-hook", "assent-hook-strict", "assent-contain"}

// build returns a directory with the programs of today's sources. Packages of tests that run at once
// share it: the first one builds, which for the others is only a look by the go command. The
// directory is named by what the programs hold, so that nobody's programs change while tests run.
func build() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "programs")
	staging := filepath.Join(cache, "staging")
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(cache, "lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = lock.Unlock() }()

	cmd := exec.Command("go", "build", "-o", staging+string(filepath.Separator), "./cmd/assent", "./cmd/assent-hook", "./cmd/assent-hook-strict", "./cmd/assent-contain")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range programs {
		if err := copyTo(hash, filepath.Join(staging, name)); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(cache, fmt.Sprintf("%x", hash.Sum(nil)[:12]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, name := range programs {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			continue
		}
		if err := copyProgram(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return "", err
	}
	return dir, prune(cache, now.Add(-keep))
}

// keep is for how long programs stay that nobody asked for again; longer than any run of tests.
const keep = 24 * time.Hour

// prune removes the programs that were last asked for before a moment.
func prune(cache string, before time.Time) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "staging" {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyProgram copies a program; it is there whole or not at all.
func copyProgram(from, to string) error {
	f, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	if err := errors.Join(copyTo(f, from), f.Close()); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

func copyTo(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(w, f)
	return err
}

// cacheDir is where the client, the programs and what else is costly to get are kept between runs.
func cacheDir() (string, error) {
	if dir := os.Getenv("ASSENT_E2E_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("set ASSENT_E2E_CACHE: %w", err)
	}
	return filepath.Join(dir, "assent-e2e"), nil
}
