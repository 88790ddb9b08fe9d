package server_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
)

// Nobody without a credential keeps a connection for longer than a minute or two by dawdling
// over a body that no handler reads, or over an answer.
func TestDawdlersAreCutOff(t *testing.T) {
	head := func(line string, more ...string) string {
		return line + " HTTP/1.1\r\nHost: 127.0.0.1:7717\r\n" + strings.Join(more, "") + "\r\n"
	}
	for name, sent := range map[string]string{
		"a body nobody reads":      head("POST /v1/requests/x/decision", "Content-Length: 10\r\n"),
		"a body where none may be": head("GET /healthz", "Content-Length: 10\r\n"),
		"a body for no route":      head("POST /v1/nothing", "Transfer-Encoding: chunked\r\n"),
		"a body for another host":  strings.Replace(head("POST /v1/hooks", "Content-Length: 10\r\n"), "127.0.0.1", "evil", 1),
		"a body that stops":        head("POST /v1/pair/redeem", "Content-Length: 10\r\n") + "{",
		"a hook that stops":        head("POST /v1/hooks", "Content-Length: 10\r\n", "Authorization: Bearer TOKEN\r\n") + "{",
		"an answer nobody reads":   head("GET /app-5J2ZQ4XK.js"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				conn, err := g.tcp.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, strings.Replace(sent, "TOKEN", g.tokens[auth.RoleSubmit], 1)); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(name, "an answer") {
					go io.Copy(io.Discard, conn)
				}
				time.Sleep(3 * time.Minute) // the bubble's clock
				synctest.Wait()
				if _, err := conn.Write([]byte("x")); err == nil {
					t.Error("the connection is still open")
				}
			})
		})
	}
}
