package audit

import (
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
	f, err := os.Open(name)
	if err != nil {
		return name, nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKeys+1))
	switch {
	case err != nil:
		return name, nil // a directory, say: it is no key either
	case len(b) > maxKeys:
		return "", fmt.Errorf("--key %s is no file of keys: it has more than %d bytes", name, maxKeys)
	}
	return string(b), nil
}
