package devicekey_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"assent/internal/auth"
	"assent/internal/auth/devicekey"
	"assent/internal/hook"
)

// TestAKeyIsKept: what it signs verifies, also once it was read again; and a file that others can read is no key.
func TestAKeyIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "key.json")
	if _, err := devicekey.Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	k, err := devicekey.New()
	if err != nil {
		t.Fatal(err)
	}
	k.ID = "d"
	if err := k.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(path); err == nil {
		t.Error("a key was written over another")
	}
	again, err := devicekey.Load(path)
	if err != nil || again.ID != "d" || again.JWK() != k.JWK() {
		t.Fatalf("%+v, %v", again, err)
	}
	m := hook.Message{ID: "i", Kind: hook.MessagePrompt, Prompt: "x"}
	key := again.JWK()
	m.PublicKey = &key
	if m.Signature, err = again.Sign(auth.MessageText(m)); err != nil || !auth.VerifyMessage(m) {
		t.Errorf("%v: the signature does not hold", err)
	}
	m.Prompt = "y"
	if auth.VerifyMessage(m) {
		t.Error("it holds for another text")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := devicekey.Load(path); err == nil {
		t.Error("others can read it")
	}
	for _, text := range []string{"", "{}", `{"deviceId":"d","key":"AAAA"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := devicekey.Load(path); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}
