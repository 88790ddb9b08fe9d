package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

func TestLogFormats(t *testing.T) {
	line := func(format string) string {
		t.Helper()
		var b bytes.Buffer
		log, err := newLogger(&b, serveFlags{logFormat: format})
		if err != nil {
			t.Fatal(err)
		}
		log.Warn("a word", zap.String("id", "7"), zap.Duration("took", time.Second))
		return b.String()
	}
	var doc struct {
		Level, Msg, ID string
		Time           time.Time
		Took           float64
	}
	text := line("json")
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Level != "warn" || doc.Msg != "a word" || doc.ID != "7" || doc.Took != 1 || doc.Time.Location() != time.UTC {
		t.Errorf("%v, %+v in %s", err, doc, text)
	}
	// Text that goes into a file must tell the day.
	stamp, rest, _ := strings.Cut(line("text"), "\t")
	if _, err := time.Parse("2006-01-02T15:04:05.000Z07:00", stamp); err != nil || !strings.HasPrefix(rest, "WARN\ta word\t") {
		t.Errorf("%v in %q %q", err, stamp, rest)
	}
	if _, err := newLogger(&bytes.Buffer{}, serveFlags{logFormat: "xml"}); err == nil || !strings.Contains(err.Error(), "want text or json") {
		t.Errorf("--log-format xml: %v", err)
	}
}
