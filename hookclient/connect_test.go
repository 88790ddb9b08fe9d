package hookclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// fullListener is a port of this machine at which nobody accepts, and whose queue is full: a connection to it neither
// succeeds nor fails for minutes.
func fullListener(t *testing.T) (port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	syscall.CloseOnExec(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		c, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(c) })
		syscall.CloseOnExec(c)
		if err := errors.Join(syscall.SetNonblock(c, true), skip(syscall.Connect(c, at), syscall.EINPROGRESS)); err != nil {
			t.Fatal(err)
		}
	}
	return strconv.Itoa(at.(*syscall.SockaddrInet4).Port)
}

func skip(err, but error) error {
	if errors.Is(err, but) {
		return nil
	}
	return err
}

// TestFullQueue: a broker on a port of this machine that takes no connection any more, since it was stopped or hangs, holds no
// hook up for longer than the hook has, and another broker is asked meanwhile.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	url := "http://127.0.0.1:" + fullListener(t)
	const answer = `{"decided":1}`
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	t.Cleanup(other.Close)
	for what, run := range map[string]func(*testing.T){
		"a plain event": func(t *testing.T) {
			if why := Tell(t.Context(), Config{URL: url}, submitted); why == "" {
				t.Error("somebody took it")
			}
		},
		"a request": func(t *testing.T) {
			if a := Submit(t.Context(), Config{URL: url, Timeout: 2 * time.Second}, submitted); a.Answered {
				t.Errorf("%+v", a)
			}
		},
		"two brokers": func(t *testing.T) {
			if a := Submit(t.Context(), Config{URL: url + "," + other.URL, Timeout: time.Hour}, submitted); string(a.Body) != answer {
				t.Errorf("%+v", a)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				run(t)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute): // the system gives up after two
				t.Fatal("it waits for the connection")
			}
		})
	}
}
