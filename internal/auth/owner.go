package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"assent/internal/hook"
	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// ownerToken is the credential of everybody who may read the state directory. An agent that runs as
// the same user can read it too: its decisions are recorded as owner-cli, and the secure mode
// goes without it. The zero value accepts nothing.
type ownerToken struct {
	path   string
	text   string
	digest secretHash
}

// create writes a new token to path, 0600, in place of an old one.
func (o *ownerToken) create(path string) error {
	text := "assent_admin_" + secret(32)
	if err := wholefile.Write(path, []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the owner token: %w", err)
	}
	*o = ownerToken{path: path, text: text, digest: sha256.Sum256([]byte(text))}
	return nil
}

func (o *ownerToken) authenticate(secret string) (Principal, bool) {
	h := sha256.Sum256([]byte(secret))
	if o.path == "" || subtle.ConstantTimeCompare(h[:], o.digest[:]) != 1 {
		return Principal{}, false
	}
	return Principal{Role: RoleAdmin, Approver: hook.Approver{Kind: hook.KindOwner, Name: "owner"}}, true
}

// remove deletes the file, unless another broker has written its own there since.
func (o *ownerToken) remove() error {
	if o.path == "" {
		return nil
	}
	b, err := regular.Read(o.path, 4<<10, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the owner token: %w", err)
	}
	if string(b) != o.text+"\n" {
		return nil
	}
	if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the owner token: %w", err)
	}
	return nil
}
