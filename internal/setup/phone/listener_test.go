package phone

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// homeDoor is a door on a free port of loopback, as assent phone makes it.
func homeDoor(t *testing.T) *Door {
	t.Helper()
	at := netip.MustParseAddr("127.0.0.1")
	port, err := HomePort(nil, at, 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewHome(at, uint16(port), "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestListenerFollowsItsFile: a door opens, waits for its address, changes and goes while the broker
// serves, and whatever is wrong with it is said once and ends nothing.
func TestListenerFollowsItsFile(t *testing.T) {
	dir := t.TempDir()
	var warned, names []string
	d := NewListener(dir, func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) })
	d.Follow(func(urls []string, _ []netip.Prefix) error { names = urls; return nil })
	srv := &http.Server{TLSConfig: d.TLS(), ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeTLS(d, "", "") }()
	defer func() {
		d.shut()
		_ = d.Close()
		<-ended
	}()
	now := time.Now()
	said := func(what string, n int) {
		t.Helper()
		if got := len(slices.DeleteFunc(slices.Clone(warned), func(w string) bool { return !strings.Contains(w, what) })); got != n {
			t.Errorf("%q is said %d times, want %d: %q", what, got, n, warned)
		}
	}

	d.look(now)
	if len(warned) > 0 || names != nil {
		t.Errorf("without a file: %q, names %q", warned, names)
	}

	// Another program has the address: said once, tried again later, and then it opens.
	door := homeDoor(t)
	taken, err := net.Listen("tcp", door.Listen)
	if err != nil {
		t.Fatal(err)
	}
	if err := door.Save(dir); err != nil {
		t.Fatal(err)
	}
	d.look(now)
	d.look(now.Add(time.Second))
	d.look(now.Add(doorRetry))
	said("address already in use", 1)
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	d.look(now.Add(2 * doorRetry))
	if err := door.Answers(t.Context()); err != nil {
		t.Errorf("it does not open: %v", err)
	}
	if !slices.Equal(names, []string{door.URL}) {
		t.Errorf("names %q", names)
	}

	// What came in by it ends with it, also a connection of which no server knows any more.
	conn, err := tls.Dial("tcp", door.Listen, &tls.Config{RootCAs: door.Roots(), MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	other := homeDoor(t)
	if err := other.Save(dir); err != nil {
		t.Fatal(err)
	}
	d.look(now.Add(3 * doorRetry))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the old connection goes on")
	}
	if err := other.Answers(t.Context()); err != nil {
		t.Errorf("the new one: %v", err)
	}
	if err := door.Answers(t.Context()); err == nil {
		t.Error("the old one answers")
	}

	// Its end is said in time, once a day.
	late := other.Ends().Add(-time.Hour)
	d.look(late)
	d.look(late.Add(time.Minute))
	said("the certificate for phones ends on", 1)
	d.look(late.Add(25 * time.Hour))
	said("the certificate for phones ends on", 2)

	// A file that others may read counts for nothing.
	if err := os.Chmod(File(dir), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(File(dir), now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.look(late)
	said("nobody else can read", 1)
	if err := other.Answers(t.Context()); err == nil || len(names) != 0 {
		t.Errorf("a file that others may read opens the door: %v, names %q", err, names)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	d.look(late)
	if d.door != nil || d.open != nil {
		t.Error("a door without a file")
	}
}
