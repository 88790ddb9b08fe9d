package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// What one broker of a cluster can see the others ask it for; who is not there is known at once, and nothing is kept.
func TestBrokersAskEachOther(t *testing.T) {
	x := startExternal(t, 1<<20)
	a, b := open(t, Config{URL: x.srv.ClientURL()}), open(t, Config{URL: x.srv.ClientURL()})
	ask := func(question string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		answer, err := b.Ask(ctx, "h1", []byte(question))
		return string(answer), err
	}
	if _, err := ask("x"); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody answers: %v", err)
	}
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	held, ended := make(chan struct{}), make(chan struct{})
	stop, err := a.Answer("h1", func(ctx context.Context, question []byte) []byte {
		switch string(question) {
		case "long":
			return []byte(strings.Repeat("long ", 500_000))
		case "noise":
			return noise
		case "hold":
			close(held)
			<-ctx.Done()
			defer close(ended)
		}
		return append([]byte("to "), question...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask("you"); got != "to you" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask("long"); len(got) != 2_500_000 || err != nil {
		t.Errorf("a long answer: %d bytes, %v", len(got), err)
	}
	if _, err := ask("noise"); !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("an answer that no message takes: %v", err)
	}
	if _, err := ask(strings.Repeat("x", maxQuestion+1)); !errors.Is(err, ErrAnswer) {
		t.Errorf("a question that is too long: %v", err)
	}
	if _, err := b.Ask(t.Context(), "h1.>", nil); !errors.Is(err, ErrNobody) {
		t.Errorf("no plain name: %v", err)
	}
	go func() { _, _ = b.Ask(t.Context(), "h1", []byte("hold")) }()
	within(t, held)
	stop()
	within(t, ended) // what was being made when it stopped is over
	if _, err := ask("x"); !errors.Is(err, ErrNobody) {
		t.Errorf("after stop: %v", err)
	}
	alone := open(t, Config{Dir: t.TempDir()})
	if _, err := alone.Ask(t.Context(), "h1", nil); !errors.Is(err, ErrNobody) {
		t.Errorf("without a cluster: %v", err)
	}
}

// What is no answer of a broker of this cluster is none.
func FuzzInflate(f *testing.F) {
	good, err := deflate([]byte("answer"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, err := inflate(b); err == nil && len(out) > maxAnswer {
			t.Errorf("%d bytes", len(out))
		}
	})
}

// A question that nobody answers ends, though its caller has no limit.
func TestAskEnds(t *testing.T) {
	x := startExternal(t, 1<<20)
	a, b := open(t, Config{URL: x.srv.ClientURL()}), open(t, Config{URL: x.srv.ClientURL(), ask: 100 * time.Millisecond})
	stop, err := a.Answer("h1", func(ctx context.Context, _ []byte) []byte {
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := b.Ask(t.Context(), "h1", nil); !errors.Is(err, ErrAnswer) {
		t.Errorf("%v, want %v", err, ErrAnswer)
	}
}
