// Package hookconf writes what assent itself knows into the user's own hook.conf, which hook clients
// read: that commands can run contained on this machine, and the token for a broker elsewhere. Every other
// line stays as it is.
package hookconf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// maxConf bounds the file, as the hook client does.
const maxConf = 64 << 10

// Path is the file's place in the directory of assent's configuration.
func Path(dir string) string { return filepath.Join(dir, "hook.conf") }

// ABI asks assent-contain for the Landlock ABI of this machine. An error says why nothing can run
// contained here.
func ABI(ctx context.Context, program string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--abi")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); line != "" {
			return 0, errors.New(line)
		}
		return 0, err
	}
	abi, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 16)
	if err != nil || abi == 0 {
		return 0, fmt.Errorf("%s --abi printed no number", program)
	}
	return int(abi), nil
}

// SetContain has hook clients say that commands can run contained, by this program; with abi 0 that they
// cannot. It reports whether that changed the file, which it makes where it is needed.
func SetContain(file string, abi int, program string) (changed bool, err error) {
	return Set(file, Setting{"contain", Contain(abi, program)})
}

// Contain is the value of the line that SetContain writes; empty with abi 0, where there is none.
func Contain(abi int, program string) string {
	if abi == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", abi, program)
}

// Setting is a line of the file, which is taken out where Value is empty.
type Setting struct{ Name, Value string }

// secret is what nobody else may read.
const secret = "token"

// Set writes lines, in the places of earlier ones of their names. It reports whether that changed the file,
// which it makes where it is needed; with a token in it the file is for its owner's eyes only.
func Set(file string, settings ...Setting) (changed bool, err error) {
	nothing := true
	for _, s := range settings {
		nothing = nothing && s.Value == ""
		if strings.ContainsAny(s.Value, "\n\r") {
			return false, fmt.Errorf("the %s holds a line break", s.Name)
		}
	}
	fi, err := os.Lstat(file)
	mode := os.FileMode(0o600)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if nothing {
			return false, nil
		}
	case err != nil:
		return false, err
	case !fi.Mode().IsRegular() || fi.Size() > maxConf:
		return false, fmt.Errorf("%s is no file of a sensible size", file)
	default:
		mode = fi.Mode().Perm()
	}
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	text := string(have)
	for _, s := range settings {
		text = set(text, s)
		if s.Name == secret && s.Value != "" {
			mode &= 0o700
		}
	}
	if text == string(have) {
		return false, nil
	}
	if text == "" {
		return true, os.Remove(file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return false, err
	}
	err = wholefile.Write(file, []byte(text), mode)
	return err == nil, err
}

// set is text with the line of a setting.
func set(text string, s Setting) string {
	want := ""
	if s.Value != "" {
		want = s.Name + " = " + s.Value + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if named(line, s.Name) {
			b.WriteString(want)
			want = ""
			continue
		}
		b.WriteString(line)
	}
	text = b.String()
	if want != "" && text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + want
}

// Get returns the value of a setting in the file, "" where it has none.
func Get(file, name string) (string, error) {
	b, err := regular.Read(file, maxConf, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	value := ""
	for line := range strings.Lines(string(b)) {
		if key, v, is := strings.Cut(line, "="); is && strings.TrimSpace(key) == name {
			value = strings.TrimSpace(v)
		}
	}
	return value, err
}
