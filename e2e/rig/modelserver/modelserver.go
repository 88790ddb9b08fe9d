// Package modelserver is a small server of the Anthropic Messages API for tests: it plays the
// model, by a script, so that a real agent can be driven without a network, a key or chance.
//
// The script travels in the prompt. The newest user text that holds
//
//	STEPS64=<base64 of [[{"name":…,"input":…},…],…]>
//
// says which tools the model calls: the outer list are its turns, the inner lists the calls it
// makes in one turn. TOOL=<Name> picks a script that the server was given by name, and no name at
// all the one that is named "". A turn is over when its tool results come back; after the last one the model says "MODEL-DONE". Two
// texts in an input are replaced: {{planFile}} by the plan file that the client named in the
// conversation.
//
// The same server answers as a forward proxy, and refuses: a client started with it as its
// HTTPS_PROXY cannot leave the machine, and Refused tells where it wanted to go.
//
// # Concurrency
//
// Every method may be called from any goroutine. Handlers run on net/http's goroutines; Close
// waits for them.
package modelserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Done is what the model says when its script is over.
const Done = "MODEL-DONE"

// maxBody bounds a request of the client, in bytes. The largest seen in tests is 300 kB.
const maxBody = 64 << 20

// Use is one call of a tool.
type Use struct {
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// Prompt returns a user text that makes the model take these turns.
func Prompt(turns ...[]Use) string {
	b, err := json.Marshal(turns)
	if err != nil {
		panic(fmt.Sprintf("modelserver: a script must be JSON: %v", err)) // a bug in the test
	}
	return "STEPS64=" + base64.StdEncoding.EncodeToString(b)
}

// Call is one request to the model, and what the script made of it.
type Call struct {
	Time   time.Time
	Model  string
	Stream bool
	// Body is the request as it came.
	Body []byte
	// Turn is the index of the script's turn that was played, or -1 when the answer was text.
	Turn int
	// Done is true for the request after the last turn.
	Done bool
	// Uses are the tools that the model called.
	Uses []string
	// Results are the tool results since the model last spoke, in order: exactly what it would
	// read.
	Results []Result
}

// Result is a tool result as the model gets it.
type Result struct {
	Tool    string // name of the tool whose result this is
	Content string // its text; text blocks are joined by a newline
	IsError bool
}

// Server is a running model server.
type Server struct {
	http    *http.Server
	addr    string
	scripts map[string][][]Use
	served  chan struct{}

	mu      sync.Mutex
	calls   []Call        // guarded by mu
	slim    bool          // guarded by mu
	refused []string      // guarded by mu
	tokens  int           // guarded by mu; see Costs; zero: few
	words   string        // guarded by mu; see On
	turns   [][]Use       // guarded by mu
	changed chan struct{} // guarded by mu; closed and replaced at every change
}

// On has the model take these turns at a prompt that holds words and no script, because the test does not write it.
func (s *Server) On(words string, turns ...[]Use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words, s.turns = words, turns
}

// Costs has each answer say that it has so many tokens.
func (s *Server) Costs(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = tokens
}

func (s *Server) answerTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.tokens, 20)
}

// Start listens on a free loopback port. scripts are the ones TOOL= may name; nil is none.
// The caller must Close the server.
func Start(scripts map[string][][]Use) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	s := &Server{
		addr:    l.Addr().String(),
		scripts: scripts,
		served:  make(chan struct{}),
		changed: make(chan struct{}),
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ErrServerClosed after Close
	}()
	return s, nil
}

// URL is the base URL for the client.
func (s *Server) URL() string { return "http://" + s.addr }

// Close stops the server at once.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// Calls returns the requests so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Refused returns the "host:port" or URLs the client wanted beyond this server.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refused...)
}

// Wait returns the first call that match accepts, waiting for it until ctx is done.
func (s *Server) Wait(ctx context.Context, match func(Call) bool) (Call, error) {
	seen := 0
	for {
		s.mu.Lock()
		calls, changed := s.calls, s.changed
		s.mu.Unlock()
		for ; seen < len(calls); seen++ {
			if match(calls[seen]) {
				return calls[seen], nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Call{}, fmt.Errorf("wait for the model to be asked (%d calls so far): %w", seen, ctx.Err())
		}
	}
}

// Results returns every tool result that the model has read, oldest first. The client repeats
// its whole conversation in every request, so only what is new in each is counted.
func (s *Server) Results() []Result {
	var all []Result
	for _, c := range s.Calls() {
		all = append(all, c.Results...)
	}
	return all
}

// Slim has the bodies of calls forgotten from now on: a test of thousands need not hold them all.
func (s *Server) Slim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slim = true
}

func (s *Server) record(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slim {
		c.Body = nil
	}
	s.calls = append(s.calls, c)
	s.notifyLocked()
}

func (s *Server) refuse(where string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, where)
	s.notifyLocked()
}

func (s *Server) notifyLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP answers the client. It is exported for tests that bring their own listener.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		where := r.Host
		if r.URL.IsAbs() {
			where = r.URL.String()
		}
		s.refuse(where)
		http.Error(w, "this test has no network", http.StatusForbidden)
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		s.messages(w, r)
	case r.URL.Path == "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 100})
	case strings.HasPrefix(r.URL.Path, "/v1/models"):
		writeJSON(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false, "first_id": nil, "last_id": nil})
	case r.URL.Path == "/":
		w.WriteHeader(http.StatusOK)
	default:
		writeError(w, http.StatusNotFound, "not_found_error", "no such route")
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, "request_too_large", err.Error())
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	turn := s.play(req, body)
	turn.tokens = s.answerTokens()
	call := turn.call
	call.Time, call.Model, call.Stream, call.Body = time.Now(), req.Model, req.Stream, body
	call.Results = req.lastResults()
	s.record(call)
	writeMessage(w, req, turn)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: its own affair
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}})
}
