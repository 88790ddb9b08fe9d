package torture

import (
	"io"
	"math"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"assent/hookclient"
	"assent/internal/hook"
)

func TestCheck(t *testing.T) {
	for _, o := range []Options{
		{Brokers: 2, NATS: 3, For: time.Minute}, {Brokers: 3, NATS: 2, For: time.Minute}, {Brokers: 3, NATS: 0, For: time.Minute},
		{Brokers: 1, NATS: 1, For: time.Millisecond}, {Brokers: 1, NATS: 1, For: time.Minute, Nemesis: []string{"rust"}},
		{Brokers: 1, NATS: 0, For: time.Minute, Nemesis: []string{partition}}, {Brokers: 1, NATS: 0, For: time.Minute, Nemesis: []string{slowLink}},
		{Brokers: 3, NATS: 1, For: time.Minute, Nemesis: []string{stepDown}},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	o := Options{Brokers: 3, NATS: 3, For: time.Minute}
	if err := o.Check(); err != nil || !reflect.DeepEqual(o.Nemesis, o.possible()) {
		t.Errorf("%v, %v", o.Nemesis, err)
	}
}

// What is done follows from the seed.
func TestScheduleIsTheSeeds(t *testing.T) {
	plan := func(seed uint64) []strike {
		o := Options{Brokers: 3, NATS: 3, For: time.Minute, Seed: seed}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		return schedule(&o, rand.New(rand.NewPCG(seed, 1)))
	}
	if a, b := plan(1), plan(1); !reflect.DeepEqual(a, b) || len(a) < 5 {
		t.Errorf("%d and %d strikes of one seed", len(a), len(b))
	}
	if reflect.DeepEqual(plan(1), plan(2)) {
		t.Error("two seeds do the same")
	}
}

func TestRegister(t *testing.T) {
	const forever = math.MaxInt64
	write := func(v string, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: op{true, v, true}, Call: call, Return: end}
	}
	try := func(v string, call int64) porcupine.Operation {
		return porcupine.Operation{Input: op{true, v, false}, Call: call, Return: forever}
	}
	read := func(v string, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: op{value: v}, Call: call, Return: end}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"one":                       {[]porcupine.Operation{write("a", 1, 2), read("a", 3, 3)}, true},
		"two winners":               {[]porcupine.Operation{write("a", 1, 2), write("b", 1, 2), read("a", 3, 3)}, false},
		"lost to who came first":    {[]porcupine.Operation{write("a", 1, 4), read("a", 2, 3), read("a", 5, 5)}, true},
		"lost to who had not begun": {[]porcupine.Operation{read("a", 1, 2), write("a", 3, 4)}, false},
		"unknown, took effect":      {[]porcupine.Operation{try("a", 1), read("a", 5, 5)}, true},
		"unknown, came too late":    {[]porcupine.Operation{try("a", 1), write("b", 2, 3), read("b", 5, 5)}, true},
		"told yes, record says no":  {[]porcupine.Operation{try("a", 1), write("b", 2, 3), read("a", 5, 5)}, false},
	} {
		if got := porcupine.CheckOperations(register, c.ops); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What a hook was told is held against the record.
func TestJudgeHook(t *testing.T) {
	allow, deny := []byte(`{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`), []byte(`{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}`)
	who := &hook.Approver{Name: "approver-1"}
	for name, c := range map[string]struct {
		answer hookclient.Answer
		final  waiting
		said   hook.Outcome
		want   string // part of the violation; "" for none
	}{
		"allowed":              {hookclient.Answer{Answered: true, Body: allow, By: who}, waiting{Outcome: hook.Allowed, DecidedBy: who}, hook.Allowed, ""},
		"allowed, not so":      {hookclient.Answer{Answered: true, Body: allow, By: who}, waiting{Outcome: hook.Denied, DecidedBy: who}, hook.Allowed, "told to allow"},
		"allowed by nobody":    {hookclient.Answer{Answered: true, Body: allow, By: who}, waiting{Outcome: hook.Allowed, DecidedBy: who}, hook.Denied, "never said so"},
		"denied, not so":       {hookclient.Answer{Answered: true, Body: deny, By: who}, waiting{Outcome: hook.Allowed, DecidedBy: who}, hook.Denied, "told to deny"},
		"out of time":          {hookclient.Answer{Answered: true, Body: deny, Outcome: hook.Expired}, waiting{Outcome: hook.Expired}, "", ""},
		"too early":            {hookclient.Answer{Answered: true, Body: deny, Outcome: hook.Expired}, waiting{Outcome: hook.Expired}, "early", "expired after"},
		"withdrawn in between": {hookclient.Answer{Answered: true, Outcome: hook.Withdrawn}, waiting{Outcome: hook.Withdrawn}, "", "forgotten"},
		"not answered":         {hookclient.Answer{}, waiting{Outcome: hook.Withdrawn}, "", ""},
	} {
		r := &run{h: &history{}}
		q := &asked{id: "q", onTimeout: hook.Deny, answer: c.answer}
		if c.said == "early" {
			q.timeout = time.Minute
		} else if c.said != "" {
			r.h.decided(decision{id: "q", by: who.Name, outcome: c.said, result: won})
		}
		r.judgeHook(q, c.final, true, &Result{})
		if got := strings.Join(r.h.violations, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Nothing passes a link that is cut, and who came through it is cut off when it is mended.
func TestLink(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	l, err := newLink("a", "b", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	say := func(c net.Conn) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	connect := func() net.Conn {
		c, err := net.Dial("tcp", l.address())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := connect()
	defer c.Close()
	if err := say(c); err != nil {
		t.Fatal(err)
	}
	l.set(false)
	later := connect()
	defer later.Close()
	heard := make(chan error, 1)
	go func() { heard <- say(c) }()
	l.set(true)
	if err := <-heard; err == nil {
		t.Error("a connection lived through the cut")
	}
	again := connect()
	defer again.Close()
	if err := say(again); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}
