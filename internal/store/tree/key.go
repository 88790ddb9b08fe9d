package tree

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"assent/internal/host/wholefile"
)

// KeyFile is the name of the broker's key in the state directory.
const KeyFile = "audit.key"

const keyHead = "assent audit key v1\n"

// Key signs checkpoints. Its file is readable by the owner only.
type Key struct{ private ed25519.PrivateKey }

// LoadKey reads the key in a state directory, and makes one where none is.
func LoadKey(dir string) (*Key, error) {
	path := filepath.Join(dir, KeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(dir, path); err != nil {
			return nil, err
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key that signs checkpoints: %w", err)
	}
	seed, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(strings.TrimPrefix(string(text), keyHead), "\n"))
	if err != nil || len(seed) != ed25519.SeedSize || !strings.HasPrefix(string(text), keyHead) {
		return nil, fmt.Errorf("%s holds no key for checkpoints: put it back from a backup, or remove it, and the broker makes another, which whoever verifies has to be told", path)
	}
	return &Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// makeKey puts a whole file in place or none.
func makeKey(dir, path string) error {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // it never fails
	if err := wholefile.Write(path, []byte(keyHead+base64.StdEncoding.EncodeToString(seed)+"\n"), 0o600); err != nil {
		return fmt.Errorf("make a key for checkpoints: %w", err)
	}
	return nil
}

// Public is the public key as it verifies the notes of a tree: name+hash+key.
func (k *Key) Public(origin string) (string, error) {
	return note.NewEd25519VerifierKey(origin, k.private.Public().(ed25519.PublicKey))
}

// signer signs in the name of a tree.
func (k *Key) signer(origin string) (note.Signer, error) {
	const algorithm = 1 // Ed25519
	public := append([]byte{algorithm}, k.private.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(origin+"\n"), public...))
	return note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%x+%s", origin, sum[:4],
		base64.StdEncoding.EncodeToString(append([]byte{algorithm}, k.private.Seed()...))))
}

// verifier verifies what this key signed in the name of a tree.
func (k *Key) verifier(origin string) (note.Verifier, error) {
	public, err := k.Public(origin)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(public)
}
