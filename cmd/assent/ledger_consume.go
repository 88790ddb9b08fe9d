package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"assent/internal/agent/claude"
	"assent/internal/outlet/ledger"
	"assent/internal/outlet/rabbit"
)

func (a *app) ledgerConsumeCmd() *cobra.Command {
	var address, queue string
	c := &cobra.Command{
		Use:   "consume",
		Short: "Write the ledgers of this machine's repositories from RabbitMQ",
		Long: `Write the ledgers of this machine's repositories from RabbitMQ, until Ctrl-C: for a machine whose
broker runs elsewhere, with serve --amqp-url. On the broker's own machine, serve --ledger does the
same without RabbitMQ.

The queue is created at the first run and receives what happens from then on. A message is
acknowledged once it is on the disk. Events of other machines are skipped; what cannot be written
is kept in the queue NAME.failed and tried again for seven days.

The URL can also be set in ASSENT_AMQP_URL, where other users cannot see it in the list of
processes.`,
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
	s := &ledger.Sink{Host: host, Decode: claude.DecodeMutation, Logf: func(format string, args ...any) {
		fmt.Fprintln(a.err, "assent:", readable(fmt.Sprintf(format, args...)))
	}}
	if amqpInClear(address) {
		s.Logf("rabbitmq: amqp:// to another machine is not encrypted: whoever is between reads the payloads and the password; use amqps://")
	}
	consumer, err := rabbit.NewConsumer(rabbit.ConsumerConfig{URL: address, Queue: queue, Store: s.Store, Logf: s.Logf})
	if err != nil {
		return err
	}
	err = consumer.Run(ctx)
	s.Logf("%d mutations stored, %d of other machines or of no repository here passed over, %d failures", s.Stored, s.Passed, s.Failed)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
