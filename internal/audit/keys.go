package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// maxKeys bounds a file of keys, in bytes; a key has about a hundred.
const maxKeys = 1 << 20

// ReadKeys reads public keys of brokers. Each of named is a key as `assent audit checkpoint --key` prints it, or the path of
// a file with one on each line. The errors name the flag --key, by which a person gives them.
func ReadKeys(named []string) (keys []note.Verifier, err error) {
	for _, name := range named {
		text, err := keyText(name)
		if err != nil {
			return nil, err
		}
		n := len(keys)
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			v, err := note.NewVerifier(line)
			if err != nil {
				return nil, fmt.Errorf("--key %s is no key and no file of keys: it looks like assent/…+…+…, see assent audit checkpoint --key", name)
			}
			keys = append(keys, v)
		}
		if len(keys) == n {
			return nil, fmt.Errorf("--key %s has no key: see assent audit checkpoint --key", name)
		}
	}
	return keys, nil
}

// keyText is what stands in the file of a name, which may be a pipe, or the name itself where there is none.
func keyText(name string) (string, error) {
	b, err := readAtMost(name, maxKeys)
	switch {
	case errors.Is(err, errTooMuch):
		return "", fmt.Errorf("--key %s is no file of keys: %w", name, err)
	case err != nil:
		return name, nil // there is none, or it is a directory, say: then it has to be a key itself
	}
	return string(b), nil
}

var errTooMuch = errors.New("it has more than")

// readAtMost reads a file that a person named, which may be a pipe, of at most most bytes. More than those are errTooMuch.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%w %d bytes", errTooMuch, most)
	}
	return b, nil
}
