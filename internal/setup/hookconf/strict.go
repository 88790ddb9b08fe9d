package hookconf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoKey says that a file would require signatures and trust nobody's.
var ErrNoKey = errors.New("no key is trusted: say whose signature lets an allow through, with --trust 'device:KEY independent', as assent device list prints it")

// Strict is the text of a hook.conf that has hooks print only what one of these keys signed, each a value of a
// trust line. Without keys those stay that the text has; if it has none, that is ErrNoKey.
func Strict(text string, keys []string) (string, error) {
	text = set(text, Setting{"require", "signed"})
	had := false
	var b strings.Builder
	for line := range strings.Lines(text) {
		if named(line, "trust") {
			had = true
			if len(keys) > 0 {
				continue
			}
		}
		b.WriteString(line)
	}
	text = b.String()
	if len(keys) == 0 && !had {
		return "", ErrNoKey
	}
	if len(keys) > 0 && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, k := range keys {
		text += "trust = " + strings.TrimSpace(k) + "\n"
	}
	return text, nil
}

// NotStrict is the text without what Strict puts in.
func NotStrict(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !named(line, "trust") && !named(line, "require") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func named(line, name string) bool {
	key, _, is := strings.Cut(line, "=")
	return is && strings.TrimSpace(key) == name
}

// ReadForAll is the text of the administrator's file, "" where there is none.
func ReadForAll(file string) (string, error) {
	fi, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular() || fi.Size() > maxConf:
		return "", fmt.Errorf("%s is no file of a sensible size", file)
	}
	b, err := os.ReadFile(file)
	return string(b), err
}

// WriteForAll writes the administrator's file, which hooks of all users read, in one step; an empty text takes it
// away. The mode of a file that is there stays, but nobody else may write it.
func WriteForAll(file, text string) error {
	if text == "" {
		err := os.Remove(file)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	mode := os.FileMode(0o644)
	if fi, err := os.Lstat(file); err == nil {
		mode = fi.Mode().Perm() &^ 0o022
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return replace(file, text, mode)
}

// replace puts a file in its place in one step.
func replace(file, text string, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".hook.conf-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it is gone when it was renamed
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
