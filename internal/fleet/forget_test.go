package fleet

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// What a host is to forget is told to it until it has, whoever is killed meanwhile; and not to one that is no more.
func TestHostsAreToForget(t *testing.T) {
	withRegistry(t, func(t *testing.T, r *rig, g *Registry, l *Link) {
		known := map[string]bool{workstation: true, "h2": true}
		open := func() *Registry {
			g, err := OpenRegistry(t.Context(), RegistryConfig{KV: r.kv, Messages: r.Store, Logf: t.Logf, Known: func(id string) bool { return known[id] }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			return g
		}
		var told atomic.Int32 // the watch tells, too
		g.NotifyForget(func() { told.Add(1) })
		for _, session := range []string{"s2", "s1", "s1"} { // the second time is no error
			if err := g.Forget(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(g.ToForget(workstation)); got != "[s1 s2]" || told.Load() == 0 || g.ForgottenAt(workstation, "s1").IsZero() {
			t.Errorf("to forget: %v, told %d times", got, told.Load())
		}
		g2 := open() // another broker, or the next one
		if got := fmt.Sprint(g2.ToForget(workstation)); got != "[s1 s2]" {
			t.Errorf("the next broker: to forget %v", got)
		}
		if err := g2.Forgotten(t.Context(), workstation, []string{"s1", "never"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := fmt.Sprint(g.ToForget(workstation), g.ForgottenAt(workstation, "s1").IsZero()); got != "[s2] true" {
			t.Errorf("left: %v", got)
		}
		if err := g.Forget(t.Context(), "s1"); err != nil { // it lived again
			t.Fatal(err)
		}
		if got := fmt.Sprint(g.ToForget(workstation)); got != "[s1 s2]" {
			t.Errorf("again: %v", got)
		}
		synctest.Wait() // the other broker hears of it
		known[workstation] = false
		if err := g2.Forget(t.Context(), "s3"); err != nil {
			t.Fatal(err)
		}
		if got := g2.ToForget(workstation); len(got) != 0 {
			t.Errorf("a host that is no more is to forget %v", got)
		}
		known[workstation] = true
		r.kv.SetDown(errors.New("away"))
		if err := g2.Forget(t.Context(), "s4"); !errors.Is(err, ErrUnavailable) {
			t.Error("it is forgotten without a record of that")
		}
	})
}
