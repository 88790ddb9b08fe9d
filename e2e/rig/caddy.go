package rig

import (
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Caddy runs a Caddyfile in front of brokers until the test ends, and returns the file of the authority that its
// certificates are of. It serves the name at the loopback address front.
func Caddy(t *testing.T, file, name, front string) (root string) {
	t.Helper()
	caddy := Need(t, "caddy")
	dir := TempDir(t)
	path := filepath.Join(dir, "Caddyfile")
	// It must not touch this machine's trust store or its other ports.
	options := "{\n  admin off\n  skip_install_trust\n  auto_https disable_redirects\n  default_bind 127.0.0.1\n}\n"
	if err := os.WriteFile(path, []byte(options+file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", path)
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var said Output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("caddy said:\n%s", said.Tail(4000))
		}
	})
	root = filepath.Join(dir, "caddy", "pki", "authorities", "local", "root.crt")
	Eventually(t, Soon, "Caddy's certificate", func() bool {
		if _, err := os.Stat(root); err != nil {
			return false
		}
		c, err := tls.Dial("tcp", front, &tls.Config{ServerName: name, InsecureSkipVerify: true}) // is it up?
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return root
}
