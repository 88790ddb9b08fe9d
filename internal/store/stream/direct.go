package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// batchGet asks for several messages of a stream at once: those with a sequence from Seq on, Batch
// of them at most, of Subject alone if it is set. See NATS' ADR-31.
type batchGet struct {
	Seq      uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"` // of one answer; getBatches sets it and asks for the rest
	Subject  string `json:"next_by_subj,omitempty"`
}

const (
	// getsAtOnce bounds the questions under way, and with batchBytes the answers that nobody has
	// read yet.
	getsAtOnce = 16
	batchBytes = 256 << 10

	statusEnd      = "204" // of a batch
	statusNotFound = "404"
	pendingHeader  = "Nats-Num-Pending" // how many messages there are beyond the batch
)

// getBatches asks all of gets and calls each with the messages of every answer, which keep their
// order: those of question i. The questions travel together: what they cost is not the time of
// a round trip each. Any replica answers, on a cluster perhaps one that is a moment behind.
func (e *engine) getBatches(ctx context.Context, stream string, gets []batchGet, each func(i int, m rawMessage)) error {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	session := e.currentSession()
	defer context.AfterFunc(session, cancel)()
	inbox := e.nc.NewInbox()
	sub, err := e.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return e.unavailable(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := sub.SetPendingLimits(-1, -1); err != nil { // bounded by what is asked for at once
		return e.unavailable(err)
	}
	left := slices.Clone(gets)
	ask := func(i int) error {
		left[i].MaxBytes = batchBytes
		text, err := json.Marshal(left[i])
		if err == nil {
			err = e.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox+"."+strconv.Itoa(i), text)
		}
		return err
	}
	asked := 0
	for ended := 0; ended < len(gets); {
		for ; asked < len(gets) && asked-ended < getsAtOnce; asked++ {
			if err := ask(asked); err != nil {
				return e.unavailable(err)
			}
		}
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return e.unavailable(err)
		}
		i, err := strconv.Atoi(m.Subject[len(inbox)+1:])
		if err != nil || i < 0 || i >= asked {
			continue // of nobody
		}
		switch status := m.Header.Get("Status"); status {
		case statusNotFound:
			ended++
		case statusEnd:
			if m.Header.Get(pendingHeader) == "0" || left[i].Batch <= 0 {
				ended++
			} else if err := ask(i); err != nil { // there was more than one answer may hold
				return e.unavailable(err)
			}
		case "":
			seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
			if err != nil {
				return e.unavailable(fmt.Errorf("answer of the server: sequence: %w", err))
			}
			left[i].Seq, left[i].Batch = seq+1, left[i].Batch-1
			got := rawMessage{seq: seq, subject: m.Header.Get(jetstream.SubjectHeader), header: m.Header, body: m.Data}
			if e.enter != nil {
				if err := e.enter(ctx, stream, got); err != nil {
					return e.unavailable(err)
				}
			}
			each(i, got)
		default:
			return e.unavailable(errors.New("answer of the server: status " + status + " " + m.Header.Get("Description")))
		}
	}
	return nil
}
