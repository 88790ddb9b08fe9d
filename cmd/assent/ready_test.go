package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assent/internal/store/stream"
)

func TestReadyLooksForTheSocket(t *testing.T) {
	dir := t.TempDir()
	streams, err := stream.Open(t.Context(), stream.Config{Dir: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer streams.Close()
	path := filepath.Join(dir, "hook.sock")
	socket, err := listenUnix("--socket", path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	r := &readiness{streams: streams, socket: socket}
	check := func() error {
		r.checkedAt = time.Time{} // as if the last look were long ago
		return r.check()
	}
	if err := check(); err != nil {
		t.Fatalf("at the start: %v", err)
	}
	if err := os.Rename(path, path+".aside"); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("ready without a socket")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("ready with another file in the socket's place")
	}
	if err := os.Rename(path+".aside", path); err != nil {
		t.Fatal(err)
	}
	if err := check(); err != nil {
		t.Errorf("the socket is back: %v", err)
	}
	if err := streams.Close(); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("ready with closed streams")
	}
}

// However often somebody asks, the streams are tried at times only; what they know by themselves is
// told at once.
func TestReadyIsRemembered(t *testing.T) {
	streams, err := stream.Open(t.Context(), stream.Config{Dir: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	r := &readiness{streams: streams, checkedAt: time.Now().Add(time.Hour), err: os.ErrClosed} // without a socket to look at
	if r.check() != os.ErrClosed {
		t.Error("what was seen just now is not what is told")
	}
	r.err = nil
	if err := streams.Close(); err != nil {
		t.Fatal(err)
	}
	if r.check() == nil {
		t.Error("ready with closed streams, as they were open a moment ago")
	}
}
