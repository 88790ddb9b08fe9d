package rabbit

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counts is what the operator watches.
type counts struct {
	published, unreadable, repeated, missed, unanswered prometheus.Counter
	connected                                           prometheus.Gauge
	lag                                                 prometheus.GaugeFunc
}

func newCounts(p *Publisher) counts {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return counts{
		published:  counter("assent_amqp_published_total", "Mutations that RabbitMQ confirmed."),
		unreadable: counter("assent_amqp_unreadable_total", "Tool events that could not be passed on to RabbitMQ."),
		repeated:   counter("assent_amqp_repeated_total", "Tool events that told of a mutation again."),
		missed:     counter("assent_amqp_missed_total", "Events that left the stream before they were passed on to RabbitMQ."),
		unanswered: counter("assent_amqp_unanswered_total", "Connections that were given up because RabbitMQ was there and did not answer."),
		connected:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "assent_amqp_connected", Help: "1 while RabbitMQ is there."}),
		lag: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "assent_amqp_lag_events", Help: "Events of all types in the stream that RabbitMQ is behind.",
		}, p.lag),
	}
}

// Collectors are the metrics of p; none if p is nil.
func (p *Publisher) Collectors() []prometheus.Collector {
	if p == nil {
		return nil
	}
	c := p.counts
	return []prometheus.Collector{c.published, c.unreadable, c.repeated, c.missed, c.unanswered, c.connected, c.lag}
}

// Cursor is the sequence of the last event that is done with.
func (p *Publisher) Cursor() uint64 { return p.cursor.Load() }

// lag is how many events are not done with; not a number if the stream does not say.
func (p *Publisher) lag() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	at := p.cursor.Load() // first: it may move meanwhile
	now, err := p.cfg.EventsNow(ctx)
	if err != nil {
		return math.NaN()
	}
	return float64(now.Last - min(at, now.Last))
}
