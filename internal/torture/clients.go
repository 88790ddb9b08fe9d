package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assent/hookclient"
	"assent/internal/agent/claude/tools"
	"assent/internal/api"
	"assent/internal/hook"
)

// events is how many sessions tell of plain events.
const events = 2

// apiTimeout bounds one call of the API.
const apiTimeout = 12 * time.Second

// credentials makes, at the first broker, the tokens that everybody uses at all of them.
func (r *run) credentials(ctx context.Context) error {
	first := r.w.brokers[0]
	owner, err := os.ReadFile(filepath.Join(first.dir, "owner.token"))
	if err != nil {
		return fmt.Errorf("the owner's token: %w", err)
	}
	c := client(first.url, strings.TrimSpace(string(owner)))
	token := func(role, name string) (string, error) {
		var made api.CreatedToken
		err := c.Call(ctx, "POST", "/v1/tokens", api.NewToken{Role: role, Name: name}, &made)
		return made.Secret, err
	}
	if r.submit, err = token("submit", "hooks"); err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	for i := range r.o.Approvers {
		t, err := token("approve", approverName(i))
		if err != nil {
			return fmt.Errorf("make a token: %w", err)
		}
		r.approve = append(r.approve, t)
	}
	return nil
}

func approverName(i int) string { return fmt.Sprintf("approver-%d", i) }

func client(url, token string) *api.Client {
	c := api.NewClient(api.ClientConfig{URL: url, Token: token})
	c.Timeout = apiTimeout
	return c
}

// urls are all brokers, beginning with one.
func (r *run) urls(first int) string {
	var urls []string
	for i := range r.w.brokers {
		urls = append(urls, r.w.brokers[(first+i)%len(r.w.brokers)].url)
	}
	return strings.Join(urls, ",")
}

// hooks asks for one permission after the other until asking is done. The last one is waited for.
func (r *run) hooks(asking context.Context, n int) {
	random := r.random(kindHook, n)
	for i := 0; asking.Err() == nil; i++ {
		r.ask(random, n, i)
		if !pause(asking, time.Duration(random.Int64N(int64(200*time.Millisecond)))) {
			return
		}
	}
}

// ask is one hook, from its beginning to its end.
func (r *run) ask(random *rand.Rand, n, i int) {
	q := &asked{id: uuidOf(random), at: r.h.now(), onTimeout: hook.Abstain, timeout: r.o.For + 2*drainTime}
	if random.IntN(2) == 0 {
		q.onTimeout = hook.Deny
	}
	if random.IntN(10) == 0 {
		q.timeout = 3*time.Second + time.Duration(random.Int64N(int64(5*time.Second)))
	}
	leaves := time.Duration(0)
	if random.IntN(20) == 0 {
		leaves = time.Duration(random.Int64N(int64(4 * time.Second)))
	}
	command := fmt.Sprintf("echo %d %d", n, i)
	session := fmt.Sprintf("hook-%d-%d", n, i)
	raw, err := json.Marshal(map[string]any{
		"session_id": session, "hook_event_name": hook.EventPermissionRequest, "cwd": "/work", "permission_mode": "default",
		"tool_name": tools.Bash, "tool_input": map[string]string{"command": command}, "tool_use_id": q.id,
	})
	if err != nil {
		r.h.violate("encode a payload: %v", err)
		return
	}
	cfg := hookclient.Config{URL: r.urls(random.IntN(len(r.w.brokers))), Token: r.submit, Timeout: q.timeout, OnTimeout: q.onTimeout, OnFailure: hook.Abstain, Agent: "claude"}
	if at := random.IntN(12); at < 4 { // a third are on a broker's machine
		cfg.Socket = filepath.Join(filepath.Dir(r.w.brokers[random.IntN(len(r.w.brokers))].dir), "hook.sock")
		if at == 0 || len(r.w.brokers) == 1 { // not set up for a cluster
			cfg.URL, cfg.Token = "", ""
			q.socket = true
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if leaves > 0 {
		ctx, cancel = context.WithTimeout(ctx, leaves)
		defer cancel()
	}
	r.mu.Lock()
	r.ends = append(r.ends, cancel)
	r.mu.Unlock()
	r.h.begins(q)
	answer := hookclient.Submit(ctx, cfg, hook.Event{ID: q.id, Type: hook.EventPermissionRequest, Agent: "claude", Time: time.Now(), Raw: raw})
	r.h.ends(q, answer, ctx.Err() != nil)
}

// uuidOf is a random UUID.
func uuidOf(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0xfff, b&0xffffffffffff)
}

// waiting is what an approver sees of a request.
type waiting struct {
	ID          string         `json:"id"`
	State       string         `json:"state"`
	InputSHA256 string         `json:"inputSha256"`
	Outcome     hook.Outcome   `json:"outcome"`
	Reason      string         `json:"reason"`
	DecidedBy   *hook.Approver `json:"decidedBy"`
}

// approver looks at one broker and decides at another, until deciding is done. Several choose the same
// request on purpose.
func (r *run) approver(deciding context.Context, n int) {
	random := r.random(kindApprover, n)
	var clients []*api.Client
	for _, b := range r.w.brokers {
		clients = append(clients, client(b.url, r.approve[n]))
	}
	tried := map[string]bool{} // each approver says one thing about a request
	for deciding.Err() == nil {
		var list []waiting
		if clients[random.IntN(len(clients))].Call(deciding, "GET", "/v1/requests?state=pending&limit=50", nil, &list) != nil || len(list) == 0 {
			pause(deciding, 50*time.Millisecond+time.Duration(random.Int64N(int64(100*time.Millisecond))))
			continue
		}
		q := list[min(random.IntN(3), len(list)-1)]
		if tried[q.ID] { // of which nobody knows, or it is about to go
			q = list[random.IntN(len(list))]
			pause(deciding, 20*time.Millisecond)
		}
		d := decision{id: q.ID, by: approverName(n), outcome: hook.Allowed}
		if tried[q.ID] {
			if !r.h.isUnknown(q.ID, d.by) {
				continue
			}
			d.outcome = r.h.saidBefore(q.ID, d.by)
		} else if random.IntN(2) == 0 {
			d.outcome = hook.Denied
		}
		tried[q.ID] = true
		r.decide(deciding, clients[random.IntN(len(clients))], q, d)
		pause(deciding, time.Duration(random.Int64N(int64(60*time.Millisecond))))
	}
}

func (r *run) decide(ctx context.Context, c *api.Client, q waiting, d decision) {
	behavior := hook.BehaviorAllow
	if d.outcome == hook.Denied {
		behavior = hook.BehaviorDeny
	}
	d.call = r.h.now()
	err := c.Call(ctx, "POST", "/v1/requests/"+q.ID+"/decision", map[string]string{"behavior": string(behavior), "inputSha256": q.InputSHA256}, nil)
	d.returned = r.h.now()
	var problem *api.Problem
	switch {
	case err == nil:
		d.result = won
	case errors.As(err, &problem) && problem.Status == 409 && problem.Outcome != "":
		d.result, d.winner = lost, value(problem.Outcome, problem.DecidedBy)
	case errors.As(err, &problem) && problem.Status != 503 && problem.Status < 500:
		d.result = unheard // such as 404 of a broker that has not read the record yet
	default:
		d.result = unknown
	}
	r.h.decided(d)
}

// value is what a register holds: an outcome, and who wrote it.
func value(outcome hook.Outcome, by *hook.Approver) string {
	if by == nil {
		return string(outcome)
	}
	return string(outcome) + "/" + by.Name
}

// events tells of plain events of one session, each by a program of its own, as an agent does. When
// asking is done a last one brings what waits in the spool.
func (r *run) events(asking context.Context, n int) {
	random := r.random(kindEvents, n)
	home := filepath.Join(r.w.dir, fmt.Sprintf("agent%d", n))
	tell := func(i int) {
		raw := fmt.Sprintf(`{"session_id":"events-%d","hook_event_name":"Notification","message":"%d"}`, n, i)
		cmd := exec.Command(r.o.Program, "hook", "--url", r.urls(0))
		cmd.Env = append(cleanEnv(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "ASSENT_TOKEN="+r.submit)
		cmd.Stdin = strings.NewReader(raw)
		if out, err := cmd.CombinedOutput(); err != nil {
			r.h.violate("a hook of a plain event ended with %v: %s", err, out)
		}
		r.h.told(n, i)
	}
	i := 0
	for ; asking.Err() == nil; i++ {
		tell(i)
		pause(asking, 300*time.Millisecond+time.Duration(random.Int64N(int64(700*time.Millisecond))))
	}
	if r.w.recover(context.Background()) != nil {
		return
	}
	for end := time.Now().Add(drainTime / 2); ; i++ {
		tell(i)
		left, err := filepath.Glob(filepath.Join(home, "assent", "spool", "events-*"))
		if err == nil && len(left) == 0 || time.Now().After(end) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
