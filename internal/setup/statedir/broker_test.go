package statedir

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/internal/text/digest"
)

// A broker is found where it said that it is, until it takes that back.
func TestBroker(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadBroker(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where none runs: %v", err)
	}
	for _, want := range []Broker{{PID: 1, HTTPURL: "http://127.0.0.1:1/", Socket: "/s", Version: "1.2.3"}, {PID: 2, CertSHA256: "ab"}} {
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadBroker(dir); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	file := filepath.Join(dir, "runtime.json")
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", fi.Mode(), err)
	}
	RemoveBroker(dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBroker(dir); err == nil || !strings.Contains(err.Error(), "restart the broker") {
		t.Errorf("half a file: %v", err)
	}
	RemoveBroker(dir)
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBroker(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a pipe: %v", err)
	}
	if err := (Broker{}).Write(filepath.Join(dir, "none")); err == nil {
		t.Error("it is told in a directory that is not there")
	}
}

// The commands speak to the broker of the certificate, whatever names are in that, and to no other.
func TestBrokersCertificate(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	ask := func(b Broker) error {
		c := http.Client{Transport: &http.Transport{TLSClientConfig: b.TLS(), DisableKeepAlives: true}}
		resp, err := c.Get(strings.Replace(srv.URL, "127.0.0.1", "localhost", 1))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := ask(Broker{CertSHA256: digest.Of(srv.Certificate().Raw)}); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"", digest.Of([]byte("another"))} {
		if err := ask(Broker{CertSHA256: other}); err == nil || !strings.Contains(err.Error(), "runtime.json") {
			t.Errorf("of certificate %q: %v", other, err)
		}
	}
}
