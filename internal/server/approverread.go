package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"go.uber.org/zap"

	"assent/broker"
	"assent/internal/agent/agents"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// Why a request is not allowed by a page of an approver's.
const (
	whyLies    = "the broker says something else of it than the agent's own request does: do not trust that broker"
	whyChanged = "the broker gave out another request under the same id before: do not trust that broker"
	whyAgent   = "only requests of Claude Code are read here, so this is what the broker says of it"
	whyNoWhole = "the agent's own request could not be had from the broker, so this is what the broker says of it"
	whyNotSeen = "this program has not shown that request, or has been started anew since: reload the page"
	whyOther   = "another input was shown"
)

// atOnce is how many payloads are fetched at the same time for one message.
const atOnce = 8

// claudeAgent is the agent whose requests can be read here, and whose hooks check signatures.
const claudeAgent = "claude"

// whole fetches a request with its payload.
func (a *approver) whole(ctx context.Context, as *api.Client, id string) (*api.Request, error) {
	var r api.Request
	if err := as.Call(ctx, http.MethodGet, "/v1/requests/"+id, nil, &r); err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, errNotData
	}
	return &r, nil
}

// readAll reads the requests of a list, or a message, in which there are no payloads: those that wait are fetched.
func (a *approver) readAll(ctx context.Context, as *api.Client, list []*api.Request) []*api.Request {
	out := make([]*api.Request, len(list))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, r := range list {
		if r == nil {
			out[i] = &api.Request{} // which the page leaves out
			continue
		}
		if r.State == broker.Ended {
			out[i] = r
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var whole *api.Request
			if knownID(r.ID) == r.ID {
				var err error
				if whole, err = a.whole(ctx, as, r.ID); err != nil {
					a.log.Warn("a request could not be fetched", zap.String("request", line(r.ID)), zap.String("error", line(err.Error())))
				}
			}
			out[i] = a.read(r, whole, false)
		})
	}
	all.Wait()
	return out
}

// read is what the page is given of r in the place of what the broker says: tool, directory, input, its digest, and how that
// is shown and what it would do, all from the payload of whole, which may be nil. Project, host, times, rules and context stay
// the broker's word. A request that is over is nothing that anybody signs.
func (a *approver) read(r, whole *api.Request, all bool) *api.Request {
	if r.State == broker.Ended {
		return r
	}
	own, against := ownRequest(r, whole)
	against = cmp.Or(against, own.Uninspectable)
	if whole != nil {
		against = a.shown.note(own.ID, own.InputSHA256+"\n"+own.ToolName+"\n"+own.CWD, against)
	}
	if against == whyLies || against == whyChanged {
		a.log.Warn("the broker lies", zap.String("request", line(own.ID)), zap.String("what", against))
		own.InputSHA256 = r.InputSHA256 // for a denial
	}
	v := broker.View{Request: own, AskedSeq: r.Number, State: broker.Pending, Detached: r.Detached}
	j := requestOfView(v, all, a.cfg.Views)
	j.Uninspectable, j.Context = against, r.Context
	return j
}

// ownRequest is a request with what its payload says, and why that is not to be allowed; empty if it may be.
func ownRequest(r, whole *api.Request) (own hook.Request, why string) {
	own = r.Request
	own.ToolInput, own.Suggestions = r.ToolInput, r.Suggestions
	if whole == nil {
		return own, whyNoWhole
	}
	own.Raw = []byte(cmp.Or(whole.Raw, string(whole.RawBase64)))
	if r.Agent != claudeAgent {
		return own, whyAgent
	}
	p, err := agents.Reader(claudeAgent).Decode("", own.Raw)
	if err != nil || p.Type != hook.EventPermissionRequest || p.ToolName == "" || p.ToolInput == nil {
		return own, "the agent's own request cannot be read here with certainty, so this is what the broker says of it"
	}
	said := own
	own.Event, own.NativeTool = "", ""
	own.ToolName, own.ToolInput, own.CWD, own.InputSHA256 = p.ToolName, p.ToolInput, p.CWD, p.InputSHA256
	own.Suggestions, own.PermissionMode, own.Uninspectable = p.Suggestions, p.PermissionMode, p.Uninspectable
	if said.ToolName != own.ToolName || said.CWD != own.CWD || said.InputSHA256 != own.InputSHA256 || said.Event != "" ||
		said.ToolInput != nil && !sameJSON(said.ToolInput, own.ToolInput) || showsOther(r.Shown, &own) {
		return own, whyLies
	}
	return own, ""
}

// sameJSON compares two JSON texts but for white space and the escapes of HTML.
func sameJSON(a, b hook.JSON) bool {
	x, errX := json.Marshal(json.RawMessage(a))
	y, errY := json.Marshal(json.RawMessage(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// showsOther reports whether the broker shows another text than ours in a field that is there in both. A broker of another version
// may have other fields.
func showsOther(said *show.Shown, own *hook.Request) bool {
	if said == nil {
		return false
	}
	_, fields := agents.Describe(own.Agent, own.ToolName, own.ToolInput)
	return slices.ContainsFunc(said.Fields, func(s show.Field) bool {
		i := slices.IndexFunc(fields, func(f show.Field) bool { return f.Name == s.Name && f.Kind == s.Kind })
		return i >= 0 && fields[i].Text != s.Text
	})
}

// maxShown bounds what is remembered of what the page was given: requests, the oldest go first.
const maxShown = 4096

// shownInputs remembers how the page was given each request. Its zero value is good.
type shownInputs struct {
	mu    sync.Mutex
	m     map[string]shownInput // by id; guarded by mu
	order []string              // guarded by mu
}

type shownInput struct {
	what string // digest, tool and directory, in lines
	why  string // it is not to be allowed; empty if it may be
}

// note keeps what the page is about to be given of a request, and why it may not be allowed. It returns that, or what
// stands against it since an earlier time: a request never changes.
func (s *shownInputs) note(id, what, why string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]shownInput{}
	}
	was, ok := s.m[id]
	switch {
	case !ok && len(s.order) >= maxShown:
		delete(s.m, s.order[0])
		s.order = append(s.order[1:], id)
	case !ok:
		s.order = append(s.order, id)
	case was.why != "":
		what, why = was.what, was.why
	case was.what != what:
		why = whyChanged
	}
	s.m[id] = shownInput{what, why}
	return why
}

// refuse says why an allow of this input may not go on; empty if it may.
func (s *shownInputs) refuse(id, digest string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.m[id]
	switch {
	case !ok:
		return whyNotSeen
	case was.why != "":
		return was.why
	case digest == "" || !bytes.HasPrefix([]byte(was.what), []byte(digest+"\n")):
		return whyOther
	}
	return ""
}
