package history

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/hook"
	"assent/internal/store/follow"
)

// The figures of the documents are for 1,000,000:
//
//	go test ./internal/store/history -run - -bench . -benchtime 1x -timeout 1h -feed-events 1000000
var feedEvents = flag.Uint64("feed-events", 20_000, "how many feed events the benchmarks work on")

// sample makes hook events as a day of agents does: of every ten sessions one is long.
type sample struct {
	rnd   *rand.Rand
	zipf  *rand.Zipf
	words []string
}

func newSample() *sample {
	s := &sample{rnd: rand.New(rand.NewPCG(1, 2))}
	s.zipf = rand.NewZipf(s.rnd, 1.1, 10, 20_000)
	for i := range 20_001 {
		s.words = append(s.words, fmt.Sprintf("w%s%d", string(rune('a'+i%26)), i))
	}
	return s
}

func (s *sample) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(s.words[s.zipf.Uint64()])
		b.WriteByte(' ')
	}
	return b.String()
}

// event is the nth event. Of ten one is of one long session.
func (s *sample) event(n uint64) hook.Event {
	session := sampleSession(n)
	e := hook.Event{
		ID: fmt.Sprintf("10000000-0000-4000-8000-%012d", n), Agent: "claude", Seq: n,
		Time: time.UnixMilli(1_790_000_000_000 + int64(n)*40), Stored: time.UnixMilli(1_790_000_000_000 + int64(n)*40),
	}
	tool := fmt.Sprintf(`"tool_name":"Bash","tool_use_id":"toolu_%d","tool_input":{"command":"go test ./%s","description":"%s"}`, n/2, s.text(2), s.text(4))
	switch n % 20 {
	case 0:
		e.Type = "UserPromptSubmit"
		tool = fmt.Sprintf(`"prompt":"%s"`, s.text(25))
	case 19:
		e.Type, tool = "Stop", `"stop_hook_active":false`
	default:
		e.Type = "PreToolUse"
		if n%2 == 0 {
			e.Type = "PostToolUse"
			tool += fmt.Sprintf(`,"tool_response":{"stdout":"%s","stderr":""}`, s.text(60))
		}
	}
	e.Raw = fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/home/dev/.claude/projects/x/%s.jsonl","cwd":"/home/dev/work","permission_mode":"default","hook_event_name":%q,%s}`, session, session, e.Type, tool)
	return e
}

func sampleSession(n uint64) string {
	if n%10 == 0 {
		return "long"
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", n/200)
}

// fill makes a history without streams, as fast as it takes the events.
func fill(b *testing.B, feed uint64) (h *History, took time.Duration, events uint64) {
	b.Helper()
	dir := b.TempDir()
	s := newSample()
	var n uint64
	full := make(chan struct{})
	cfg := Config{
		Path: filepath.Join(dir, "history.db"), MaxBytes: 1 << 40, Retention: 100 * 365 * 24 * time.Hour,
		Records: func(ctx context.Context, _ follow.Cursor, _ func(hook.Record)) error {
			<-ctx.Done()
			return ctx.Err()
		},
		EventsNow: func(context.Context) (follow.Stream, error) {
			return follow.Stream{Made: time.Unix(1, 0), Last: n}, nil
		},
		RecordsNow:  func(context.Context) (follow.Stream, error) { return follow.Stream{Made: time.Unix(1, 0)}, nil },
		Settled:     func(context.Context, uint64) (uint64, error) { return 0, nil },
		EventBounds: func(context.Context) (uint64, uint64, error) { return 1, n, nil },
		Decode:      decode,
		Logf:        b.Logf,
	}
	cfg.Events = func(ctx context.Context, from follow.Cursor, fn func(hook.Event)) error {
		for n = from.Seq + 1; ctx.Err() == nil && (n%1000 != 0 || h.feedCount() < feed); n++ {
			fn(s.event(n))
		}
		close(full)
		<-ctx.Done()
		return ctx.Err()
	}
	var err error
	if h, err = Open(cfg); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	begun := time.Now()
	go func() { done <- h.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	<-full
	took = time.Since(begun)
	events, _ = h.Cursor()
	return h, took, events
}

// feedCount is about how many feed events there are.
func (h *History) feedCount() (n uint64) {
	d, done, err := h.reading()
	if err != nil {
		return 0
	}
	defer done()
	_ = d.read.QueryRow("SELECT coalesce(max(id), 0) FROM feed").Scan(&n)
	return n
}

// BenchmarkFold is how fast history catches up, and what it needs.
func BenchmarkFold(b *testing.B) {
	for b.Loop() {
		cpu := cpuTime()
		h, took, events := fill(b, *feedEvents)
		cpu = cpuTime() - cpu
		var size int64
		files, _ := filepath.Glob(h.cfg.Path + "*")
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				size += info.Size()
			}
		}
		var m runtime.MemStats
		debug.FreeOSMemory()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(events)/took.Seconds(), "events/s")
		b.ReportMetric(float64(events)/cpu.Seconds(), "events/cpu-s")
		b.ReportMetric(float64(events)/took.Seconds()/2000, "×target")
		b.ReportMetric(float64(size)/float64(*feedEvents), "B/feedevent")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heapMiB")
		b.ReportMetric(rss(b), "rssMiB")
	}
}

// cpuTime is what this process has used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the memory of this process that is in use, in MiB; 0 where nobody says.
func rss(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

// BenchmarkRead is how long searches and pages of a feed take: p95 against the target.
func BenchmarkRead(b *testing.B) {
	h, _, _ := fill(b, *feedEvents)
	s := newSample()
	last, err := h.Session(b.Context(), "long")
	if err != nil {
		b.Fatal(err)
	}
	found := 0
	search := func(query func() string) func() error {
		return func() error {
			list, err := h.Search(b.Context(), query(), 0, 50)
			found += len(list)
			return err
		}
	}
	word := func(least int) string { return s.words[least+s.rnd.IntN(least+1)] }
	for _, x := range []struct {
		name   string
		target time.Duration
		run    func() error
	}{
		{"search/rare", 100 * time.Millisecond, search(func() string { return word(5000) })},
		{"search/common", 100 * time.Millisecond, search(func() string { return s.words[s.rnd.IntN(5)] })},
		{"search/everywhere", 100 * time.Millisecond, search(func() string { return "bash" })},
		{"search/beginning", 100 * time.Millisecond, search(func() string { return "w" + string(rune('a'+s.rnd.IntN(26))) })},
		{"search/long-beginning", 100 * time.Millisecond, search(func() string { return fmt.Sprintf("w%c%d", 'a'+s.rnd.IntN(26), 1+s.rnd.IntN(9)) })},
		{"search/common-and-rare", 100 * time.Millisecond, search(func() string { return "bash " + word(5000) })},
		{"search/two-common", 100 * time.Millisecond, search(func() string { return s.words[1] + " " + s.words[2+s.rnd.IntN(5)] })},
		{"search/phrase", 100 * time.Millisecond, search(func() string { return fmt.Sprintf(`"%s %s"`, s.words[0], s.words[1]) })},
		{"search/nothing", 100 * time.Millisecond, search(func() string { return "xyzzy" })},
		{"feed/first", 20 * time.Millisecond, func() error { _, err := h.Feed(b.Context(), "long", 0, 100); return err }},
		{"feed/last", 20 * time.Millisecond, func() error { _, err := h.Feed(b.Context(), "long", last.Info.LastPos-100, 100); return err }},
		{"sessions", 20 * time.Millisecond, func() error { _, err := h.Sessions(b.Context(), SessionCursor{}, 50); return err }},
	} {
		b.Run(x.name, func(b *testing.B) {
			var took []time.Duration
			found = 0
			for b.Loop() {
				took = took[:0]
				for range 100 {
					begun := time.Now()
					if err := x.run(); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
			}
			slices.Sort(took)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took[95].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(took[95])/float64(x.target), "×target")
			b.ReportMetric(float64(found)/float64(b.N)/100, "found")
		})
	}
}
