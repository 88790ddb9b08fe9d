package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"assent/internal/agent/agents"
	"assent/internal/hook"
)

// stopPatience is how long calls that are being answered may take when the broker stops. Until it
// is gone the next one cannot start, and hooks find no socket.
const stopPatience = time.Second

// finish stops servers whose listeners are closed, and cuts what takes too long.
func finish(servers ...*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if s.Shutdown(ctx) != nil {
				s.Close()
			}
		})
	}
	wg.Wait()
}

// closing joins the error of a part's Close to *err.
func closing(err *error, part string, close func() error) {
	if e := close(); e != nil {
		*err = errors.Join(*err, fmt.Errorf("close %s: %w", part, e))
	}
}

// readPayload reads what is readable of a hook's payload.
func readPayload(agent, event string, raw []byte) (hook.Payload, hook.Detail) {
	reader := agents.Reader(agent)
	p, _ := reader.Decode(event, raw)
	return p, reader.Detail(event, raw)
}

// readDetail is the second of what readPayload returns.
func readDetail(agent, event string, raw []byte) hook.Detail {
	return agents.Reader(agent).Detail(event, raw)
}
