package server

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"assent/broker"
)

// sendBatch sends one snapshot or some changes (schema ws/Message). It writes JSON by hand
// around objects that are encoded once for all clients.
func (s *Server) sendBatch(out *socketWriter, epoch string, b broker.Batch) error {
	if b.Snapshot != nil {
		m, err := s.snapshot(b.Snapshot)
		if err != nil {
			return err
		}
		if err := out.message(m); err != nil {
			return err
		}
	}
	if len(b.Changes) == 0 {
		return nil
	}
	return out.message(changesMessage(epoch, b.Changes)...)
}

// changesMessage returns the parts of a changes message.
func changesMessage(epoch string, changes []*broker.Change) [][]byte {
	last := changes[len(changes)-1].Seq
	parts := make([][]byte, 0, 2*len(changes)+2)
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
			body = EncodeView(c.View)
		}
		parts = append(parts, head, body, []byte{'}'})
	}
	return append(parts, []byte("]}"))
}

// snapshotCache holds the newest snapshot message, so that clients who come together cost one
// encoding: memory for one message, until the next.
type snapshotCache struct {
	mu    sync.Mutex
	epoch string                 // guarded by mu
	seq   uint64                 // guarded by mu
	make  func() ([]byte, error) // guarded by mu; runs once, outside of it
}

func (s *Server) snapshot(snap *broker.Snapshot) ([]byte, error) {
	c := &s.snap
	c.mu.Lock()
	if c.make == nil || c.epoch != snap.Epoch || c.seq != snap.Seq {
		c.epoch, c.seq = snap.Epoch, snap.Seq
		c.make = sync.OnceValues(func() ([]byte, error) { return s.snapshotMessage(snap) })
	}
	message := c.make
	c.mu.Unlock()
	return message()
}

func (s *Server) snapshotMessage(snap *broker.Snapshot) ([]byte, error) {
	sessions, err := json.Marshal(s.sessions())
	if err != nil {
		return nil, fmt.Errorf("encode sessions: %w", err)
	}
	m := fmt.Appendf(nil, `{"type":"snapshot","epoch":%s,"seq":%d,"requests":[`, quoted(snap.Epoch), snap.Seq)
	for i, v := range snap.Pending {
		if i > 0 {
			m = append(m, ',')
		}
		m = append(m, EncodeView(v)...)
	}
	m = append(m, `],"sessions":`...)
	m = append(m, sessions...)
	return append(m, '}'), nil
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string
		return []byte(`""`)
	}
	return b
}
