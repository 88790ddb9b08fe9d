package halt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"assent/internal/hook"
)

// errOvertaken: whenever it was looked at, another broker had done something.
var errOvertaken = errors.New("other brokers stop, lift or pause all the time")

// Do takes an act, of which Act, By and, of a pause, Seconds are filled in, and for a device what it
// signed. It is in force, and recorded, when Do returns the state without an error; of a stop, no rule
// and no grant allows anything from then on. What is as the act wants it already stays as it is.
//
// basis, unless nil, is the revision that the approver acted on: ErrChanged if there was news since.
// ErrStopped: a pause while everything is stopped. ErrUnavailable: not recorded, and not in force,
// but ErrUnrecorded of a stop, which is in force here and is recorded as soon as that works, and ErrBusy,
// see there.
func (s *Store) Do(ctx context.Context, act hook.HaltAct, basis *uint64) (hook.Halt, error) {
	if act.Act == hook.HaltStop {
		s.mu.Lock()
		s.stopping++ // from here on no rule begins to allow
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.stopping--
			s.mu.Unlock()
		}()
	}
	act.At = time.Now().UTC()
	if act.Act == hook.HaltPause {
		act.Until = act.At.Add(time.Duration(act.Seconds) * time.Second)
	}
	err := s.recordInTurn(ctx, act, basis)
	if act.Act != hook.HaltStop || errors.Is(err, ErrChanged) {
		return s.State(), err
	}
	if err != nil {
		s.cfg.Logf("a stop could not be recorded; it holds at this broker, and is tried again: %v", err)
		s.hold(act)
		err = fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return s.State(), errors.Join(err, s.drain(ctx))
}

// hold has a stop hold here until it is recorded. One that is to be recorded already is enough.
func (s *Store) hold(act hook.HaltAct) {
	s.mu.Lock()
	if s.own == nil || s.own.unreadable {
		s.own = &ownStop{act: act}
	}
	s.mu.Unlock()
	select {
	case s.owed <- struct{}{}:
	default:
	}
	s.news.Tell()
}

// recordInTurn is record, one at a time: else a stop that is tried again could undo its own lift.
func (s *Store) recordInTurn(ctx context.Context, act hook.HaltAct, basis *uint64) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return s.record(ctx, act, basis)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// record writes act behind those that are there, unless the state is already what it wants. Before it
// goes a stop that could not be recorded until now, so that the record tells what a lift lifted.
func (s *Store) record(ctx context.Context, act hook.HaltAct, basis *uint64) error {
	var last error
	for range attempts {
		s.mu.Lock()
		have, here, own := s.state, s.stateLocked(), s.own
		s.mu.Unlock()
		if act.Signature == "" { // else it is part of what was signed
			act.Basis = have.Revision
		}
		if basis != nil && *basis != have.Revision {
			return ErrChanged
		}
		owed := own != nil && !own.unreadable // it goes before act, or is act
		switch {
		case act.Act == hook.HaltPause && here.Stopped() != nil:
			return ErrStopped
		case act.Act == hook.HaltStop && have.Stopped() != nil && !owed,
			act.Act == hook.HaltLift && here.Stopped() == nil,
			act.Act == hook.HaltResume && here.Paused(act.At) == nil:
			newer, err := s.newer(ctx, have.Revision)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			if !newer {
				return nil
			}
			last = errOvertaken
			continue
		}
		acts := slices.Clone(have.Acts)
		if owed && !contains([]hook.HaltAct{act}, own.act) {
			acts = append(acts, own.act)
		}
		acts = append(acts, act)
		acts = acts[max(0, len(acts)-maxActs):]
		value, err := json.Marshal(document{Acts: acts})
		if err != nil {
			return fmt.Errorf("encode what is stopped: %w", err)
		}
		var rev uint64
		if have.Revision == 0 {
			rev, err = s.cfg.KV.Create(ctx, key, value)
		} else {
			rev, err = s.cfg.KV.Update(ctx, key, value, have.Revision)
		}
		if err == nil {
			s.kv.Offer(key, value, rev)
			return nil
		}
		last = err
		// Somebody else may have been first, or it was written all the same.
		value, rev, err = s.cfg.KV.Get(ctx, key)
		if err != nil {
			break
		}
		s.kv.Offer(key, value, rev)
		if doc, err := decode(value); err == nil && contains(doc.Acts, act) {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, last)
}

// newer reports whether another broker has done something that this one had not heard of: what seems to be
// done already may have been undone. It is heard of now.
func (s *Store) newer(ctx context.Context, than uint64) (bool, error) {
	if !s.cfg.Shared {
		return false, nil
	}
	value, rev, err := s.cfg.KV.Get(ctx, key)
	if err != nil {
		return false, err
	}
	s.kv.Offer(key, value, rev)
	return rev != than, nil
}
