package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assent/internal/hook"
	"assent/internal/store/follow"
	"assent/internal/text/digest"
)

// HeaderOversize is on the marker that takes the place of an event larger than
// hook.MaxEvent, or than the server takes: the length of the event in bytes.
const HeaderOversize = "Assent-Oversize"

// headerRoom is what a message's headers may need of the server's limit, in bytes: a cluster
// takes no more than 64 KiB. hook.MaxLabel keeps them below it, whatever an agent calls its
// events and its directories.
const headerRoom = 64 << 10

// Publish stores e in EVENTS and returns its sequence. An e.ID that was published within the
// last two minutes is not stored again; the sequence is that of the first. An error wraps
// broker.ErrUnavailable, and the event may be published again with the same ID. It returns
// within a second if the server takes nothing, and when ctx is done.
func (s *Stream) Publish(ctx context.Context, e hook.Event) (seq uint64, err error) {
	msg := eventMessage(e, s.events.largestEvent())
	if hook.Mutant("loses-events") && len(e.Raw)%2 == 0 {
		return 1, nil
	}
	if hook.Mutant("doubles-events") {
		again := *msg
		again.Header = maps.Clone(msg.Header)
		again.Header.Set(nats.MsgIdHdr, e.ID+"-again") // so that the server does not know it
		_, _ = s.events.js.PublishMsg(ctx, &again)
	}
	err = s.events.write(ctx, msg.Size(), func(ctx context.Context) error {
		ack, err := s.events.js.PublishMsg(ctx, msg,
			jetstream.WithExpectStream(EventsStream), jetstream.WithRetryAttempts(0))
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("publish event: %w", s.events.refused(err))
	}
	s.order.see(seq)
	return seq, nil
}

// largestEvent is the size in bytes from which an event is published as a marker.
func (e *engine) largestEvent() int {
	return min(hook.MaxEvent, int(e.nc.MaxPayload())-headerRoom)
}

// eventMessage is the message for an event: its bytes as they are, what we add in headers. Its subject has
// the agent's own name of the event.
func eventMessage(e hook.Event, limit int) *nats.Msg {
	msg := nats.NewMsg(hook.Subject(cmp.Or(e.NativeType, e.Type)))
	msg.Data = e.Raw
	put := func(name, value string) { msg.Header[name] = []string{headerValue(value)} }
	if e.ID != "" {
		put(jetstream.MsgIDHeader, e.ID)
	}
	named := e
	named.Source = "" // a matter between the agent and the broker
	named.Headers(put)
	if len(e.Raw) > limit {
		put(HeaderOversize, strconv.Itoa(len(e.Raw)))
		msg.Data = oversizeMarker(e)
	}
	return msg
}

// headerValue escapes a value and cuts off what is beyond hook.MaxLabel.
func headerValue(s string) string {
	v := hook.EscapeHeader(s[:min(len(s), hook.MaxLabel)])
	if len(v) <= hook.MaxLabel {
		return v
	}
	v = v[:hook.MaxLabel]
	if i := strings.LastIndexByte(v, '%'); i >= len(v)-2 {
		v = v[:i] // not within an escape
	}
	return v
}

// oversizeMarker is the JSON that stands for an event too large to be stored.
func oversizeMarker(e hook.Event) []byte {
	var marker struct {
		Oversize struct {
			Length int    `json:"length"`
			SHA256 string `json:"sha256"`
		} `json:"assent_oversize"`
		Type string `json:"hook_event_name"`
	}
	marker.Oversize.Length = len(e.Raw)
	marker.Oversize.SHA256 = digest.Of(e.Raw)
	marker.Type = e.Type[:min(len(e.Type), hook.MaxLabel)]
	text, err := json.Marshal(marker)
	if err != nil {
		panic(err) // two texts and a number always encode
	}
	return text
}

// EventOf returns the event in a message of EVENTS or HOOK_EVENTS: seq is its sequence there, and
// stored when the server took it. Headers that are missing or unreadable leave zero values:
// EVENTS on an external cluster may hold what others wrote.
func EventOf(m jetstream.Msg, seq uint64, stored time.Time) hook.Event {
	h := m.Headers()
	get := func(name string) string {
		if v := h[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	e := hook.EventFromHeaders(get)
	e.ID = hook.UnescapeHeader(get(jetstream.MsgIDHeader))
	e.Source = ""
	e.Seq, e.Stored, e.Raw = seq, stored, m.Data()
	if e.Time.IsZero() {
		e.Time = stored
	}
	if t, ok := strings.CutPrefix(m.Subject(), "hooks."); ok && t != "Unknown" {
		switch e.Type {
		case "":
			e.Type = t
		case t:
		default:
			e.NativeType = t
		}
	}
	return e
}

// Events calls fn with every event from sequence from on, in order, each once, and goes on
// with new ones until ctx is done; it returns ctx's error, or ErrClosed. from 0 means only
// what is published after the call. Restarts of the server and lost connections do not end
// it. Events that left the stream before they were read are skipped, and logged; the event
// that comes in their place counts them (Missed).
func (s *Stream) Events(ctx context.Context, from uint64, fn func(hook.Event)) error {
	f := s.eventFollower(follow.Cursor{Seq: max(from, 1) - 1}, fn)
	f.onlyNew = from == 0
	return f.run(ctx)
}

// EventsAfter is Events for who keeps a cursor: it begins behind c, in the stream that c counts in. It
// returns follow.ErrAnew when that was made anew, before the call or since: where to go on then,
// c.Resume says of EventsNow.
func (s *Stream) EventsAfter(ctx context.Context, c follow.Cursor, fn func(hook.Event)) error {
	f := s.eventFollower(c, fn)
	f.anew = follow.ErrAnew
	return f.run(ctx)
}

func (s *Stream) eventFollower(after follow.Cursor, fn func(hook.Event)) *follower {
	fn = countMissed(after.Seq, fn)
	return &follower{
		engine: s.events, js: s.events.js, stream: EventsStream, at: after, lossy: true, shared: s.eventReader,
		apply: func(d *delivery) {
			s.order.see(d.seq)
			fn(EventOf(d, d.seq, d.stored))
		},
	}
}

// EventsNow returns what cursors in the events are compared with. An error wraps
// broker.ErrUnavailable.
func (s *Stream) EventsNow(ctx context.Context) (follow.Stream, error) {
	now, err := s.events.streamNow(ctx, s.events.js, EventsStream)
	if err != nil {
		return now, fmt.Errorf("the event stream: %w", err)
	}
	return now, nil
}

// countMissed sets Missed of the events that come behind the event last, which is 0 for a reader
// without a past.
func countMissed(last uint64, fn func(hook.Event)) func(hook.Event) {
	return func(e hook.Event) {
		if last > 0 && e.Seq > last+1 {
			e.Missed = e.Seq - last - 1
		}
		last = e.Seq
		fn(e)
	}
}

// LastEventSeq returns the sequence of the newest event, 0 if there never was one. An error
// wraps broker.ErrUnavailable.
func (s *Stream) LastEventSeq(ctx context.Context) (uint64, error) {
	state, err := s.events.streamState(ctx, s.events.js, EventsStream)
	if err != nil {
		return 0, fmt.Errorf("last event: %w", err)
	}
	return state.LastSeq, nil
}

// streamState asks the server for a stream's state.
func (e *engine) streamState(ctx context.Context, js jetstream.JetStream, name string) (jetstream.StreamState, error) {
	info, err := e.streamInfo(ctx, js, name)
	if err != nil {
		return jetstream.StreamState{}, err
	}
	return info.State, nil
}

// streamInfo asks the server for what it knows of a stream.
func (e *engine) streamInfo(ctx context.Context, js jetstream.JetStream, name string) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, e.answerTime())
	defer cancel()
	asked := time.Now()
	st, err := js.Stream(ctx, name)
	if err != nil {
		return nil, e.unavailable(err)
	}
	info := st.CachedInfo()
	if name == e.kind.stream && e.dir == "" {
		e.clock.read(info.TimeStamp, asked, time.Now())
	}
	return info, nil
}
