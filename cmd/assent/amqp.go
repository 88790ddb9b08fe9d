package main

import (
	"context"
	"net/url"
	"os"

	"assent/internal/agent/claude"
	"assent/internal/api"
	"assent/internal/outlet/rabbit"
	"assent/internal/store/stream"
)

// amqpCursor is the key of the sequence of the last event that RabbitMQ has confirmed.
const amqpCursor = "amqp.place"

// amqpAddress is the URL of --amqp-url, else of ASSENT_AMQP_URL, which other users cannot see among
// the processes. Empty: there is no RabbitMQ.
func (f *serveFlags) amqpAddress() string {
	if f.amqpURL != "" {
		return f.amqpURL
	}
	return os.Getenv("ASSENT_AMQP_URL")
}

// checkAMQP says what is wrong with the URL. Its words never hold the URL: there is a password in it.
func (f *serveFlags) checkAMQP() error {
	address := f.amqpAddress()
	if address == "" {
		return nil
	}
	if _, err := rabbit.CheckURL(address); err != nil {
		return usagef("--amqp-url: %w", err)
	}
	return nil
}

// amqpInClear reports whether the URL takes payloads and password beyond this machine unencrypted.
func amqpInClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "amqp" {
		return false
	}
	return u.Hostname() != "" && !api.Loopback(u.Hostname())
}

// newRabbit makes what passes mutations on to RabbitMQ, while mine says so. Its cursor lies with the record.
func newRabbit(ctx context.Context, address string, streams *stream.Stream, mine func() bool, tools claude.MutationTools, logf func(string, ...any)) (*rabbit.Publisher, error) {
	if amqpInClear(address) {
		logf("rabbitmq: amqp:// to another machine is not encrypted: whoever is between reads the payloads and the password; use amqps://")
	}
	cursor := streams.Cursor(amqpCursor)
	return rabbit.Open(ctx, rabbit.Config{
		URL:    address,
		Events: streams.EventsAfter, EventsNow: streams.EventsNow,
		Load: cursor.Load, Save: cursor.Save, Mine: mine,
		Mutation: claude.MutationOf(tools), Encode: claude.EncodeMutation, Logf: logf,
	})
}
