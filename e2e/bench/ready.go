package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/store/stream"
	"assent/internal/text/digest"
)

// ready measures from exec to runtime.json, on an empty directory and on a large one, and the
// idle broker's memory.
func (b *bench) ready() ([]row, error) {
	var empties, programs []time.Duration
	var idle int64
	for range 7 {
		s, err := b.serve("")
		if err != nil {
			return nil, err
		}
		empties = append(empties, s.readyIn)
		if idle, err = s.rss(); err != nil {
			return nil, err
		}
		s.stop()
		p, err := b.time(nil, b.empty)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	empty, program := quantile(empties, .5), quantile(programs, .5)
	dir := filepath.Join(b.dir, "large")
	if err := fill(dir, 100_000, 1_000); err != nil {
		return nil, err
	}
	// The first start reads everything and leaves the checkpoint a running broker would have.
	s, err := b.serve(dir)
	if err != nil {
		return nil, err
	}
	s.stop()
	if s, err = b.serve(dir); err != nil {
		return nil, err
	}
	large := s.readyIn
	err = s.waitGauge(1_000, 5*time.Second)
	s.stop()
	if err != nil {
		return nil, err
	}
	mb := float64(idle) / 1e6
	return []row{
		{"ready on an empty directory (against an empty program)", fmt.Sprintf("%.0f× (%s 60 ms)", ratio(empty, program), within(empty, 60*time.Millisecond)), "≤ 20×", empty <= 20*program},
		{"ready with 100,000 ended and 1,000 pending requests (against the empty directory)", fmt.Sprintf("%.1f× (%s 500 ms)", ratio(large, empty), within(large, 500*time.Millisecond)), "≤ 500 ms", large <= 500*time.Millisecond},
		{"idle memory of the broker", fmt.Sprintf("%.0f MB", mb), "≤ 50 MB", mb <= 50},
	}, nil
}

func within(d, limit time.Duration) string {
	if d <= limit {
		return "within"
	}
	return "over"
}

// fill writes the record of so many ended and then so many pending requests.
func fill(dir string, ended, pending int) error {
	ctx := context.Background()
	st, err := stream.Open(ctx, stream.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer st.Close()
	const writers = 64
	errs := make(chan error, writers)
	var wg sync.WaitGroup
	start := time.Now()
	for w := range writers {
		wg.Go(func() {
			for i := w; i < ended+pending; i += writers {
				if w == 0 && i%(writers*200) == 0 {
					fmt.Fprintf(os.Stderr, "bench: %d of %d requests recorded, %s\n", i, ended+pending, time.Since(start).Round(time.Second))
				}
				if err := fillOne(ctx, st, i, i >= ended); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	return firstOf(errs)
}

func fillOne(ctx context.Context, st *stream.Stream, i int, pending bool) error {
	raw := payload("PermissionRequest", fmt.Sprintf("bench-%d", i%50), i)
	p, err := claude.Agent{}.Decode("", raw)
	if err != nil {
		return err
	}
	now := time.Now()
	r := hook.Request{
		ID: uuid.NewString(), SessionID: p.SessionID, CWD: p.CWD, ToolName: p.ToolName, ToolInput: p.ToolInput, InputSHA256: p.InputSHA256,
		Agent: "claude", CreatedAt: now, EventTime: now, Deadline: now.Add(time.Hour), OnTimeout: hook.Abstain, PermissionMode: p.PermissionMode,
		Raw: raw, PayloadSHA256: digest.Of(raw), CallKey: p.CallKey, Channel: hook.ChannelSocket,
	}
	seq, err := st.Append(ctx, hook.Record{ID: uuid.NewString(), RequestID: r.ID, Step: hook.StepAsked, Time: now, Request: &r}, 0)
	if err != nil || pending {
		return err
	}
	rec := hook.Record{ID: uuid.NewString(), RequestID: r.ID, Step: hook.StepEnded, Time: now, Outcome: hook.Withdrawn, Reason: hook.ReasonTurnEnded}
	_, err = st.Append(ctx, rec, seq)
	return err
}
