package stream

import (
	"errors"
	"time"
)

// errSilent ends a write that the engine left without an acknowledgement.
var errSilent = errors.New("no acknowledgement of anything in time")

// patience is how long the engine may acknowledge nothing.
func (e *engine) patience() time.Duration {
	if e.dir == "" {
		return clusterTimeout
	}
	return writeTimeout
}

// silence is how long an engine has sent nothing. It is checked every silenceStep, and a check that
// comes late counts no more than twice that: while the machine was held up, or asleep, this process
// did not run either, nor did an embedded engine in it.
type silence struct {
	lastLook time.Time
	lasted   time.Duration
}

const silenceStep = writeTimeout / 10

// look returns how long the silence has lasted. heard is when the engine last sent something.
func (s *silence) look(now, heard time.Time) time.Duration {
	since := s.lastLook
	if !heard.Before(since) {
		since, s.lasted = heard, 0
	}
	s.lasted += min(now.Sub(since), 2*silenceStep)
	s.lastLook = now
	return s.lasted
}

// untilSilent calls giveUp when the engine has acknowledged no write for its patience.
func (e *engine) untilSilent(giveUp func(error)) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, patience := silence{lastLook: time.Now()}, e.patience()
	var t *time.Timer // guarded by mu, as over
	over := false
	t = time.AfterFunc(silenceStep, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if over {
			return
		}
		if left := patience - s.look(time.Now(), e.lastAck); left > 0 {
			t.Reset(min(left, silenceStep))
			return
		}
		giveUp(errSilent)
	})
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		over = true
		t.Stop()
	}
}
