package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
)

const (
	// maxWalk bounds how many messages Ended looks at, and endedTimeout how long it takes.
	maxWalk      = 50_000
	endedTimeout = 10 * time.Second
	// walkAtLeast and walkAtMost are the bounds of one step down the stream, in messages.
	walkAtLeast, walkAtMost = 64, 4096
)

// Ended implements broker.Log. It walks down the stream and looks at maxWalk messages at
// most: behind so many that settle nothing it returns what it has.
func (s *Stream) Ended(ctx context.Context, before uint64, limit int) ([][]hook.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	page, err := s.settledBefore(ctx, before, limit)
	if err == nil {
		err = s.completeRecords(ctx, page)
	}
	if err != nil {
		return nil, fmt.Errorf("ended requests: %w", err)
	}
	ended := make([][]hook.Record, len(page))
	for i, x := range page {
		ended[i] = x.records
	}
	return ended, nil
}

// endedRequest is a request that is over.
type endedRequest struct {
	id       string
	records  []hook.Record // those that were met on the walk, oldest first
	complete bool          // there are no others that say more
	top      bool          // settled in the walk's first step
}

// settledBefore returns up to limit requests that were settled by a record before the sequence
// before, the last one first.
func (s *Stream) settledBefore(ctx context.Context, before uint64, limit int) ([]*endedRequest, error) {
	last, err := s.record.newest(ctx, RecordStream, recordSubjects)
	if err != nil {
		return nil, err
	}
	first, err := s.record.firstMessage(ctx, RecordStream, recordSubjects, 0)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	newest := before == 0 || before > last
	if newest {
		before = last + 1
	}
	var page []*endedRequest
	known := map[string]*endedRequest{}
	for walked := uint64(0); before > first.seq && len(page) < limit && walked < maxWalk; {
		// Three or four records a request are usual; one step is usually enough.
		step := min(max(uint64(4*(limit-len(page))), walkAtLeast), walkAtMost, before-first.seq, maxWalk-walked)
		var met []hook.Record
		get := batchGet{Seq: before - step, Batch: int(step)}
		err := s.record.getBatches(ctx, RecordStream, []batchGet{get}, func(_ int, m rawMessage) {
			// Behind those of the step come others where messages were removed: forgotten sessions.
			if m.seq < before {
				if rec, err := messageRecord(m.header, m.body, m.seq); err == nil && hook.PlainToken(rec.RequestID) {
					met = append(met, rec)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for _, rec := range slices.Backward(met) {
			if settles(rec) && len(page) < limit && known[rec.RequestID] == nil {
				x := &endedRequest{id: rec.RequestID, top: walked == 0}
				page, known[x.id] = append(page, x), x
			}
		}
		for _, rec := range slices.Backward(met) { // notes come behind what settles
			if x := known[rec.RequestID]; x != nil {
				x.records = append(x.records, rec)
			}
		}
		before -= step
		walked += step
	}
	for _, x := range page {
		slices.Reverse(x.records)
		// From asked to the end of the step that found it nothing is missing, and behind proof comes
		// nothing that matters.
		x.complete = x.records[0].Step == hook.StepAsked && (newest && x.top || slices.ContainsFunc(x.records, proves))
	}
	return page, nil
}

func settles(rec hook.Record) bool { return rec.Step == hook.StepDecided || rec.Step == hook.StepEnded }

func proves(rec hook.Record) bool {
	return rec.Step == hook.StepRefused || rec.Step == hook.StepConfirmed || rec.Step == hook.StepOverruled
}

// completeRecords reads the records of those requests that are not complete. A message that is no
// record is logged and passed over, as Records does.
func (s *Stream) completeRecords(ctx context.Context, page []*endedRequest) error {
	var gets []batchGet
	var of []*endedRequest
	for _, x := range page {
		if !x.complete {
			x.records = nil
			gets, of = append(gets, batchGet{Seq: 1, Batch: maxRecords, Subject: recordSubject(x.id)}), append(of, x)
		}
	}
	return s.record.getBatches(ctx, RecordStream, gets, func(i int, m rawMessage) {
		rec, err := messageRecord(m.header, m.body, m.seq)
		if err != nil {
			s.logf("records of %s: passing over a message: %v", of[i].id, err)
			return
		}
		of[i].records = append(of[i].records, rec)
	})
}
