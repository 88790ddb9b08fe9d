package relay

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"assent/internal/relay/tunnel"
)

// broker is one that is connected.
type broker struct {
	name    string
	hash    string // of its token
	session *tunnel.Session
	rate    *rate.Limiter

	// Guarded by Server.mu.
	open     int                  // connections that are relayed to it
	bySource map[netip.Prefix]int // of them
	checking bool                 // another one wants its name: is this one still there?
}

// broker finds who owns a label; nil: nobody who is connected.
func (s *Server) broker(label string) *broker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.brokers[label]; b != nil && b.session != nil {
		return b
	}
	return nil
}

// takeBroker is GET Path: a broker connects. It stays for as long as its session does.
func (s *Server) takeBroker(w http.ResponseWriter, r *http.Request) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token, err := tunnel.ParseToken(text)
	if err != nil || !strings.EqualFold(scheme, "Bearer") || !s.knows(token) {
		s.counts.token.Add(1)
		w.Header().Set("Connection", "close")
		http.Error(w, "unknown token", http.StatusUnauthorized)
		return
	}
	if !s.grow() {
		return
	}
	defer s.connection.Done()
	b := s.reserve(token)
	if b == nil {
		s.counts.second.Add(1)
		w.Header().Set("Connection", "close")
		http.Error(w, "another broker is connected with this token", http.StatusConflict)
		return
	}
	defer s.release(b)
	session, err := tunnel.Upgrade(w, r)
	if err != nil {
		return
	}
	defer func() { _ = session.Close() }()
	if v, ok := r.Context().Value(visitorKey{}).(*visitor); ok {
		v.leave() // it has shown what it is for
	}
	s.mu.Lock()
	b.session = session
	s.mu.Unlock()
	s.cfg.Logf("the broker %s is connected, from %s", b.name, r.RemoteAddr)
	select {
	case <-session.CloseChan():
		s.cfg.Logf("the broker %s is gone", b.name)
	case <-s.ctx.Done():
	}
}

// knows looks again into a file of tokens that has changed: this one may be new.
func (s *Server) knows(t tunnel.Token) bool {
	if s.has(t) {
		return true
	}
	return s.readTokens() == nil && s.has(t) // what is wrong with the file, watchTokens says
}

func (s *Server) has(t tunnel.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens.has(t)
}

// reserve gives a broker its name, or returns nil: another one has it and is there. One that does not answer
// is closed, for it may have lost its connection without the relay knowing.
func (s *Server) reserve(t tunnel.Token) *broker {
	fresh := &broker{
		name: t.Name, hash: t.Hash(), bySource: map[netip.Prefix]int{},
		rate: rate.NewLimiter(rate.Limit(s.cfg.Limits.Rate), max(s.cfg.Limits.Rate, copySize)),
	}
	s.mu.Lock()
	old := s.brokers[t.Name]
	if old == nil {
		s.brokers[t.Name] = fresh
		s.mu.Unlock()
		return fresh
	}
	if old.session == nil || old.checking {
		s.mu.Unlock()
		return nil
	}
	old.checking = true
	s.mu.Unlock()

	_, err := old.session.Ping()

	s.mu.Lock()
	defer s.mu.Unlock()
	old.checking = false
	if err == nil {
		return nil
	}
	go old.session.Close() // it waits for writes, which have a deadline
	if now := s.brokers[t.Name]; now != nil && now != old {
		return nil
	}
	s.brokers[t.Name] = fresh
	return fresh
}

// release gives the name back, unless another one has it by now.
func (s *Server) release(b *broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.brokers[b.name] == b {
		delete(s.brokers, b.name)
	}
}

// fileState tells whether a file has changed.
type fileState struct {
	at   time.Time
	size int64
}

// readTokens reads the file of tokens if it has changed.
func (s *Server) readTokens() error {
	var now fileState
	if fi, err := os.Stat(s.cfg.Tokens); err == nil {
		now = fileState{fi.ModTime(), fi.Size()}
	}
	s.mu.Lock()
	same := s.tokens != nil && now == s.seen
	s.mu.Unlock()
	if same {
		return nil
	}
	ts, err := readTokens(s.cfg.Tokens)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	s.tokens, s.seen = ts, now
	return nil
}

// watchTokens closes the connections of brokers whose token is no longer there.
func (s *Server) watchTokens(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := s.readTokens(); err != nil {
			if said != err.Error() {
				s.cfg.Logf("%v; the tokens that were read before are still in force", err)
				said = err.Error()
			}
			continue
		}
		said = ""
		for _, b := range s.revoked() {
			s.cfg.Logf("the broker %s has no valid token any more", b.name)
			_ = b.session.Close()
		}
	}
}

func (s *Server) revoked() (list []*broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, b := range s.brokers {
		if b.session != nil && s.tokens[name] != b.hash {
			list = append(list, b)
		}
	}
	return list
}
