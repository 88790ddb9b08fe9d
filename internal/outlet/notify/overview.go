package notify

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Overview is how sending goes, for the operator of the broker (schema Notifications). It holds no
// endpoint and no URL, which are secrets.
type Overview struct {
	Devices []TargetStatus `json:"devices"`
	Notices []TargetStatus `json:"notices"`
	// File is the file of notices, and Problem says why it could not be used.
	File    string `json:"file,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// TargetStatus is one device or notice, and how sending to it goes.
type TargetStatus struct {
	// ID is a device's id or a notice's name.
	ID string `json:"id"`
	// Service is the host of a browser's push service.
	Service    string    `json:"service,omitempty"`
	LastSentAt time.Time `json:"lastSentAt,omitzero"`
	// Trouble says why the last message was not taken.
	Trouble string `json:"trouble,omitempty"`
}

// Tells reports whether anybody is told of requests: a device that subscribed, or a service.
func (p *Push) Tells() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.notices) > 0 || p.subscribedLocked() > 0
}

// Overview returns how sending has gone since the broker started.
func (p *Push) Overview() Overview {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := Overview{Devices: []TargetStatus{}, Notices: []TargetStatus{}, File: p.cfg.NoticesFile, Problem: p.problem}
	for id, e := range p.devices {
		if e.Subscription != nil {
			o.Devices = append(o.Devices, p.statusLocked(deviceKey(id), TargetStatus{ID: id, Service: hostOf(e.Subscription.Endpoint)}))
		}
	}
	slices.SortFunc(o.Devices, func(a, b TargetStatus) int { return cmp.Compare(a.ID, b.ID) })
	for i := range p.notices { // in the order of the file
		name := p.notices[i].Name
		o.Notices = append(o.Notices, p.statusLocked(noticeKey(name), TargetStatus{ID: name}))
	}
	return o
}

func (p *Push) statusLocked(key string, t TargetStatus) TargetStatus {
	if s := p.status[key]; s != nil {
		t.LastSentAt, t.Trouble = s.sentAt, s.trouble
	}
	return t
}

// counts is what the operator watches.
type counts struct {
	deliveries, failures *prometheus.CounterVec // by to
	dropped              prometheus.Counter     // news
	targets              []prometheus.GaugeFunc
}

func newCounts(p *Push) counts {
	vec := func(name, help string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"to"})
		for _, to := range []string{"device", "notice"} { // so that 0 is shown
			v.WithLabelValues(to)
		}
		return v
	}
	target := func(to string, n func(Overview) int) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "assent_push_targets", Help: "Devices and notices that are told when a request waits.", ConstLabels: prometheus.Labels{"to": to},
		}, func() float64 { return float64(n(p.Overview())) })
	}
	return counts{
		deliveries: vec("assent_push_deliveries_total", "Messages that a push service or a notice's service took."),
		failures:   vec("assent_push_failures_total", "Messages that were not taken; they are tried again."),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assent_push_news_dropped_total", Help: "Turns that ended, stops and pauses that a device or notice was not told of.",
		}),
		targets: []prometheus.GaugeFunc{
			target("device", func(o Overview) int { return len(o.Devices) }),
			target("notice", func(o Overview) int { return len(o.Notices) }),
		},
	}
}

// sent counts one try.
func (c *counts) sent(device, taken bool) {
	to := "notice"
	if device {
		to = "device"
	}
	if taken {
		c.deliveries.WithLabelValues(to).Inc()
	} else {
		c.failures.WithLabelValues(to).Inc()
	}
}

// Collectors are the metrics of p.
func (p *Push) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{p.counts.deliveries, p.counts.failures, p.counts.dropped}
	for _, g := range p.counts.targets {
		all = append(all, g)
	}
	return all
}
