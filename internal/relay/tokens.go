package relay

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
	"assent/internal/relay/tunnel"
)

// maxNames is how many names a relay has at most.
const maxNames = 1000

// maxTokens bounds the file of tokens, in bytes.
const maxTokens = 256 << 10

// tokens are the hashes of tokens, by name.
type tokens map[string]string

// readTokens reads a file of tokens: a line "NAME HASH" for each, and comments that begin with #. Only its
// owner may read or write it. One that is not there has none.
func readTokens(file string) (tokens, error) {
	b, err := regular.Read(file, maxTokens, regular.Private)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return tokens{}, nil
	case errors.Is(err, regular.ErrRefused):
		return nil, fmt.Errorf("tokens: %s is open to others than its owner; chmod 600 it", file)
	case err != nil && !errors.Is(err, regular.ErrLarge): // of that parseTokens tells
		return nil, fmt.Errorf("tokens: %w", err)
	}
	ts, err := parseTokens(b)
	if err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", file, err)
	}
	return ts, nil
}

func parseTokens(b []byte) (tokens, error) {
	if len(b) > maxTokens {
		return nil, fmt.Errorf("it has more than %d bytes", maxTokens)
	}
	ts := tokens{}
	s := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, hash, ok := strings.Cut(line, " ")
		switch err := tunnel.CheckName(name); {
		case !ok || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "":
			return nil, fmt.Errorf("line %d: want NAME and a hash, as assent relay token NAME writes them", n)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		case ts[name] != "":
			return nil, fmt.Errorf("line %d: the name %s is there twice", n, name)
		}
		ts[name] = hash
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(ts) > maxNames {
		return nil, fmt.Errorf("it has %d names; a relay has %d at most", len(ts), maxNames)
	}
	return ts, nil
}

// has reports whether the token is the one for its name.
func (ts tokens) has(t tunnel.Token) bool {
	return subtle.ConstantTimeCompare([]byte(ts[t.Name]), []byte(t.Hash())) == 1
}

// AddToken makes a token for a name, writes its hash into the file, and takes the place of a token that the
// name had. replaced says whether there was one.
func AddToken(file, name string) (t tunnel.Token, replaced bool, err error) {
	if t, err = tunnel.NewToken(name); err != nil {
		return t, false, err
	}
	err = editTokens(file, func(ts tokens) error {
		_, replaced = ts[name]
		ts[name] = t.Hash()
		return nil
	})
	return t, replaced, err
}

// RemoveToken takes the token of a name out of the file. A relay that runs closes that broker's connection
// within seconds.
func RemoveToken(file, name string) error {
	return editTokens(file, func(ts tokens) error {
		if ts[name] == "" {
			return fmt.Errorf("the name %q has no token in %s", name, file)
		}
		delete(ts, name)
		return nil
	})
}

// Names lists the names that have a token, in order.
func Names(file string) ([]string, error) {
	ts, err := readTokens(file)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(ts))
	for name := range ts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func editTokens(file string, edit func(tokens) error) error {
	ts, err := readTokens(file)
	if err != nil {
		return err
	}
	if err := edit(ts); err != nil {
		return err
	}
	if len(ts) > maxNames {
		return fmt.Errorf("a relay has %d names at most", maxNames)
	}
	var b bytes.Buffer
	b.WriteString("# Names of this relay and the hashes of their tokens. Written by: assent relay token\n")
	names := make([]string, 0, len(ts))
	for name := range ts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", name, ts[name])
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	if err := wholefile.Write(file, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	return nil
}
