package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/policy/effects"
	"assent/internal/terminal"
)

// fill is watch on the whole screen. It owns the goroutine that follows the broker, and those that tell it what is on the screen; they
// end with it.
func (w *watch) fill(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := w.client // follow replaces it
	events, messages := make(chan terminal.BoardEvent), make(chan []byte)
	send := func(e terminal.BoardEvent) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		failed := make(chan error, 1)
		lost := make(chan error)
		go func() {
			failed <- w.follow(ctx, messages, func(err error) {
				select {
				case lost <- err:
				case <-ctx.Done():
				}
			})
		}()
		for {
			select {
			case m := <-messages:
				var msg api.Message
				if err := json.Unmarshal(m, &msg); err != nil {
					send(terminal.BoardEvent{Failed: fmt.Errorf("message of the broker: %w", err)})
					continue
				}
				send(terminal.BoardEvent{Message: &msg})
			case err := <-lost:
				send(terminal.BoardEvent{Lost: err.Error()})
			case err := <-failed:
				if ctx.Err() == nil {
					send(terminal.BoardEvent{Failed: err})
				}
				return
			}
		}
	}()
	showed := map[string]bool{}
	var tells sync.WaitGroup // which end with ctx
	defer tells.Wait()
	defer cancel()
	now := func() *client { // a restarted broker has a new port and token
		if b, err := w.broker(); err == nil {
			return b
		}
		return first
	}
	err := terminal.Watch(ctx, terminal.BoardConfig{
		Input: w.in, Output: w.out, Environ: os.Environ(), NoColor: os.Getenv("NO_COLOR") != "",
		Decide: func(ctx context.Context, r *api.Request, d hook.Decision) (string, error) {
			return now().decide(ctx, r, d)
		},
		Whole:    func(ctx context.Context, id string) (*api.Request, error) { return now().find(ctx, id) },
		Answered: answered,
		Effects:  effects.Func(""),
		Note:     ruleNote,
		State:    stateWords,
		Rules: func(m *api.Message) string {
			return ruleTrouble(&hook.InForce{Allowing: m.Allowing, Problems: m.Problems})
		},
		Halt: haltWords,
		Showed: func(r *api.Request) {
			if !showed[r.ID] {
				showed[r.ID] = true
				_ = w.app.shown.Add(r) // without it, a number has to be confirmed
				tells.Go(func() {      // the record has it or not; nobody waits for that
					_ = now().call(ctx, http.MethodPost, "/v1/shown", api.OnScreen{Requests: []string{r.ID}}, nil)
				})
			}
		},
		Always: terminal.AlwaysConfig{
			Proposals: func(ctx context.Context, id string) (hook.Proposals, error) { return now().proposals(ctx, id) },
			Keep: func(ctx context.Context, r *api.Request, p *hook.Proposal, bound terminal.Bound) (string, error) {
				s, err := now().save(ctx, r, p, bound)
				return terminal.InForce(&s), err
			},
		},
		Editor: editor(),
	}, events)
	cancel()
	<-over
	return err
}

// editor is the user's editor with its arguments; nothing where there is none.
func editor() []string {
	for _, name := range []string{os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"} {
		words := strings.Fields(name)
		if len(words) == 0 {
			continue
		}
		if _, err := exec.LookPath(words[0]); err == nil {
			return words
		}
	}
	return nil
}
