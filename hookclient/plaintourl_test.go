package hookclient

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/internal/hook"
)

// recordedBroker is a broker on a URL that takes events of nobody, or answers all with a status.
type recordedBroker struct {
	*httptest.Server
	mu     sync.Mutex
	status int      // guarded by mu
	ids    []string // guarded by mu
}

func newRecordedBroker(t *testing.T, status int) *recordedBroker {
	b := &recordedBroker{status: status}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ids = append(b.ids, r.Header.Get(hook.HeaderRequestID))
		w.WriteHeader(b.status)
	}))
	t.Cleanup(b.Close)
	return b
}

// heard returns the ids that came, and forgets them.
func (b *recordedBroker) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.ids = nil }()
	return b.ids
}

// foreignSocket is a socket that Config{SocketOwner: owner} takes for somebody else's. said returns how many bytes
// came to it.
func foreignSocket(t *testing.T) (socket, owner string, said func() int) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not say who listens")
	}
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	var mu sync.Mutex
	bytes := 0
	readers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			readers.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Minute)) // only there to stop it
				n, _ := io.Copy(io.Discard, c)
				mu.Lock()
				defer mu.Unlock()
				bytes += int(n)
			})
		}
	})
	said = func() int {
		l.Close()
		readers.Wait()
		return bytes
	}
	t.Cleanup(func() { said() })
	return socket, strconv.Itoa(os.Geteuid() + 1), said
}

// plain hands over an event of a session as the hook does, and returns its id and what it warned of.
func plain(t *testing.T, cfg Config) (id, warned string) {
	t.Helper()
	cfg.Warn = func(s string) { warned += s + "\n" }
	e := submitted
	e.ID, e.Type, e.Time = newID(), "PostToolUse", time.Now()
	c, err := newClient(cfg, e)
	if err != nil {
		t.Fatal(err)
	}
	c.session = "s1"
	c.deliver(&agentWatch{ctx: t.Context()})
	return e.ID, warned
}

// A plain event goes on to the URLs when nobody is to be spoken to on the socket, or nobody there takes it.
func TestPlainEventPassesOverARefusal(t *testing.T) {
	socket, owner, said := foreignSocket(t)
	first, second := newRecordedBroker(t, http.StatusUnauthorized), newRecordedBroker(t, http.StatusNoContent)
	cfg := Config{Socket: socket, SocketOwner: owner, URL: first.URL + "," + second.URL, Token: "t", Timeout: time.Minute, Spool: t.TempDir()}
	if why := Tell(t.Context(), cfg, submitted); why != "" {
		t.Errorf("told: %s", why)
	}
	id, warned := plain(t, cfg)
	want := []string{submitted.ID, id}
	for name, b := range map[string]*recordedBroker{"that refuses": first, "that takes it": second} {
		if got := b.heard(); !slices.Equal(got, want) {
			t.Errorf("the broker %s heard %v, want %v", name, got, want)
		}
	}
	if warned != "" || !(&spool{dir: cfg.Spool}).empty() {
		t.Errorf("warned of %q, or spooled it", warned)
	}
	if n := said(); n != 0 {
		t.Errorf("another user's socket heard %d bytes", n)
	}
}

// So does what waits in the spool, and with it the rest of its session.
func TestSpoolPassesOverARefusal(t *testing.T) {
	socket, owner, said := foreignSocket(t)
	b := newRecordedBroker(t, http.StatusServiceUnavailable)
	cfg := Config{Socket: socket, SocketOwner: owner, URL: b.URL, Token: "t", Timeout: time.Minute, Spool: t.TempDir()}
	one, _ := plain(t, cfg)
	b.heard()
	b.mu.Lock()
	b.status = http.StatusNoContent
	b.mu.Unlock()
	two, _ := plain(t, cfg)                                         // behind the first one
	for n := 0; !(&spool{dir: cfg.Spool}).empty() && n < 100; n++ { // a run has little time
		plainRun(t, cfg)
	}
	if got := b.heard(); !slices.Equal(got, []string{one, two}) {
		t.Errorf("the broker heard %v, want %s and %s", got, one, two)
	}
	if n := said(); n != 0 {
		t.Errorf("another user's socket heard %d bytes", n)
	}
}

// plainRun is a run that only drains.
func plainRun(t *testing.T, cfg Config) {
	t.Helper()
	c, err := newClient(cfg, submitted)
	if err != nil {
		t.Fatal(err)
	}
	c.drainSpool(t.Context(), &spool{dir: cfg.Spool})
}

// What one broker refuses for good is dropped only where no other one may take it later.
func TestRefusedForGood(t *testing.T) {
	socket, owner, _ := foreignSocket(t)
	for _, row := range []struct {
		name, socket string
		dropped      bool
	}{
		{"nobody on the socket", filepath.Join(t.TempDir(), "none"), false},
		{"somebody else on the socket", socket, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newRecordedBroker(t, http.StatusRequestEntityTooLarge)
			cfg := Config{Socket: row.socket, SocketOwner: owner, URL: b.URL, Token: "t", Timeout: time.Minute, Spool: t.TempDir()}
			_, warned := plain(t, cfg)
			plainRun(t, cfg)
			if dropped := (&spool{dir: cfg.Spool}).empty(); dropped != row.dropped || dropped != strings.Contains(warned, "is dropped") {
				t.Errorf("dropped %t, warned of %q", dropped, warned)
			}
		})
	}
}
