package stream

import (
	"errors"
	"slices"
	"testing"

	"assent/internal/hook"
)

func TestSubscribe(t *testing.T) {
	s := open(t, Config{Listen: "127.0.0.1:0"})
	var all, stops []string
	for _, typ := range []string{"Stop", "PreToolUse", "Stop", "Notification", "Stop"} {
		e := fullEvent()
		e.Type = typ
		mustPublish(t, s, e)
		all = append(all, e.ID)
		if typ == "Stop" {
			stops = append(stops, e.ID)
		}
	}
	for _, tt := range []struct {
		name string
		opt  SubscribeOptions
		want []string
	}{
		{"all", SubscribeOptions{All: true, Count: 5}, all},
		{"one type", SubscribeOptions{All: true, Filter: "Stop", Count: 3}, stops},
		{"durable, begin", SubscribeOptions{All: true, Durable: "coop-1", Count: 2}, all[:2]},
		{"durable, go on", SubscribeOptions{All: true, Durable: "coop-1", Count: 3}, all[2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := Subscribe(t.Context(), s.Info(), tt.opt, func(e hook.Event) error {
				got = append(got, e.ID)
				return nil
			})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	stop := errors.New("stop")
	if err := Subscribe(t.Context(), s.Info(), SubscribeOptions{All: true}, func(hook.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("fn's error: %v", err)
	}
	if err := Subscribe(t.Context(), NATSInfo{URL: "nats://127.0.0.1:1"}, SubscribeOptions{}, nil); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
}
