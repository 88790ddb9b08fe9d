package rabbit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"assent/e2e/rig/rabbitmq"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/outlet/rabbit"
	"assent/internal/store/follow"
	"assent/internal/store/stream"
)

// bench runs a publisher between a real stream and a real RabbitMQ with one durable queue.
// confirmed waits until RabbitMQ has everything up to seq.
func bench(b *testing.B) (streams *stream.Stream, confirmed func(seq uint64)) {
	b.Helper()
	r, err := rabbitmq.New(b.TempDir(), "")
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(r.Close)
	if err := r.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	streams, err = stream.Open(b.Context(), stream.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = streams.Close() })
	p, err := rabbit.Open(b.Context(), rabbit.Config{
		URL: r.URL(), Events: streams.EventsAfter, EventsNow: streams.EventsNow,
		Load:     func(context.Context) (follow.Cursor, bool, error) { return follow.Cursor{}, true, nil },
		Save:     streams.Cursor("amqp.place").Save,
		Mutation: claude.MutationOf(claude.DefaultMutationTools()), Encode: claude.EncodeMutation, Logf: b.Logf,
	})
	if err != nil {
		b.Fatal(err)
	}
	bind(b, r.URL(), "bench")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	return streams, func(seq uint64) {
		for p.Cursor() < seq {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

func write(b *testing.B, streams *stream.Stream, n int) uint64 {
	b.Helper()
	seq, err := streams.Publish(b.Context(), hook.Event{
		ID: fmt.Sprintf("%s-%d", b.Name(), n), Type: "PostToolUse", Agent: "claude", Time: time.Now(),
		Raw: fmt.Appendf(nil, `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Write","tool_use_id":"t%d-%d","tool_input":{"file_path":"/f","content":"a\n"}}`, b.N, n),
	})
	if err != nil {
		b.Fatal(err)
	}
	return seq
}

// BenchmarkConfirm is the time from an event's arrival to RabbitMQ's confirm, one at a time.
func BenchmarkConfirm(b *testing.B) {
	streams, confirmed := bench(b)
	confirmed(write(b, streams, -1))
	var took []time.Duration
	n := 0
	for b.Loop() {
		begun := time.Now()
		confirmed(write(b, streams, n))
		took = append(took, time.Since(begun))
		n++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}

// BenchmarkBurst is 10,000 events at once.
func BenchmarkBurst(b *testing.B) {
	streams, confirmed := bench(b)
	confirmed(write(b, streams, -1))
	n := 0
	for b.Loop() {
		var last uint64
		for range 10_000 {
			last = write(b, streams, n)
			n++
		}
		confirmed(last)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
