package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"assent/e2e/rig/emitscript"
	"assent/e2e/rig/rabbitmq"
)

// hookd is where emitters send to.
func (b *bench) hookd() string { return filepath.Join(b.dir, "hookd.sock") }

// emit measures hookd-emit beside the script, the way from there to RabbitMQ's confirm, and
// whether a burst loses anything.
func (b *bench) emit() ([]row, error) {
	hook := filepath.Join(b.bin, "assent-hook")
	sh := filepath.Join(b.dir, "emit.sh")
	if err := os.WriteFile(sh, []byte(emitscript.Text), 0o700); err != nil {
		return nil, err
	}
	s, err := b.serve("", "--hookd-socket", b.hookd())
	if err != nil {
		return nil, err
	}
	rows, err := b.emitCost(hook, sh)
	if err == nil {
		var more []row
		more, err = b.emitBurst(s, hook)
		rows = append(rows, more...)
	}
	s.stop()
	if err != nil {
		return nil, err
	}
	confirm, err := b.emitConfirm(hook)
	if errors.Is(err, rabbitmq.ErrMissing) {
		return append(rows, row{"from the start of `hookd-emit` to RabbitMQ's confirm, p50", fmt.Sprintf("%v: %v", errMissing, err), "≤ 10 ms", false}), nil
	}
	return append(rows, confirm), err
}

func (b *bench) emitCost(hook, sh string) ([]row, error) {
	event := payload("PostToolUse", "emit", 1)
	_, jq := exec.LookPath("jq")
	_, socat := exec.LookPath("socat")
	missing := errors.Join(jq, socat)
	var ours, empty, scripted []time.Duration
	for i := range 110 {
		o, err := b.time(event, hook, "emit", "post_tool_use", "bash")
		if err != nil {
			return nil, err
		}
		e, err := b.time(event, b.empty)
		if err != nil {
			return nil, err
		}
		var c time.Duration
		if missing == nil {
			if c, err = b.time(event, sh, "post_tool_use", "bash"); err != nil {
				return nil, err
			}
		}
		if i >= 10 { // the first warm up
			ours, empty, scripted = append(ours, o), append(empty, e), append(scripted, c)
		}
	}
	m, e := quantile(ours, .5), quantile(empty, .5)
	what := fmt.Sprintf("`hookd-emit` against a bash, jq and socat script (%.2f× an empty Go program)", ratio(m, e))
	if missing != nil {
		return []row{{what, fmt.Sprintf("%v: %v", errMissing, missing), "≥ 12× cheaper", false}}, nil
	}
	r := ratio(quantile(scripted, .5), m)
	return []row{{what, fmt.Sprintf("%.1f× cheaper", r), "≥ 12× cheaper", r >= 12}}, nil
}

// emitBurst runs 100 emitters at once, and then 10,000 of them, as many at once as the machine
// bears.
func (b *bench) emitBurst(s *server, hook string) ([]row, error) {
	before, err := s.metric("assent_hookd_events_total")
	if err != nil {
		return nil, err
	}
	event := func(i int) []byte { return payload("PostToolUse", fmt.Sprintf("burst-%d", i%200), i) }
	want := before
	for _, n := range []int{100, 10_000} {
		if _, err := b.herd(n, min(n, 200), event, hook, "emit", "post_tool_use", "bash"); err != nil {
			return nil, err
		}
		want += float64(n)
	}
	got := before
	for end := time.Now().Add(30 * time.Second); got < want && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, err = s.metric("assent_hookd_events_total"); err != nil {
			return nil, err
		}
	}
	return []row{{"100 rapid runs of `hookd-emit` and a burst of 10,000, 200 at a time: events in the stream",
		fmt.Sprintf("%.0f", got-before), "10,100", got == want}}, nil
}

// emitConfirm is the time from the start of the program until RabbitMQ has confirmed the message,
// to a durable queue, as seen from outside: by asking the broker for its count, again and again.
func (b *bench) emitConfirm(hook string) (row, error) {
	dir := filepath.Join(b.dir, "rabbitmq")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return row{}, err
	}
	r, err := rabbitmq.New(dir, "")
	if err != nil {
		return row{}, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := r.Start(ctx); err != nil {
		return row{}, err
	}
	if err := bindAll(r.URL()); err != nil {
		return row{}, err
	}
	s, err := b.serve("", "--hookd-socket", b.hookd(), "--amqp-url", r.URL())
	if err != nil {
		return row{}, err
	}
	defer s.stop()
	var took []time.Duration
	for i := range 120 {
		begun := time.Now()
		if _, err := b.time(payload("PostToolUse", "confirm", i), hook, "emit", "post_tool_use", "bash"); err != nil {
			return row{}, err
		}
		for {
			n, err := s.metric("assent_amqp_published_total")
			if err != nil {
				return row{}, err
			}
			if n > float64(i) {
				break
			}
			if time.Since(begun) > time.Minute {
				return row{}, errors.New("RabbitMQ confirms nothing")
			}
		}
		if i >= 20 {
			took = append(took, time.Since(begun))
		}
	}
	p50, p99 := quantile(took, .5), quantile(took, .99)
	of := ratio(p50, 10*time.Millisecond)
	return row{fmt.Sprintf("from the start of `hookd-emit` to RabbitMQ's confirm, p50 (p99: %.1f×)", ratio(p99, 10*time.Millisecond)),
		fmt.Sprintf("%.2f× of 10 ms", of), "≤ 1×", of <= 1}, nil
}

// bindAll makes a durable queue for everything.
func bindAll(url string) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.ExchangeDeclare("hookd.events", "topic", true, false, false, false, nil); err != nil {
		return err
	}
	if _, err := ch.QueueDeclare("bench", true, false, false, false, nil); err != nil {
		return err
	}
	return ch.QueueBind("bench", "tool.mutation.#", "hookd.events", false, nil)
}

// metric reads one number of the broker's /metrics.
func (s *server) metric(name string) (float64, error) {
	req, err := http.NewRequest("GET", s.url+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(body)
	if found == nil {
		return 0, fmt.Errorf("GET /metrics: %s is not there", name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
