package server_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"assent/internal/auth"
)

// Nobody frames the page, or anything else that is served.
func TestNothingIsFramed(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		for _, path := range []string{"/", "/app-5J2ZQ4XK.js", "/healthz", "/v1/requests", "/nowhere"} {
			for _, token := range []string{"", g.tokens[auth.RoleView]} {
				policy := g.call(call{path: path, token: token}).header.Values("Content-Security-Policy")
				has := map[string]bool{}
				if len(policy) == 1 {
					for directive := range strings.SplitSeq(policy[0], ";") {
						has[strings.TrimSpace(directive)] = true
					}
				}
				for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
					if !has[want] {
						t.Errorf("%s: no %s in %q", path, want, policy)
					}
				}
			}
		}
	})
}

// Who dawdles over a head is cut off after five seconds, long before one who dawdles over a body.
func TestSlowHeadersAreCutOff(t *testing.T) {
	for _, unix := range []bool{false, true} {
		bubble(t, func(t *testing.T, g *rig) {
			l := g.tcp
			if unix {
				l = g.unix
			}
			c, err := l.dial(context.Background(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			start := time.Now()
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for _, part := range []string{"POST /v1/hooks HTTP/1.1\r\n", "Host: 127.0.0.1:7717\r\n", "X-A: ", "a", "a", "a", "a", "a", "a"} {
					if _, err := io.WriteString(c, part); err != nil {
						return
					}
					time.Sleep(2 * time.Second)
				}
			}()
			_, err = io.Copy(io.Discard, c)
			if took := time.Since(start); took > 6*time.Second || took < 4*time.Second {
				t.Errorf("unix %v: cut off after %v, %v", unix, took, err)
			}
			_ = c.Close()
			<-gone
		})
	}
}
