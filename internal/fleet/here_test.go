package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// A host that is connected to one broker is here at all that share the KV: its agents are spoken to at any of them, and
// are offline at all of them a lease after it was heard of last.
func TestAHostIsHereAtAllBrokers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		name := "broker one"
		registry := func() *Registry {
			g, err := OpenRegistry(context.Background(), RegistryConfig{Name: name, KV: r.kv, Messages: r.Store, Shared: true, Logf: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		one := registry()
		name = "broker two"
		other := registry()
		defer one.Close()
		defer other.Close()
		is := func(g *Registry, want string) {
			t.Helper()
			synctest.Wait()
			if a, host, err := g.Agent("coder"); err != nil || a.Status != want || host != workstation {
				t.Errorf("the agent is %q of %q, %v; want %q", a.Status, host, err, want)
			}
		}
		l := one.Connect(workstation, func() {})
		if problems, err := l.Offer(t.Context(), "here", "1", []api.Agent{{Name: "coder"}}); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		is(one, api.AgentIdle)
		is(other, api.AgentIdle)
		if !one.Here("coder") || other.Here("coder") {
			t.Error("it is not known where it is connected")
		}
		if a, b := one.Where(workstation), other.Where(workstation); a != "" || b != "broker one" {
			t.Errorf("it is said to be at %q and at %q", a, b)
		}
		for range 10 { // longer than a lease
			time.Sleep(beat)
			l.Alive()
		}
		is(other, api.AgentIdle)

		// Sent at one, it is the host's at the other.
		if _, err := other.Send(t.Context(), forCoder("a", "s1", hook.MessagePrompt, "x")); err != nil {
			t.Fatal(err)
		}
		if sent, _ := r.ToHost(workstation); len(sent) != 1 {
			t.Errorf("the host is sent %d", len(sent))
		}

		late := registry() // it hears of it at the next beat at the latest
		defer late.Close()
		is(late, api.AgentIdle)

		l.Close()
		time.Sleep(Lease + beat)
		for _, g := range []*Registry{one, other, late} {
			is(g, api.AgentOffline)
			if at := g.Where(workstation); at != "" {
				t.Errorf("it is said to be at %q", at)
			}
		}
		later := registry() // what stood there before is old
		defer later.Close()
		is(later, api.AgentOffline)

		l = other.Connect(workstation, func() {}) // it comes back to another one
		is(other, api.AgentIdle)
		is(one, api.AgentIdle)
		l.Close()
	})
}
