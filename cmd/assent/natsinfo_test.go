package main

import (
	"bytes"
	"strings"
	"testing"

	"assent/internal/store/stream"
)

func TestReaderToken(t *testing.T) {
	for _, c := range []struct {
		value   string
		ok      bool
		warning bool
	}{
		{"", true, false}, {"0123456789abcdef", true, false}, {"7characters", true, true}, {strings.Repeat("x", 512), true, false},
		{strings.Repeat("x", 513), false, false}, {"two words, which no header takes", false, false}, {"0123456789abcdef\n", false, false}, {"0123456789abcdefü", false, false}, {"0123456789abcdef\x00", false, false},
	} {
		var b bytes.Buffer
		log, err := newLogger(&b, serveFlags{logFormat: "text"})
		if err != nil {
			t.Fatal(err)
		}
		token, err := readersToken(func(name string) string {
			if name != "BD_DAEMON_TOKEN" {
				t.Errorf("it looked at %s", name)
			}
			return c.value
		}, log)
		if (err == nil) != c.ok || c.ok && token != c.value || (b.Len() > 0) != c.warning {
			t.Errorf("%q: %q, %v, said %q", c.value, token, err, b.String())
		}
		if c.value != "" && (strings.Contains(b.String(), c.value) || err != nil && strings.Contains(err.Error(), c.value)) {
			t.Errorf("%q is told: %q, %v", c.value, b.String(), err)
		}
	}
}

func TestEnvironmentAddress(t *testing.T) {
	for _, tt := range []struct {
		env    map[string]string
		want   string
		port   int
		failed bool
	}{
		{nil, "", 4222, false},
		{map[string]string{"COOP_NATS_URL": "nats://h:1"}, "nats://h:1", 1, false},
		{map[string]string{"COOP_NATS_URL": "nats://a, nats://b:2"}, "nats://a, nats://b:2", 4222, false},
		{map[string]string{"COOP_NATS_URL": "nats://h:1", "BD_NATS_PORT": "2"}, "nats://h:1", 1, false},
		{map[string]string{"BD_NATS_PORT": "2"}, "nats://127.0.0.1:2", 2, false},
		{map[string]string{"BD_NATS_PORT": "0"}, "", 0, true},
		{map[string]string{"BD_NATS_PORT": "2/x"}, "", 0, true},
	} {
		got, err := environmentAddress(func(name string) string { return tt.env[name] })
		if got != tt.want || (err != nil) != tt.failed {
			t.Errorf("%v: %q, %v", tt.env, got, err)
		}
		if err == nil && stream.InfoAt(got).Port != tt.port {
			t.Errorf("%v: port %d", tt.env, stream.InfoAt(got).Port)
		}
	}
}
