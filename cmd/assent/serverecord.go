package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/agent/claude"
	"assent/internal/metrics"
	"assent/internal/policy/files"
	"assent/internal/reqcontext"
	"assent/internal/screens"
	"assent/internal/store/history"
	"assent/internal/store/stream"
)

// openRecord opens the streams, which locks the state directory, and what stands on the record: its tree, the
// history, the other brokers, and the broker itself, which has caught up then.
func (d *daemon) openRecord(ctx context.Context) error {
	token, err := readersToken(os.Getenv, d.log)
	if err != nil {
		return err
	}
	cfg := stream.Config{
		Dir: d.stateDir, Listen: d.f.natsListen, ReadersToken: token, URL: d.f.natsURL, RecordURL: d.f.recURL, Creds: d.f.natsCreds, RecordCreds: d.f.recCreds,
		Replicas: d.f.natsReplicas, Readers: d.limits.readers, Repair: d.f.repair, Logf: d.warnf,
	}
	if d.f.natsListen == "off" {
		cfg.Listen = ""
	}
	if d.streams, err = stream.Open(ctx, cfg); err != nil {
		return err
	}
	d.closes("streams", d.streams.Close)
	if damage := d.streams.Damage(); damage != nil {
		fmt.Fprintf(d.err, "assent: %s\n", readable(damage.Error()))
	}

	d.screens = screens.New(d.streams, d.warnf)

	// The tree over the record, for whoever has to verify it.
	if d.proof, err = openTree(ctx, d.stateDir, &d.f, d.streams, d.warnf); err != nil {
		return err
	}
	if err := d.openHistory(); err != nil {
		return err
	}
	if d.others, err = joinCluster(ctx, d.stateDir, &d.f, d.streams, d.warnf); err != nil {
		return err
	}
	d.closes("the other brokers", d.others.Close)
	d.requests = metrics.NewRequests()
	d.broker, err = broker.New(ctx, broker.Config{
		Log: d.streams, SingleReplica: d.f.natsURL == "", Replicas: d.others.replicas(), Encode: d.views.Encode, CallKey: claude.CallKey, Races: agents.EventsTell,
		Recorded: recorded(d.requests.Recorded, d.views.Contexts.Recorded), Logf: d.warnf,
	})
	if err != nil {
		return fmt.Errorf("read the record in %s: %w", d.stateDir, err)
	}
	d.closes("broker", d.broker.Close)
	return nil
}

// openHistory opens what happened, for people: it follows both streams from a file of its own, and nothing waits
// for it. With it come the views of a request: how a command is read, the way rules read it, how often it was
// allowed before, and what was said around it.
func (d *daemon) openHistory() (err error) {
	d.hist, err = history.Open(history.Config{
		Path:   filepath.Join(d.stateDir, "history.db"),
		Events: d.streams.EventsAfter, Records: d.streams.RecordsAfter, EventsNow: d.streams.EventsNow, RecordsNow: d.streams.RecordsNow,
		Settled: d.streams.Settled, EventBounds: d.streams.EventBounds,
		Decode: readPayload, Detail: readDetail, Forget: forgetting(d.proof, d.streams, d.screens), Free: d.streams.Free, Busy: d.streams.Writing,
		Retention: time.Duration(d.f.historyDays) * 24 * time.Hour, Logf: d.warnf,
	})
	if err != nil {
		return err
	}
	d.views.Reading, d.views.Allowed, d.views.Contexts = files.Reading(""), d.hist.Allowed, reqcontext.New(0)
	return nil
}

// openOutlets opens those who hear what tools did to files: services on RabbitMQ, and the repositories of this
// machine. They begin before any new event is taken.
func (d *daemon) openOutlets(ctx context.Context) (err error) {
	if address := d.f.amqpAddress(); address != "" {
		if d.mutations, err = newRabbit(ctx, address, d.streams, d.others.only("rabbitmq"), d.f.mutates, d.warnf); err != nil {
			return err
		}
	}
	if d.f.ledger {
		if d.ledgers, err = newLedger(d.stateDir, d.streams, d.f.mutates, d.warnf); err != nil {
			return err
		}
	}
	return nil
}
