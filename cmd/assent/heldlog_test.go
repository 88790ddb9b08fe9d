package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// What the broker logs in the middle of the steps of up comes as a sentence, or after them.
func TestHeldLog(t *testing.T) {
	var out bytes.Buffer
	base, err := newLogger(&out, serveFlags{quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	var held heldLog
	log := base.WithOptions(zap.WrapCore(held.wrap)).With(zap.String("a", "b"))
	log.Info("not even held")
	log.Sugar().Warnf("port %d is taken", 4222)
	log.Warn("odd", zap.Int("n", 7))
	if said := held.take(); len(said) != 2 || said[0] != "port 4222 is taken" || said[1] != "odd, n: 7" || out.Len() > 0 {
		t.Errorf("said %q, logged %q", said, out.String())
	}
	for range maxHeld {
		log.Warn("later")
		log.Warn("last")
	}
	if n := strings.Count(out.String(), "WARN"); n > maxHeld {
		t.Errorf("%d lines while it holds", n)
	}
	held.release()
	held.release()
	log.Warn("at once")
	text := out.String()
	if !strings.Contains(text, "WARN\tlater\t{\"a\": \"b\"}") || !strings.HasSuffix(text, "WARN\tat once\t{\"a\": \"b\"}\n") {
		t.Errorf("logged %q", text)
	}
}
