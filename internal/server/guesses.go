package server

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"assent/internal/auth"
)

// Wrong credentials get an answer as often as this, all callers together: some at once, for a page
// whose bearer ran out asks for many things, and then one a second.
const (
	guessBurst = 60
	guessEvery = rate.Limit(1)
)

// unknown answers a caller whose credential is not valid. Such calls are counted, and beyond a rate the
// answer is 429, which tells a guesser nothing. A valid credential never comes here.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, credential string, err error) {
	if credential == "" || !errors.Is(err, auth.ErrUnauthenticated) {
		s.fail(w, r, err)
		return
	}
	s.metrics.unknown.Inc()
	if s.guesses.Allow() {
		s.fail(w, r, err)
		return
	}
	if now := time.Now().Unix(); now-s.warned.Swap(now) > 60 { // once for a series of them
		s.log.Warn("many wrong credentials are presented; they get 429", zap.String("last from", line(r.RemoteAddr)))
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(1/guessEvery)))
	writeProblem(w, problem{Status: http.StatusTooManyRequests, Detail: "too many wrong credentials; a good one is taken at any time"})
}
