package auth_test

import (
	"slices"
	"testing"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/store/kvmirror/kvtest"
)

// TestDevicesOfOneName: whoever reads who decided can tell two browsers apart.
func TestDevicesOfOneName(t *testing.T) {
	a, err := auth.Open(t.Context(), auth.Config{KV: kvtest.New(), NoOwnerToken: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var names []string
	for range 3 {
		p, err := a.NewPairing(t.Context(), auth.RoleApprove, "", "http://127.0.0.1:7717")
		if err != nil {
			t.Fatal(err)
		}
		d, err := a.Redeem(t.Context(), p.Code, authtest.NewKey().JWK(), "Chrome on Linux", "")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name)
	}
	if want := []string{"Chrome on Linux", "Chrome on Linux 2", "Chrome on Linux 3"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}
