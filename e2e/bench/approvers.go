package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// approvers lets 200 approvers watch while 1,000 requests come up at once, and compares with
// a bare WebSocket fan-out of as many messages of the same size to as many clients.
func (b *bench) approvers() ([]row, error) {
	const clients, burst = 200, 1000
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	conns, err := dial(clients, "ws"+strings.TrimPrefix(s.url, "http")+"/v1/ws", http.Header{"Authorization": {"Bearer " + s.token}})
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make(chan error, clients+burst)
	sizes := make([]int, clients)
	for i, c := range conns {
		wg.Go(func() {
			n, err := follow(c, burst)
			if err != nil {
				errs <- fmt.Errorf("approver %d was dropped: %w", i, err)
			}
			sizes[i] = n
		})
	}
	hs := make([]held, burst)
	start := time.Now()
	var asking sync.WaitGroup
	for w := range 16 {
		asking.Go(func() {
			for i := w; i < burst; i += 16 {
				if hs[i], err = s.ask(i); err != nil {
					errs <- err
				}
			}
		})
	}
	asking.Wait()
	wg.Wait()
	took := time.Since(start)
	for _, h := range hs {
		if h.conn != nil {
			h.conn.Close()
		}
	}
	select {
	case err := <-errs:
		return nil, err
	default:
	}
	bare, err := fanout(clients, burst, sizes[0]/burst)
	if err != nil {
		return nil, err
	}
	return []row{{"200 approvers, burst of 1,000 requests, seen by all, none dropped (against a bare WebSocket fan-out)",
		fmt.Sprintf("%.2f× (%s 1 s)", ratio(took, bare), map[bool]string{true: "within", false: "over"}[took <= time.Second]), "≤ 1.3×", ratio(took, bare) <= 1.3}}, nil
}

func dial(n int, url string, h http.Header) ([]*websocket.Conn, error) {
	conns := make([]*websocket.Conn, n)
	for i := range conns {
		c, _, err := websocket.DefaultDialer.Dial(url, h)
		if err != nil {
			return nil, err
		}
		conns[i] = c
	}
	return conns, nil
}

// follow reads until n requests were announced and returns the bytes that took. It gives up after two minutes: a
// request that the broker sends away is never announced.
func follow(c *websocket.Conn, n int) (size int, err error) {
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return 0, err
	}
	for seen := 0; seen < n; {
		_, m, err := c.ReadMessage()
		if err != nil {
			return size, err
		}
		seen += bytes.Count(m, []byte(`"inputSha256"`)) // once a request; parsing would measure the reader
		size += len(m)
	}
	return size, nil
}

// fanout sends n messages of size bytes to each of the clients over loopback.
func fanout(clients, n, size int) (time.Duration, error) {
	up := websocket.Upgrader{}
	conns := make(chan *websocket.Conn, clients)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := up.Upgrade(w, r, nil); err == nil {
			conns <- c
		}
	}))
	defer srv.Close()
	readers, err := dial(clients, "ws"+strings.TrimPrefix(srv.URL, "http"), nil)
	if err != nil {
		return 0, err
	}
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(`"`+strings.Repeat("x", size)+`"`))
	if err != nil {
		return 0, err
	}
	start := time.Now()
	var wg sync.WaitGroup
	for _, r := range readers {
		c := <-conns
		wg.Go(func() {
			for range n {
				if c.WritePreparedMessage(m) != nil {
					return
				}
			}
		})
		wg.Go(func() {
			defer r.Close()
			for range n {
				if _, _, err := r.ReadMessage(); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start), nil
}
