package rig

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// All returns every settled request, page by page.
func (d *Daemon) All() []Request {
	d.T.Helper()
	var all []Request
	after := ""
	for {
		var page []Request
		d.Get("/v1/requests?state=ended&limit=100"+after, &page)
		for _, r := range page {
			all = append(all, d.Request(r.ID)) // with its payload, which lists leave out
		}
		if len(page) < 100 {
			return all
		}
		after = "&after=" + page[len(page)-1].ID
	}
}

// Withdrawn lets a hook go away and returns how long after that its request was withdrawn.
func (d *Daemon) Withdrawn(t *testing.T, gone func(*exec.Cmd, *os.File) error) time.Duration {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := d.HookCommand(Bash("s", "sleep 1"))
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	req := d.WaitPending(1)[0]
	at := time.Now()
	if err := gone(cmd, r); err != nil {
		t.Fatal(err)
	}
	req = d.Until(req.ID, "withdrawn", func(r Request) bool { return r.Outcome == "withdrawn" })
	if req.Reason != "hangup" {
		t.Errorf("reason %q", req.Reason)
	}
	took := d.Step(req.ID, "ended").Time.Sub(at)
	select {
	case <-ended:
	case <-time.After(Soon):
		_ = cmd.Process.Kill()
		t.Error("the hook outlives its agent")
	}
	_ = r.Close() // closed already in one of the cases
	return took
}

// WatchWS opens the WebSocket as the owner. small asks for a receive buffer of that many bytes.
func (d *Daemon) WatchWS(small int) *websocket.Conn {
	d.T.Helper()
	url, token := d.Owner()
	dialer := websocket.Dialer{NetDial: func(network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		if err == nil && small > 0 {
			err = c.(*net.TCPConn).SetReadBuffer(small)
		}
		return c, err
	}}
	c, res, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/v1/ws", http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		d.T.Fatalf("%v %v", err, res)
	}
	d.T.Cleanup(func() { _ = c.Close() })
	return c
}

// NoticesFile is the person's file of where to send notices.
func (d *Daemon) NoticesFile() string {
	return filepath.Join(d.Dir, ".config", "assent", "notices.yaml")
}

// WriteNotices writes that file; only the person may read it.
func (d *Daemon) WriteNotices(text string) {
	d.T.Helper()
	if err := os.MkdirAll(filepath.Dir(d.NoticesFile()), 0o700); err != nil {
		d.T.Fatal(err)
	}
	if err := os.WriteFile(d.NoticesFile(), []byte(text), 0o600); err != nil {
		d.T.Fatal(err)
	}
}

// RemoteHook starts assent hook, which comes by HTTP.
func (d *Daemon) RemoteHook(token string, payload []byte) *HookRun {
	d.T.Helper()
	url, _ := d.Owner()
	h := &HookRun{T: d.T, Cmd: exec.Command(Program("assent"), "hook", "--url", url, "--timeout", "120s")}
	h.Cmd.Env = append(d.Env(), "ASSENT_TOKEN="+token)
	h.Cmd.Dir = d.Dir
	h.Cmd.Stdin = bytes.NewReader(payload)
	h.Cmd.Stdout, h.Cmd.Stderr = &h.Stdout, &h.Stderr
	if err := h.Cmd.Start(); err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(func() { _ = h.Cmd.Process.Kill() })
	return h
}

// SocketClient speaks HTTP over the hook socket, as many hooks at once.
func (d *Daemon) SocketClient() *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", d.Socket)
		},
		DisableKeepAlives: true,
	}
	d.T.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// PostHook asks as the hook client does: while the broker says 503 it comes back, with the same
// id.
func PostHook(ctx context.Context, client *http.Client, body []byte) (status int, answer string, err error) {
	id := uuid.NewString()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for attempt, end := 1, time.Now().Add(3*Soon); ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://assent/v1/hooks", bytes.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		req.Header.Set("Assent-Request-Id", id)
		req.Header.Set("Assent-Attempt", strconv.Itoa(attempt))
		res, err := client.Do(req)
		if err != nil {
			return 0, "", err
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch late := time.Now().After(end); {
		case attempt > 1 && res.StatusCode == http.StatusNoContent && !late:
			// What was sent away was recorded after all, and handed back, as nobody waited for it any more.
			id, attempt = uuid.NewString(), 0
		case res.StatusCode != http.StatusServiceUnavailable || late:
			return res.StatusCode, string(b), err
		}
		<-tick.C
	}
}
