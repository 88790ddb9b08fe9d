package ci

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"assent/hookclient"
	"assent/internal/ci/report"
	"assent/internal/hook"
)

// Broker is the broker that a run asks.
type Broker struct {
	Target hookclient.Config
	// Propose returns rules that would have allowed a request, the narrowest first, or why there
	// are none.
	Propose func(ctx context.Context, r *hook.Request) (list []report.Proposal, why string)
	// Stop ends the broker and waits for that; nil if it is not the run's own.
	Stop func()
}

// ask is Config's Ask.
func (b *Broker) ask(ctx context.Context, e hook.Event, t hookclient.Transcript, timeout time.Duration) hookclient.Answer {
	cfg := b.Target
	cfg.Timeout, cfg.OnTimeout, cfg.OnFailure = timeout, hook.Deny, hook.Deny
	return hookclient.SubmitWith(ctx, cfg, e, t)
}

// notify is Config's Tell.
func (b *Broker) notify(ctx context.Context, e hook.Event) string {
	return hookclient.Tell(ctx, b.Target, e)
}

// propose is Config's Propose. Each rule gets an id, so that it can be put into a file as it is.
func (b *Broker) propose(ctx context.Context, r *hook.Request) ([]report.Proposal, string) {
	list, why := b.Propose(ctx, r)
	for i := range list {
		list[i].Rule = named(list[i].Rule, fmt.Sprintf("ci-%.8s-%d", r.ID, i+1))
	}
	return list, why
}

// named gives each rule of a proposal an id.
func named(rules, id string) string {
	n := 0
	return ruleStart.ReplaceAllStringFunc(rules, func(string) string {
		if n++; n > 1 {
			return fmt.Sprintf("  - id: %s-%d\n    action:", id, n)
		}
		return "  - id: " + id + "\n    action:"
	})
}

var ruleStart = regexp.MustCompile(`(?m)^  - action:`)

// startTimeout bounds the start of a broker of our own, which takes a moment. On a full disk it
// would wait for space. stopTimeout bounds the end of a broker whose start was given up.
const (
	startTimeout = 20 * time.Second
	stopTimeout  = 5 * time.Second
)

// StartOwn runs a broker in this process: serve, which calls ready once when the broker is, and
// returns when its context ends. It gives up the start when early ends. The broker ends with ctx or
// with stop, which waits for it.
func StartOwn(ctx, early context.Context, stateDir string, serve func(ctx context.Context, ready func()) error) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- serve(ctx, func() { close(ready) }) }()
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	select {
	case <-ready:
		return func() {
			cancel()
			<-ended // what there was to say about its end is on standard error
		}, nil
	case err = <-ended:
		cancel()
		return nil, startError(err)
	case <-early.Done():
		err = early.Err()
	case <-late.C:
		err = fmt.Errorf("it is not ready after %v; is there room in %s?", startTimeout, stateDir)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(stopTimeout): // the process ends soon
	}
	return nil, startError(err)
}

func startError(err error) error { return fmt.Errorf("start a broker for this run: %w", err) }
