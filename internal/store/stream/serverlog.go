package stream

import (
	"errors"
	"fmt"
	"strings"
)

// serverLog passes on what an embedded server warns of, and notices there when its disk fails.
type serverLog struct{ e *engine }

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	l.report(fmt.Sprintf(format, v...))
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.report(fmt.Sprintf(format, v...))
}

func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	err := errors.New(text)
	if strings.HasPrefix(text, "Error listening on port") {
		err = fmt.Errorf("%w: %s", errPortTaken, text)
	}
	l.e.mu.Lock()
	l.e.fatal = err
	l.e.mu.Unlock()
	l.e.logf("%s: nats-server: %q", l.e.kind.name, text)
}

func (l *serverLog) report(text string) {
	// Quoted: parts of it may be a client's name, or what somebody sent to the port.
	l.e.logf("%s: nats-server: %q", l.e.kind.name, text)
	if meansBroken(text) {
		l.e.fail(errors.New(text), true)
	}
}

// meansBroken recognizes the messages after which nats-server 2.15 writes no more. The
// messages about a client begin with its address and are never meant, whatever they quote.
func meansBroken(text string) bool {
	if !strings.HasPrefix(text, "JetStream ") && !strings.HasPrefix(text, "File") {
		return false
	}
	low := strings.ToLower(text)
	for _, sign := range []string{
		"critical write error",    // of a file store, of a stream
		"failed to store a msg",   // of one message: its stream is stuck from here on
		"will be disabled",        // out of space
		"disabling jetstream",     // permission denied
		"no space left on device", // of any file of its own
		"input/output error",
		"read-only file system",
	} {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return false
}
