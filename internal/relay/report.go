package relay

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// reportEvery is how often the relay says how many it has refused, if any.
const reportEvery = time.Minute

// counts are what was refused since the last report.
type counts struct {
	source, hello, name, full, token, second, accept atomic.Uint64
}

// report says what was refused, in one line for all.
func (s *Server) report(ctx context.Context) {
	t := time.NewTicker(reportEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if text := s.refused(); text != "" {
			s.cfg.Logf("closed in the last minute: %s", text)
		}
	}
}

func (s *Server) refused() string {
	c := &s.counts
	var parts []string
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{c.source.Swap(0), "of sources with too many handshakes"},
		{s.halfOpen.takePushed() + s.unknown.takePushed(), "for newer ones"},
		{c.hello.Swap(0), "without a ClientHello in time"},
		{c.name.Swap(0), "for names without a broker"},
		{c.full.Swap(0), "beyond the limits of a name"},
		{c.token.Swap(0), "with an unknown token"},
		{c.second.Swap(0), "of second brokers for a name"},
		{c.accept.Swap(0), "times nothing could be accepted"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}
