package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"assent/internal/api"
	"assent/internal/fleet"
	"assent/internal/text/show"
)

// What is asked of a host, because only it can see it.
const (
	askTime = 15 * time.Second // until a host that is connected has to answer
	maxAsks = 4                // that wait for one host
	askMore = 2 * time.Second  // what the way over another broker may take besides
)

var (
	hostAway = problem{Status: http.StatusServiceUnavailable, Detail: "its host is not connected"}
	hostBusy = problem{Status: http.StatusServiceUnavailable, Detail: "its host is asked too much at once; try again"}
	hostMute = problem{Status: http.StatusServiceUnavailable, Detail: "its host did not answer"}
)

// diffAgent is GET /v1/agents/{name}/sessions/{session}/diff.
func (s *Server) diffAgent(w http.ResponseWriter, r *http.Request) {
	session := param(r, "session")
	err := fleet.ErrNoAgent
	var a api.Agent
	var host string
	if u, bad := uuid.Parse(session); s.cfg.Agents != nil && bad == nil && u.String() == session {
		a, host, err = s.cfg.Agents.Agent(param(r, "name"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer, p := s.askHost(r.Context(), host, api.HostAsk{What: api.AskDiff, Agent: a.Name, Session: session})
	if p != nil {
		writeProblem(w, *p)
		return
	}
	d := answer.Diff
	if answer.Status != http.StatusOK || d == nil || len(d.Diff) > api.MaxAgentDiff || len(d.Files) > api.MaxChangedFiles {
		writeProblem(w, refusal(answer))
		return
	}
	d.Agent, d.SessionID = a.Name, session // whatever the host says
	if d.Files == nil {
		d.Files = []api.AgentChangedFile{}
	}
	for _, f := range d.Files {
		if !slices.Contains([]string{"added", "modified", "deleted"}, f.Status) || f.Added < 0 || f.Removed < 0 {
			writeProblem(w, hostMute)
			return
		}
	}
	d.Commits = max(d.Commits, 0)
	s.writeJSON(w, r, http.StatusOK, d)
}

// askHost asks a host, by the broker of the cluster that it is connected to. A problem says why there is no answer.
func (s *Server) askHost(ctx context.Context, host string, ask api.HostAsk) (api.HostAnswer, *problem) {
	if h, _ := s.hosts.Load(host); h != nil {
		return h.(*hostLink).ask(ctx, ask)
	}
	if s.cfg.AskBroker == nil {
		return api.HostAnswer{}, &hostAway
	}
	question, err := json.Marshal(ask)
	if err != nil {
		return api.HostAnswer{}, &hostMute
	}
	ctx, cancel := context.WithTimeout(ctx, askTime+askMore)
	defer cancel()
	said, err := s.cfg.AskBroker(ctx, host, question)
	var answer api.HostAnswer
	if err == nil {
		err = json.Unmarshal(said, &answer)
	}
	if err == nil {
		return answer, nil
	}
	p := hostAway
	if where := s.cfg.Agents.Where(host); where != "" {
		p.Detail = "its host is connected to another broker, " + where + ", which could not ask it for this one; open the page there, or ask that one"
		s.log.Warn("another broker of the cluster did not ask its host for this one", zap.String("broker", line(where)), zap.Error(err))
	}
	return api.HostAnswer{}, &p
}

// forOther answers another broker of the cluster, at which somebody wants to see what this host sees. Whether they may
// is for that broker to say; what may be asked at all is this one's word, too.
func (h *hostLink) forOther(ctx context.Context, question []byte) []byte {
	var ask api.HostAsk
	answer := api.HostAnswer{Status: http.StatusNotFound}
	if err := json.Unmarshal(question, &ask); err == nil && ask.What == api.AskDiff && h.s.cfg.Agents.Offers(h.id, ask.Agent) {
		var p *problem
		if answer, p = h.ask(ctx, ask); p != nil {
			answer = api.HostAnswer{Status: p.Status, Detail: p.Detail}
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil
	}
	return text
}

// refusal is what a host that has no answer has it say.
func refusal(a api.HostAnswer) problem {
	p := problem{Status: a.Status, Detail: show.Short(a.Detail, 300)}
	switch a.Status {
	case http.StatusNotFound, http.StatusNotImplemented, http.StatusServiceUnavailable:
	case http.StatusConflict:
		p.Reason = "repository"
	default:
		return hostMute
	}
	return p
}

// ask asks the host and waits for its answer. A problem says why there is none.
func (h *hostLink) ask(ctx context.Context, ask api.HostAsk) (api.HostAnswer, *problem) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	id, answer := uuid.NewString(), make(chan api.HostAnswer, 1)
	h.mu.Lock()
	if len(h.asked) >= maxAsks {
		h.mu.Unlock()
		return api.HostAnswer{}, &hostBusy
	}
	h.asked[id] = answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.asked, id)
		h.mu.Unlock()
	}()
	select {
	case h.acks <- api.BrokerFrame{Type: api.BrokerAsks, ID: id, Ask: &ask}:
	case <-ctx.Done():
		return api.HostAnswer{}, &hostMute
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done(): // it may have gone meanwhile
		return api.HostAnswer{}, &hostMute
	}
}

// forget tells the host what to forget. told is what it was told of and has not forgotten yet.
func (h *hostLink) forget(out *socketWriter, told *map[string]bool) error {
	var more []string
	still := map[string]bool{}
	for _, session := range h.s.cfg.Agents.ToForget(h.id) {
		still[session] = true
		if !(*told)[session] {
			more = append(more, session)
		}
	}
	*told = still
	if len(more) == 0 {
		return nil
	}
	return frame(out, api.BrokerFrame{Type: api.BrokerForget, Sessions: more})
}

// answered takes an answer of the host. One that nobody waits for any more is dropped.
func (h *hostLink) answered(f *api.HostFrame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.asked[f.ID]; c != nil && f.Answer != nil {
		c <- *f.Answer
		delete(h.asked, f.ID)
	}
}
