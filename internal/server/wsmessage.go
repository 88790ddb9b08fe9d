package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"assent/broker"
)

// sendBatch sends one snapshot or some changes (schema ws/Message). It writes JSON by hand
// around objects that are encoded once for all clients. sent is the last change of the session index
// that the client was sent; a snapshot has later ones.
func (s *Server) sendBatch(out *socketWriter, epoch string, b broker.Batch, sent *uint64) error {
	if b.Snapshot != nil {
		m, err := s.snapshot(b.Snapshot)
		if err != nil {
			return err
		}
		if err := out.message(m.json); err != nil {
			return err
		}
		*sent = m.sent
	}
	if len(b.Changes) == 0 {
		return nil
	}
	s.snap.outdate(b.Changes[len(b.Changes)-1].Seq)
	return out.message(s.cfg.Views.changesMessage(epoch, b.Changes)...)
}

// changesMessage returns the parts of a changes message.
func (l Views) changesMessage(epoch string, changes []*broker.Change) [][]byte {
	last := changes[len(changes)-1].Seq
	parts := make([][]byte, 0, 6*len(changes)+2)
	parts = append(parts, fmt.Appendf(nil, `{"type":"changes","epoch":%s,"seq":%d,"changes":[`, quoted(epoch), last))
	for i, c := range changes {
		head := make([]byte, 0, 48)
		if i > 0 {
			head = append(head, ',')
		}
		head = append(head, `{"seq":`...)
		head = strconv.AppendUint(head, c.Seq, 10)
		head = append(head, `,"request":`...)
		body := c.JSON()
		if body == nil { // the broker was made without Encode
			body = encodePart(c.View, Views{})
		}
		parts = append(parts, head)
		parts = append(parts, l.besides(&c.View, body)...)
		parts = append(parts, []byte{'}'})
	}
	return append(parts, []byte("]}"))
}

// snapshotCache holds the newest snapshot message, so that clients who come together cost one
// encoding: memory for one message, until the next.
type snapshotCache struct {
	mu    sync.Mutex
	epoch string                           // guarded by mu
	seq   uint64                           // guarded by mu
	make  func() (*snapshotMessage, error) // guarded by mu; runs once, outside of it
}

// outdate lets go of a snapshot from before the change seq: it may hold the context of a request that has
// ended since.
func (c *snapshotCache) outdate(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seq < seq {
		c.make = nil
	}
}

// snapshotMessage is a snapshot as it is sent. Its sessions are those of the index after the change
// sent.
type snapshotMessage struct {
	json []byte
	sent uint64
}

func (s *Server) snapshot(snap *broker.Snapshot) (*snapshotMessage, error) {
	c := &s.snap
	c.mu.Lock()
	if c.make == nil || c.epoch != snap.Epoch || c.seq != snap.Seq {
		c.epoch, c.seq = snap.Epoch, snap.Seq
		c.make = sync.OnceValues(func() (*snapshotMessage, error) { return s.encodeSnapshot(snap) })
	}
	message := c.make
	c.mu.Unlock()
	return message()
}

func (s *Server) encodeSnapshot(snap *broker.Snapshot) (*snapshotMessage, error) {
	sessions, sent, err := s.indexedOrLive()
	if err != nil {
		return nil, fmt.Errorf("encode sessions: %w", err)
	}
	m := fmt.Appendf(nil, `{"type":"snapshot","epoch":%s,"seq":%d,"requests":[`, quoted(snap.Epoch), snap.Seq)
	for i, v := range snap.Pending {
		if i > 0 {
			m = append(m, ',')
		}
		m = append(m, s.cfg.Views.encodeListed(&v)...)
	}
	m = append(m, `],"sessions":[`...)
	m = append(m, bytes.Join(sessions, []byte{','})...)
	return &snapshotMessage{append(m, "]}"...), sent}, nil
}

// indexedOrLive are the sessions of the index, and those that only the broker knows so far.
func (s *Server) indexedOrLive() (docs [][]byte, last uint64, err error) {
	docs, last, _ = s.index.since(0)
	live, order := s.live()
	if len(docs) > 0 {
		s.index.without(live)
	}
	queues := s.queues()
	for _, v := range order {
		if _, ok := live[v.SessionID]; !ok {
			continue
		}
		doc, err := json.Marshal(newSession(v, queues[v.SessionID]))
		if err != nil {
			return nil, 0, err
		}
		docs = append(docs, doc)
	}
	return docs, last, nil
}

// sendSessions sends the sessions that changed since *sent. It returns a context that is done when
// there is more.
func (s *Server) sendSessions(out *socketWriter, sent *uint64) (context.Context, error) {
	docs, last, next := s.index.since(*sent)
	*sent = last
	if len(docs) == 0 {
		return next, nil
	}
	return next, out.message([]byte(`{"type":"sessions","sessions":[`), bytes.Join(docs, []byte{','}), []byte("]}"))
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string
		return []byte(`""`)
	}
	return b
}
