// Package devicekey keeps the key of a terminal that is paired as a device, or of a program whose token is bound
// to it, or of who signs rules, in a file that is its owner's alone: what it signs counts as what a paired browser signs.
package devicekey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assent/internal/hook"
	"assent/internal/host/regular"
)

const maxFile = 4 << 10

// Key is a key pair on P-256, and the id that the broker gave the device; a token's key has none.
type Key struct {
	ID      string
	private *ecdsa.PrivateKey
}

// New makes a key pair, without an id.
func New() (*Key, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Key{private: k}, nil
}

// file is what stands in the file.
type file struct {
	DeviceID string `json:"deviceId,omitempty"`
	Key      []byte `json:"key"` // PKCS #8
}

// Load reads the key of a device. The error is fs.ErrNotExist where there is none, and else says what to do.
func Load(path string) (*Key, error) {
	k, err := LoadAny(path)
	if err == nil && k.ID == "" {
		err = unusable(path)
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

// LoadAny is Load for a key that need not be a device's.
func LoadAny(path string) (*Key, error) {
	text, err := regular.Read(path, maxFile, regular.NoLink|regular.Mine|regular.Private)
	switch {
	case errors.Is(err, regular.ErrRefused):
		return nil, fmt.Errorf("%s has to be a file of yours that nobody else can read: chmod 600 %[1]s", path)
	case errors.Is(err, regular.ErrLarge):
		return nil, unusable(path)
	case err != nil:
		return nil, err
	}
	var in file
	if json.Unmarshal(text, &in) != nil {
		return nil, unusable(path)
	}
	any, err := x509.ParsePKCS8PrivateKey(in.Key)
	k, ok := any.(*ecdsa.PrivateKey)
	if err != nil || !ok || k.Curve != elliptic.P256() {
		return nil, unusable(path)
	}
	return &Key{in.DeviceID, k}, nil
}

func unusable(path string) error {
	return fmt.Errorf("%s holds no such key; remove it, and make another: assent agent key for a terminal, assent token key for a token, assent rules key for rules", path)
}

// Save writes a key to a file of its owner alone that was not there.
func (k *Key) Save(path string) error {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	text, err := json.Marshal(file{k.ID, der})
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half a key is none
		return fmt.Errorf("keep a key: %w", err)
	}
	return nil
}

// JWK is the public key.
func (k *Key) JWK() hook.JWK {
	b, err := k.private.PublicKey.Bytes() // 4, x, y
	if err != nil {                       // on P-256 there is none
		return hook.JWK{}
	}
	return hook.JWK{Kty: "EC", Crv: "P-256", X: encode(b[1:33]), Y: encode(b[33:])}
}

// Sign returns r and s of an ECDSA signature over the SHA-256 of text, 32 bytes each, in base64url.
func (k *Key) Sign(text []byte) (string, error) {
	sum := sha256.Sum256(text)
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
