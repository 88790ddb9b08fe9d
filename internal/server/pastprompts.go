package server

import (
	"context"
	"encoding/json"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

// promptWithin is how many events of a session are searched for its newest prompt.
const promptWithin = 300

// pastPrompts calls each with the prompts of a session that history has, newest first, until it returns
// false. known says that history has the session. With wait it waits until history has all there is.
func (s *Server) pastPrompts(ctx context.Context, session string, wait bool, each func(hook.Event) bool) (known bool) {
	if s.cfg.History == nil || wait && s.cfg.History.CaughtUp(ctx) != nil {
		return false
	}
	h, err := s.cfg.History.Session(ctx, session)
	if err != nil {
		return false
	}
	events, err := s.cfg.History.Feed(ctx, session, h.Info.LastPos-min(h.Info.LastPos, promptWithin), promptWithin)
	if err != nil {
		return false
	}
	for i := len(events) - 1; i >= 0; i-- {
		var e struct {
			Kind feed.Kind `json:"kind"`
			TS   int64     `json:"ts"`
		}
		if json.Unmarshal(events[i].JSON, &e) != nil || e.Kind != feed.KindUserPrompt {
			continue
		}
		raw, from, err := s.cfg.History.Prompt(ctx, session, events[i].Pos)
		if err != nil {
			return false
		}
		if !each(hook.Event{Type: hook.EventUserPromptSubmit, Submitter: from, Agent: h.Info.Agent, Time: time.UnixMilli(e.TS), Origin: h.Info.Origin, Raw: raw}) {
			break
		}
	}
	return true
}
