package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// listen sends every message of /v1/ws on out, until the connection ends or ctx is done. query
// begins with ? where it is not empty.
func (c *client) listen(ctx context.Context, query string, out chan<- []byte, connected func()) error {
	url := "ws" + strings.TrimPrefix(strings.TrimSuffix(c.info.HTTPURL, "/"), "http") + "/v1/ws" + query
	dialer := websocket.Dialer{TLSClientConfig: c.tls, Proxy: c.proxy, HandshakeTimeout: 10 * time.Second}
	conn, res, err := dialer.DialContext(ctx, url, http.Header{"Authorization": {"Bearer " + c.token}})
	if err != nil {
		if res != nil && res.StatusCode < 500 {
			err = fmt.Errorf("the broker refused: %s", res.Status)
			if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
				return &exitError{exitRefused, err}
			}
			return err
		}
		return err
	}
	connected()
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetReadLimit(64 << 20)
	for {
		_, m, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		select {
		case out <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
