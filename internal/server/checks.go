package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/zap"

	"assent/internal/auth"
)

// policy is the page's Content Security Policy. Preact writes text nodes and attributes, which
// Trusted Types do not concern; the one policy lets the page name its service worker.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"img-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types assent-worker"

// headers sets what every answer carries. Assets replace Cache-Control.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// host refuses names that are not ours, which stops DNS rebinding: 421.
func (s *Server) host(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.named.Load().hosts[strings.ToLower(r.Host)] {
			writeProblem(w, problem{Status: http.StatusMisdirectedRequest,
				Detail: "this broker does not answer to that Host; name it with --public-url if it should"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bodyTime is how long a body may take to arrive.
const bodyTime = 30 * time.Second

// limit refuses bodies above size: at once where the length is announced, else when it is
// reached.
func limit(size int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > size {
				writeProblem(w, tooLarge(size))
				return
			}
			if r.Body != nil && r.Body != http.NoBody {
				r.Body = http.MaxBytesReader(w, r.Body, size)
			}
			next.ServeHTTP(w, r)
		})
	}
}

func tooLarge(size int64) problem {
	return problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body is larger than %d bytes", size)}
}

// guessed reports whether a browser fetches ahead of its user. Nothing here gains by
// that, and it could spend a ticket without anybody having wanted it.
func guessed(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		v := strings.ToLower(strings.Join(r.Header.Values(name), ","))
		if strings.Contains(v, "prefetch") || strings.Contains(v, "prerender") || strings.Contains(v, "preview") {
			return true
		}
	}
	return false
}

// origin refuses what another site's page sends, and what nobody asked for. Programs send no
// Origin.
func (s *Server) origin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if guessed(r) {
			writeProblem(w, problem{Status: http.StatusForbidden, Detail: "nothing here is fetched ahead of its use"})
			return
		}
		site := r.Header.Get("Sec-Fetch-Site")
		if !s.originOK(r) || site != "" && site != "same-origin" && site != "none" {
			writeProblem(w, problem{Status: http.StatusForbidden, Detail: "this comes from a page of another origin"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// originOK compares exactly; "null" is never allowed.
func (s *Server) originOK(r *http.Request) bool {
	origins := r.Header["Origin"]
	return len(origins) == 0 || len(origins) == 1 && s.named.Load().origins[origins[0]]
}

// pageOrigin is origin for the page itself, to which a link on another site may lead.
func (s *Server) pageOrigin(next http.Handler) http.Handler {
	strict := s.origin(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && s.originOK(r) && !guessed(r) {
			next.ServeHTTP(w, r)
			return
		}
		// A page that was opened by plain http where it should not be: its scripts tell its origin, and
		// have to come, to say what is wrong. They are the same for everybody.
		if origins := r.Header["Origin"]; len(origins) == 1 && origins[0] == "http://"+r.Host && r.Header.Get("Sec-Fetch-Site") == "" && !guessed(r) {
			next.ServeHTTP(w, r)
			return
		}
		strict.ServeHTTP(w, r)
	})
}

type callerKey struct{}

// caller authenticates the caller, else 401, and checks the role, else 403.
func (s *Server) caller(need auth.Role) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := s.cfg.Auth.Authenticate(bearer(r))
			if err != nil {
				s.unknown(w, r, bearer(r), err)
				return
			}
			if !p.Role.Includes(need) {
				writeProblem(w, lacking(need))
				return
			}
			if p.Role.Includes(auth.RoleView) {
				uses(r, stays)
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, p)))
		})
	}
}

func lacking(need auth.Role) problem {
	return problem{Status: http.StatusForbidden, Detail: "this needs the role " + string(need)}
}

// noDevice refuses a device where credentials are given out. A device's bearer may be stolen
// and cannot decide without the device's key; a token that it made could.
func (s *Server) noDevice(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if principal(r).Approver.Kind == "device" {
			writeProblem(w, problem{Status: http.StatusForbidden, Detail: "a paired device cannot give out credentials; do it on the broker's machine, or with a token of role admin"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// principal is who calls, in a route that has a role.
func principal(r *http.Request) auth.Principal {
	p, _ := r.Context().Value(callerKey{}).(auth.Principal)
	return p
}

// bearer is the credential of the Authorization header, "" without one.
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// recover turns a panic into 500.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			s.logPanic(r.URL.Path, v)
			writeProblem(w, problem{Status: http.StatusInternalServerError, Detail: "internal error"})
		}()
		next.ServeHTTP(w, r)
	})
}

// access logs every request at debug level, without its query, which may hold a ticket.
func (s *Server) access(next http.Handler) http.Handler {
	if !s.log.Core().Enabled(zap.DebugLevel) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			s.log.Debug("access", zap.String("method", line(r.Method)), zap.String("path", line(r.URL.Path)),
				zap.Int("status", ww.Status()), zap.Int("bytes", ww.BytesWritten()), zap.Duration("took", time.Since(start)))
		}()
		next.ServeHTTP(ww, r)
	})
}
