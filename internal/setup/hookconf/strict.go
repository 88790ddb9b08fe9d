package hookconf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/host/wholefile"
)

// ErrNoKey says that a file would require signatures and trust nobody's.
var ErrNoKey = errors.New("no key is trusted: say whose signature lets an allow through, with --trust 'device:KEY independent', as assent device list prints it, or with --trust-rules")

// Strict is the text of a hook.conf that has hooks print only what one of these keys signed, each a value of a
// trust line, or what rules allow that one of rulesKeys signed, each a value of a trust-rules line. Where no keys of a
// kind are given, those stay that the text has; if there are none of either kind, that is ErrNoKey.
func Strict(text string, keys, rulesKeys []string) (string, error) {
	text = set(text, Setting{"require", "signed"})
	text, devices := listed(text, "trust", keys)
	text, rules := listed(text, "trust-rules", rulesKeys)
	if !devices && !rules {
		return "", ErrNoKey
	}
	return text, nil
}

// listed is the text with these lines of a name in the place of earlier ones, if there are any values; any says whether it has
// lines of that name.
func listed(text, name string, values []string) (_ string, any bool) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if named(line, name) {
			any = true
			if len(values) > 0 {
				continue
			}
		}
		b.WriteString(line)
	}
	text = b.String()
	if len(values) > 0 && text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, v := range values {
		text += name + " = " + strings.TrimSpace(v) + "\n"
	}
	return text, any || len(values) > 0
}

// NotStrict is the text without what Strict puts in.
func NotStrict(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !named(line, "trust") && !named(line, "trust-rules") && !named(line, "require") {
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
	return wholefile.Write(file, []byte(text), mode)
}
