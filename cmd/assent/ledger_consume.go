package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/outlet/ledger"
	"assent/internal/outlet/rabbit"
	"assent/internal/text/show"
)

func (a *app) ledgerConsumeCmd() *cobra.Command {
	var address, queue string
	c := &cobra.Command{
		Use:   "consume",
		Short: "Write the ledgers of this machine's repositories from RabbitMQ",
		Long: `Write the ledgers of this machine's repositories from RabbitMQ, until Ctrl-C: for a machine
whose broker runs elsewhere, with serve --amqp-url. Where the broker runs, serve --ledger does it
without RabbitMQ.

The queue is made at the first run and gets what happens from then on. A message is acknowledged
when it is on the disk. What happened on other machines is passed over; what cannot be written
waits in the queue NAME.failed and is tried again for seven days.

The URL can also be said in ASSENT_AMQP_URL, which other users cannot see among the processes.`,
		Example: `  assent ledger consume --amqp-url amqps://me:secret@rabbit.example.net/
  ASSENT_AMQP_URL=amqp://guest:guest@127.0.0.1:5672/ assent ledger consume`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				address = os.Getenv("ASSENT_AMQP_URL")
			}
			if address == "" {
				return usagef("say where RabbitMQ is: --amqp-url amqp://USER:PASSWORD@HOST:5672/, or ASSENT_AMQP_URL")
			}
			if _, err := rabbit.CheckURL(address); err != nil {
				return usagef("--amqp-url: %w", err)
			}
			return a.consume(cmd.Context(), address, queue)
		},
	}
	c.Flags().StringVar(&address, "amqp-url", "", "RabbitMQ, amqp:// or amqps:// (default $ASSENT_AMQP_URL)")
	c.Flags().StringVar(&queue, "queue", "", "this consumer's own queue (default assent.ledger.HOST.USER)")
	return c
}

// consume ends with ctx, which is no failure.
func (a *app) consume(ctx context.Context, address, queue string) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find this machine's name: %w", err)
	}
	if queue == "" {
		who, err := user.Current()
		if err != nil {
			return fmt.Errorf("find the user's name for the queue: %w; give one with --queue", err)
		}
		queue = "assent.ledger." + host + "." + who.Username
	}
	s := &ledgerSink{host: host, said: map[string]string{}, rest: map[string]rest{}, logf: func(format string, args ...any) {
		fmt.Fprintln(a.err, "assent:", readable(fmt.Sprintf(format, args...)))
	}}
	if amqpInClear(address) {
		s.logf("rabbitmq: amqp:// to another machine is not encrypted: whoever is between reads the payloads and the password; use amqps://")
	}
	consumer, err := rabbit.NewConsumer(rabbit.ConsumerConfig{URL: address, Queue: queue, Store: s.store, Logf: s.logf})
	if err != nil {
		return err
	}
	err = consumer.Run(ctx)
	s.logf("%d mutations stored, %d of other machines or of no repository here passed over, %d failures", s.stored, s.passed, s.failed)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// ledgerSink stores messages of RabbitMQ in ledgers. It belongs to one goroutine.
type ledgerSink struct {
	host string
	logf func(string, ...any)
	said map[string]string // by root, why its ledger cannot be written
	rest map[string]rest   // by root; ledgers that are locked

	stored, passed, failed int
}

// rest is the time for which a locked ledger is left alone: to find out that it still is takes
// seconds, in which nothing else is stored.
type rest struct {
	until time.Time
	pause time.Duration
	why   error
}

const (
	restFirst = 30 * time.Second
	restLast  = 10 * time.Minute
)

// maxSaid bounds said and rest; beyond it everything may be said, and tried, again.
const maxSaid = 1000

// store is rabbit's Store: an error for each message, nil for what is done with.
func (s *ledgerSink) store(ctx context.Context, bodies [][]byte) []error {
	errs := make([]error, len(bodies))
	list := make([]hook.Mutation, len(bodies)) // without a root where there is nothing to store
	for i, body := range bodies {
		m, err := claude.DecodeMutation(body)
		switch {
		case err != nil:
			errs[i] = err
			s.failed++
			s.say("", fmt.Sprintf("a message cannot be read: %v", err))
		case m.Repo.GitRoot == "" || m.Host != "" && m.Host != s.host:
			s.passed++
		case time.Now().Before(s.rest[m.Repo.GitRoot].until):
			errs[i] = s.rest[m.Repo.GitRoot].why
			s.failed++
		default:
			list[i] = m
		}
	}
	why := ledger.Store(ctx, list)
	for root, err := range why {
		if errors.Is(err, ledger.ErrBusy) {
			s.leave(root, err)
		}
	}
	for i, m := range list {
		root := m.Repo.GitRoot
		err := why[root]
		switch {
		case root == "":
		case err == nil:
			s.stored++
			delete(s.said, root)
			delete(s.rest, root)
		case m.Host == "" && errors.Is(err, ledger.ErrGone): // of another machine, most likely
			s.passed++
		default:
			errs[i] = err
			s.failed++
			s.say(root, fmt.Sprintf("%v; it is tried again later", err))
		}
	}
	return errs
}

// leave leaves a locked ledger alone, each time longer.
func (s *ledgerSink) leave(root string, why error) {
	pause := min(max(restFirst, 2*s.rest[root].pause), restLast)
	if len(s.rest) >= maxSaid {
		clear(s.rest)
	}
	s.rest[root] = rest{time.Now().Add(pause), pause, why}
}

// say logs what is new about a root.
func (s *ledgerSink) say(root, what string) {
	if s.said[root] == what {
		return
	}
	if len(s.said) >= maxSaid {
		clear(s.said)
	}
	s.said[root] = what
	s.logf("ledger: %s", show.Line(what))
}
