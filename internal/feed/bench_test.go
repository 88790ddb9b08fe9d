package feed_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"assent/internal/agent/claude"
	"assent/internal/feed"
)

// day is what real clients sent, all of it.
func day(t testing.TB) []in {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var all []in
	for _, f := range files {
		ar, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, script(t, ar.Files[0].Data)...)
	}
	return all
}

// BenchmarkFold is the fold alone, titles and bodies made: wanted are 200,000 events/s.
func BenchmarkFold(b *testing.B) {
	fold(b, func(s *feed.Session, x in) int { return len(x.fold(s)) })
}

// BenchmarkDecodeFold is the fold with the reading of the payloads.
func BenchmarkDecodeFold(b *testing.B) {
	fold(b, func(s *feed.Session, x in) int {
		if x.record == nil {
			x.payload, _ = claude.Agent{}.Decode(x.event.Type, x.event.Raw)
			x.detail = claude.Agent{}.Detail(x.event.Type, x.event.Raw)
		}
		return len(x.fold(s))
	})
}

// BenchmarkFoldEncode is the fold and the JSON of what it makes.
func BenchmarkFoldEncode(b *testing.B) {
	fold(b, func(s *feed.Session, x in) int {
		evs := x.fold(s)
		for i := range evs {
			if _, err := json.Marshal(evs[i]); err != nil {
				b.Fatal(err)
			}
		}
		return len(evs)
	})
}

// BenchmarkState is the JSON of a session's state, there and back.
func BenchmarkState(b *testing.B) {
	s := feed.New("s")
	for _, x := range day(b) {
		x.fold(s)
	}
	b.ReportAllocs()
	for b.Loop() {
		doc, err := json.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(doc)))
		if err := json.Unmarshal(doc, new(feed.Session)); err != nil {
			b.Fatal(err)
		}
	}
}

// fold folds the day again and again, each time with new sessions.
func fold(b *testing.B, f func(*feed.Session, in) int) {
	all := day(b)
	b.ReportAllocs()
	var sessions map[string]*feed.Session
	made, n := 0, 0
	for b.Loop() {
		if n%len(all) == 0 {
			sessions = map[string]*feed.Session{}
		}
		x := all[n%len(all)]
		n++
		s := sessions[x.session]
		if s == nil {
			s = feed.New(x.session)
			sessions[x.session] = s
		}
		made += f(s, x)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "inputs/s")
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "events/s")
}
