package stream

import (
	"errors"
	"time"
)

// errSilent ends a write that the engine left without an acknowledgement.
var errSilent = errors.New("no acknowledgement of anything in time")

const (
	// slowFactor times the longest silence that ended well is how long the next one may last, and longestPatience
	// bounds it.
	slowFactor      = 3
	longestPatience = 30 * time.Second
	// slowMemory is for how long at least, and twice that at most, a silence is remembered.
	slowMemory = 5 * time.Minute
	// slowestDisk is how many bytes in a second any disk is expected to take. Within writeTimeout one that is slower than
	// it looks, or a machine that is busy, may not take the largest event; who gave it up would never see it recorded,
	// however often it came.
	slowestDisk = 1 << 20
	// silencePasses is how long a silence of the embedded engine counts as one that will pass: its disk has complained
	// of nothing, and may be slow.
	silencePasses = 5 * time.Second
)

// slowness remembers the longest silence of an engine that ended with an acknowledgement. A disk that takes two
// seconds for an fsync is slow and not broken, and is waited for once it has shown that.
type slowness struct {
	now, before time.Duration // the longest of the current span of slowMemory, and of the one before
	since       time.Time     // when the current span began
}

// shown notes a silence that ended well at a time.
func (s *slowness) shown(silence time.Duration, at time.Time) {
	s.turn(at)
	s.now = max(s.now, silence)
}

// longest is the longest silence that is remembered at a time.
func (s *slowness) longest(at time.Time) time.Duration {
	s.turn(at)
	return max(s.now, s.before)
}

func (s *slowness) turn(at time.Time) {
	switch since := at.Sub(s.since); {
	case since >= 2*slowMemory:
		s.now, s.before, s.since = 0, 0, at
	case since >= slowMemory:
		s.now, s.before, s.since = 0, s.now, at
	}
}

// patience is how long the engine may acknowledge nothing.
func (e *engine) patience() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.patienceLocked()
}

func (e *engine) patienceLocked() time.Duration {
	least := writeTimeout
	if e.dir == "" {
		least = clusterTimeout
	}
	return max(least, e.learnedLocked())
}

// sizeTimeLocked is how long the engine may be silent for the size of what is under way: the largest of that may be what
// all the others wait for.
func (e *engine) sizeTimeLocked() time.Duration {
	largest := 0
	for size := range e.underWay {
		largest = max(largest, size)
	}
	return timeForSize(largest)
}

// timeForSize is how long the slowest disk takes for so many bytes.
func timeForSize(size int) time.Duration { return time.Duration(size) * time.Second / slowestDisk }

// learnedLocked is how long what the engine has shown lets it be silent.
func (e *engine) learnedLocked() time.Duration {
	return min(slowFactor*e.slow.longest(time.Now()), longestPatience)
}

// answerTime bounds a read that the server should answer at once. Behind a write to a slow disk it waits.
func (e *engine) answerTime() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(readTimeout, e.learnedLocked())
}

// passes reports whether the engine, which does not work now, is likely to do so soon by itself: a cluster that chooses a
// leader or is out of reach, or a disk that is being slow.
func (e *engine) passes() bool {
	if e.dir == "" {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.mustStart && !e.silentSince.IsZero() && time.Since(e.silentSince) < max(silencePasses, e.patienceLocked())
}

// runningTime calls f and returns how long it took, without the time in which the machine was held up.
func runningTime(f func()) time.Duration {
	s, tick, done := silence{lastLook: time.Now()}, time.NewTicker(silenceStep), make(chan struct{})
	defer tick.Stop()
	go func() {
		defer close(done)
		f()
	}()
	for {
		select {
		case <-tick.C:
			s.look(time.Now(), time.Time{})
		case <-done:
			return s.look(time.Now(), time.Time{})
		}
	}
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

// untilSilent calls giveUp when the engine has acknowledged no write for its patience, one of about size bytes being
// under way. stop says whether that was acknowledged.
func (e *engine) untilSilent(size int, giveUp func(error)) (stop func(acknowledged bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.underWay[size]++
	s := silence{lastLook: time.Now()}
	var t *time.Timer // guarded by mu, as over
	over := false
	t = time.AfterFunc(silenceStep, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if over {
			return
		}
		// What another write has shown meanwhile counts for this one, too.
		if left := e.patienceLocked() + e.sizeTimeLocked() - s.look(time.Now(), e.lastAck); left > 0 {
			t.Reset(min(left, silenceStep))
			return
		}
		giveUp(errSilent)
	})
	return func(acknowledged bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		over = true
		t.Stop()
		forSize := e.sizeTimeLocked()
		if e.underWay[size]--; e.underWay[size] == 0 {
			delete(e.underWay, size)
		}
		if acknowledged {
			now := time.Now()
			e.slow.shown(s.look(now, e.lastAck)-forSize, now)
			e.unproven, e.lastAck, e.silentSince = false, now, time.Time{}
		}
	}
}
