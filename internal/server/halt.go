package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/hook"
)

var errNoHalt = errors.New("this broker cannot stop or pause everything")

const (
	// stopTime bounds a stop: its record, answers by rules that are on their way, and the denials.
	stopTime = 50 * time.Second
	// denials is how many requests a stop denies at a time: the record takes them together.
	denials = 32
)

// getHalt is GET /v1/stop and GET /v1/pause.
func (s *Server) getHalt(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.halt())
}

// halt is how it stands now.
func (s *Server) halt() api.Halt {
	if s.cfg.Halt == nil {
		return api.Halt{Acts: []hook.HaltAct{}}
	}
	return haltView(s.cfg.Halt.State())
}

func haltView(h hook.Halt) api.Halt {
	return api.Halt{Revision: h.Revision, Stopped: h.Stopped(), Paused: h.Paused(time.Now()), Acts: listOf(h.Acts)}
}

// stopAll is POST /v1/stop {revision?, signature?}: from the moment it answers 200, no rule and no grant
// allows anything, and what waited is denied in the caller's name. A device must have signed it, on
// the revision that it saw.
func (s *Server) stopAll(w http.ResponseWriter, r *http.Request) {
	act, basis, ok := s.readHalt(w, r, hook.HaltStop)
	if !ok {
		return
	}
	end, ok := s.begin(w, r) // what it denies carries its signature
	if !ok {
		return
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), stopTime)
	defer cancel()
	state, err := s.cfg.Halt.Do(ctx, act, basis)
	if state.Stopped() == nil && err != nil {
		s.fail(w, r, err)
		return
	}
	// It is in force, recorded or not: so what waits is denied.
	// In time of its own: a rule's answer that is never read may have used up the other.
	denying, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), stopTime)
	defer cancel()
	denied, left := s.denyAll(denying, act)
	s.log.Warn("everything was stopped", zap.String("kind", act.By.Kind), zap.String("by", line(act.By.Name)), zap.Int("denied", denied), zap.Int("left", left))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, http.StatusOK, api.StopResult{Halt: haltView(state), Denied: denied, Left: left})
}

// denyAll denies what waits, and says how many requests were denied and how many could not be.
func (s *Server) denyAll(ctx context.Context, act hook.HaltAct) (denied, left int) {
	recorded, cancel := context.WithCancel(ctx)
	cancel() // that a denial is delivered is not waited for
	words := "Stopped by " + act.By.Who() + ". All agents are stopped: do not go on, and do not try this another way, until the user says so."
	var wg sync.WaitGroup
	var yes, no atomic.Int64
	turns := make(chan struct{}, denials)
	for _, v := range s.cfg.Broker.Pending() {
		if ctx.Err() != nil {
			no.Add(1)
			continue
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			switch err := s.denyOne(recorded, act, &v.Request, words); {
			case err == nil:
				yes.Add(1)
				s.metrics.decision(act.By.Kind)
			case errors.Is(err, broker.ErrSettled): // somebody was quicker
			default:
				no.Add(1)
				s.log.Warn("a stop could not deny a request", zap.String("id", v.ID), zap.String("error", line(err.Error())))
			}
		})
	}
	wg.Wait()
	return int(yes.Load()), int(no.Load())
}

func (s *Server) denyOne(ctx context.Context, act hook.HaltAct, req *hook.Request, words string) error {
	d := auth.Denial(act, req.InputSHA256, words)
	if agents.Check(d, req) != nil {
		d.Message = "" // an MCP server takes no words
	}
	_, err := s.cfg.Broker.Decide(ctx, req.ID, d, act.By)
	return err
}

// haltAct is DELETE /v1/stop, POST /v1/pause {seconds, …} and DELETE /v1/pause.
func (s *Server) haltAct(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		act, basis, ok := s.readHalt(w, r, kind)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decisionTime)
		defer cancel()
		state, err := s.cfg.Halt.Do(ctx, act, basis)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.log.Warn(map[string]string{
			hook.HaltLift: "the stop was lifted", hook.HaltPause: "everything was paused", hook.HaltResume: "the pause was ended",
		}[kind], zap.String("kind", act.By.Kind), zap.String("by", line(act.By.Name)), zap.Int("seconds", act.Seconds))
		s.writeJSON(w, r, http.StatusOK, haltView(state))
	}
}

// readHalt reads an act, vouched for. basis is the revision that it was taken on, nil if the caller does
// not say; a device must.
func (s *Server) readHalt(w http.ResponseWriter, r *http.Request, kind string) (act hook.HaltAct, basis *uint64, ok bool) {
	act.Act = kind
	revision, seconds := int64(-1), int64(0)
	schema, fields := "NewStop", map[string]any{"revision": &revision, "signature": &act.Signature}
	if kind == hook.HaltPause {
		schema, fields["seconds"] = "NewPause", &seconds
	}
	if !s.readObject(w, r, schema, fields, func() (errs []*hook.FieldError) {
		longest := int64(hook.MaxPause / time.Second)
		if kind == hook.HaltPause && (seconds < 1 || seconds > longest) {
			errs = append(errs, hook.BadField("seconds", fmt.Sprintf("want 1 to %d", longest)))
		}
		return errs
	}) {
		return act, nil, false
	}
	act.Seconds = int(seconds)
	if revision >= 0 {
		act.Basis = uint64(revision)
		basis = &act.Basis
	}
	if s.cfg.Halt == nil {
		s.fail(w, r, errNoHalt)
		return act, nil, false
	}
	by := principal(r)
	act, err := by.VouchHalt(act)
	if err == nil && act.PublicKey != nil && basis == nil {
		err = by.Unsigned() // it holds for one state only
	}
	if err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused to "+kind+" everything: its device did not sign that",
			zap.String("device", by.Approver.ID), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return act, nil, false
	}
	return act, basis, true
}

// HaltChanged says that Config.Halt has news.
func (s *Server) HaltChanged() {
	if s.cfg.Messages != nil {
		s.cfg.Messages.Wake() // what waits for a live session is refused
	}
	s.haltNews.tell()
}

// sendHalt says whether everything is stopped or paused, if the client has not heard it. sent is the
// revision of what it was sent last. It returns a context that is done when there is more.
func (s *Server) sendHalt(out *socketWriter, sent *haltSent) (context.Context, error) {
	next := s.haltNews.change()
	h := s.halt()
	state := haltSent{h.Revision, h.Stopped != nil, h.Paused != nil}
	if state == *sent || *sent == (haltSent{}) && !state.stopped && !state.paused {
		return next, nil
	}
	*sent = state
	m, err := json.Marshal(api.HaltMessage{Type: api.MessageHalt, Halt: h})
	if err != nil {
		return next, fmt.Errorf("encode what is stopped: %w", err)
	}
	return next, out.message(m)
}

// haltSent is what a client was sent last.
type haltSent struct {
	revision        uint64
	stopped, paused bool
}
