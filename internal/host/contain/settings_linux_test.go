//go:build linux && (amd64 || arm64)

package contain

import (
	"path"
	"testing"

	"assent/internal/policy"
)

// TestSettingsAreNoSecrets: what every command may read of the system's settings, the rules may show.
func TestSettingsAreNoSecrets(t *testing.T) {
	for _, s := range settings {
		switch s {
		case "ld-musl-x86_64.path", "ld-musl-aarch64.path", "pki/tls/openssl.cnf", "crypto-policies":
			continue // written by the system, which has no secret to put there
		}
		if file := path.Join("/etc", s); policy.HoldsSecret(file, "/w/project", "/w/project", "/home/u") {
			t.Errorf("%s may hold a secret", file)
		}
	}
}
