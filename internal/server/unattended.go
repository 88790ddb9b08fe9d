package server

import (
	"time"

	"go.uber.org/zap"

	"assent/internal/agent/agents"
)

// goneFor is how long nobody may have been there before what waits is left to the agents' own prompts: a page
// that is loaded again, or a phone that changes its network, is back by then.
const goneFor = 30 * time.Second

// reachable reports whether somebody who may decide can be told of a request now.
func (s *Server) reachable() bool {
	return s.cfg.HoldUnseen || s.watchers.Load() > 0 || s.cfg.Notifies != nil && s.cfg.Notifies()
}

// followAttendance hands back, when nobody has been there for a while, the requests of agents that show no
// prompt of their own meanwhile. It returns when the server closes.
func (s *Server) followAttendance() {
	tick := time.NewTicker(goneFor / 6)
	defer tick.Stop()
	seen := time.Now()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		if s.reachable() {
			seen = time.Now()
			continue
		}
		if time.Since(seen) < goneFor {
			continue
		}
		for _, v := range s.cfg.Broker.Pending() {
			if agents.Races(v.Agent) || v.CreatedAt.After(time.Now().Add(-goneFor)) {
				continue
			}
			if err := s.cfg.Broker.Abandon(v.ID, v.InputSHA256); err != nil {
				s.log.Warn("a request that nobody can be told of could not be handed back", zap.String("id", v.ID), zap.String("error", line(err.Error())))
				continue
			}
			s.log.Info("handed back: nobody is there any more", zap.String("id", v.ID))
		}
	}
}
