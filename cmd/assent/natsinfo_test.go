package main

import (
	"bytes"
	"strings"
	"testing"
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
