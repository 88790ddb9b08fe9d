package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"assent/hookclient"
	"assent/internal/agent/conformance"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/text/show"
)

// callTimeout bounds each question to the broker.
const callTimeout = 3 * time.Second

// checkBroker finds the broker of this machine and asks whether it is ready. One that is not ready
// is looked at further.
func (x *examination) checkBroker(ctx context.Context) []Finding {
	b, err := x.Runtime()
	x.broker = b
	switch {
	case err != nil && x.NoBroker(err):
		x.noBroker = true
		return []Finding{{"broker", Fail, "no broker is running for " + x.StateDir, "start one: assent up, or assent serve"}}
	case err != nil:
		return []Finding{{"broker", Fail, err.Error(), ""}}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status := 0
	ready, err := x.Connect()
	if err == nil {
		status, err = ready(ctx)
	}
	x.answers, x.noBroker = err == nil, err != nil && x.NoBroker(err)
	switch {
	case err != nil:
		return []Finding{{"broker", Fail, fmt.Sprintf("pid %d does not answer at %s: it was killed", b.PID, b.URL), "assent serve"}}
	case status >= 300:
		return []Finding{{"broker", Warn, fmt.Sprintf("pid %d answers but is not ready (%d)", b.PID, status), "see its log: the disk may be full, or the NATS server away"}}
	}
	return []Finding{{"broker", OK, fmt.Sprintf("pid %d at %s, version %s", b.PID, b.URL, b.Version), ""}}
}

// checkRemote says whether the broker of the URL answers.
func (x *examination) checkRemote(ctx context.Context) []Finding {
	ready, err := x.Connect()
	if err != nil {
		return []Finding{{"broker", Fail, err.Error(), "say the right --url and --cacert"}}
	}
	status, err := ready(ctx)
	x.noBroker = err != nil && x.NoBroker(err)
	switch {
	case err != nil:
		return []Finding{{"broker", Fail, err.Error(), "on that machine: assent doctor"}}
	case status == http.StatusMisdirectedRequest:
		return []Finding{{"broker", Fail, x.URL + " does not answer to that name", "start it with --public-url " + x.URL}}
	case status != http.StatusNoContent:
		return []Finding{{"broker", Warn, fmt.Sprintf("%s answers but is not ready (%d)", x.URL, status), "on that machine: assent doctor"}}
	}
	x.answers = true
	return []Finding{{"broker", OK, x.URL + " is ready", ""}}
}

// checkToken says what the credential for a broker elsewhere may do.
func (x *examination) checkToken(ctx context.Context) []Finding {
	if err := x.Credential(); err != nil {
		return []Finding{{"token", Warn, err.Error(), ""}}
	}
	switch err := x.Call(ctx, "/v1/requests?state=pending&limit=1", nil); {
	case err == nil:
		x.mayLook = true
		return []Finding{{"token", OK, "may look at requests", ""}}
	case x.Refused(err):
		return []Finding{{"token", OK, "may not look at requests; enough for a hook if its role is submit", ""}}
	default:
		return []Finding{{"token", Fail, err.Error(), "make another there: assent token create"}}
	}
}

// checkSocket connects to the broker's socket, as hooks do.
func (x *examination) checkSocket(context.Context) []Finding {
	conn, err := net.DialTimeout("unix", x.broker.Socket, time.Second)
	if err != nil {
		return []Finding{{"socket", Fail, fmt.Sprintf("%s: %v", x.broker.Socket, err), "restart assent serve; something removed its socket"}}
	}
	conn.Close()
	return []Finding{{"socket", OK, x.broker.Socket, ""}}
}

// document gets a document of the API in time. Without it the finding says which role is needed.
func document[T any](ctx context.Context, x *examination, name, path, role string, found func(*T) Finding) []Finding {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := x.Credential()
	doc := new(T)
	if err == nil {
		err = x.Call(ctx, path, doc)
	}
	if err != nil {
		return []Finding{{name, Warn, "not known: " + err.Error(), "set ASSENT_TOKEN to a token of role " + role}}
	}
	return []Finding{found(doc)}
}

func (x *examination) checkRules(ctx context.Context) []Finding {
	return document(ctx, x, "rules", "/v1/rules", "view", x.rules)
}

// rules says which rules are in force, and whether their files are readable.
func (x *examination) rules(f *hook.InForce) Finding {
	c := Finding{Name: "rules", Status: OK}
	if problem := x.RuleProblem(f); problem != "" {
		c.Status, c.Detail, c.Fix = Warn, strings.TrimPrefix(problem, "rules: "), "fix the file; it is read again by itself. assent rules check FILE says all that is wrong"
		if !f.Allowing {
			c.Status = Fail
		}
		return c
	}
	if len(f.Files) == 0 {
		c.Detail = "no file of rules; every request waits for a person"
		return c
	}
	var paths []string
	for _, file := range f.Files {
		path := file.Path
		switch {
		case file.SignatureProblem != "":
			c.Status, c.Fix = Warn, "the rules count as rules that nobody signed: sign them again with assent rules sign, and publish those for all brokers again; or take the signature away"
			path += " (its signature does not count: " + file.SignatureProblem + ")"
		case file.Signed != nil:
			path += " (signed with device:" + signed.Thumbprint(file.Signed.PublicKey) + ")"
		}
		paths = append(paths, path)
	}
	c.Detail = show.Count(len(f.Rules), "rule") + " of " + strings.Join(paths, ", ")
	return c
}

// halted is what GET /v1/stop says that counts here.
type halted struct {
	Stopped, Paused *hook.HaltAct
}

func (x *examination) checkHalt(ctx context.Context) []Finding {
	list := document(ctx, x, "stopped", "/v1/stop", "view", halts)
	return slices.DeleteFunc(list, func(f Finding) bool { return f.Status == OK || x.Credential() != nil }) // the rules' finding says that
}

// halts says that everything is stopped or paused.
func halts(h *halted) Finding {
	c := Finding{Name: "stopped", Status: Warn}
	const at = "2006-01-02 15:04:05"
	switch {
	case h.Stopped != nil:
		c.Detail = fmt.Sprintf("everything is stopped since %s by %s: rules and grants allow nothing", h.Stopped.At.Local().Format(at), h.Stopped.By.Who())
		c.Fix = "when all is well again: assent stop --lift"
	case h.Paused != nil:
		c.Detail = fmt.Sprintf("everything is paused until %s by %s: new requests are left to the agents' own prompts", h.Paused.Until.Local().Format(at), h.Paused.By.Who())
		c.Fix = "to have requests wait here again: assent pause --end"
	default:
		c.Status = OK
	}
	return c
}

func (x *examination) checkNotifications(ctx context.Context) []Finding {
	return document(ctx, x, "notifications", "/v1/notifications", "admin", notifications)
}

// notifications says who is told that a request waits, and how well that works.
func notifications(o *notify.Overview) Finding {
	c := Finding{Name: "notifications", Status: OK}
	var broken []string
	for _, d := range o.Devices {
		if d.Trouble != "" {
			broken = append(broken, "device "+d.ID+" ("+d.Service+"): "+d.Trouble)
		}
	}
	var names []string
	for _, n := range o.Notices {
		names = append(names, n.ID)
		if n.Trouble != "" {
			broken = append(broken, "notice "+n.ID+": "+n.Trouble)
		}
	}
	switch n := len(o.Devices); {
	case n == 0 && len(names) == 0:
		c.Detail = "nobody is told that a request waits; a device is once its settings on the page say so"
	case n == 1:
		c.Detail = "1 device is told that a request waits"
	default:
		c.Detail = fmt.Sprintf("%d devices are told that a request waits", n)
	}
	if len(names) > 0 {
		c.Detail += "; so are the notices " + strings.Join(names, ", ")
	}
	if len(broken) > 0 {
		c.Status, c.Fix = Warn, "for a device turn notifications off and on in its settings; for a notice: assent notices test"
		c.Detail += "; " + strings.Join(broken, "; ")
	}
	if o.Problem != "" {
		c.Status, c.Fix = Fail, "fix the file; it is read again by itself"
		c.Detail += "; " + o.Problem
	}
	return c
}

func (x *examination) checkSchemas(ctx context.Context) []Finding {
	return document(ctx, x, "schemas", "/v1/schema-mismatches", "view", mismatches)
}

// mismatches says how events differ from their schemas: the three most frequent ways.
func mismatches(r *conformance.Report) Finding {
	c := Finding{Name: "schemas", Status: OK, Detail: "no event has come since the broker started"}
	switch {
	case r.Checked == 1:
		c.Detail = "1 event, as its schema describes it"
	case r.Checked > 1:
		c.Detail = show.Count(int(r.Checked), "event") + ", all as their schemas describe them"
	}
	if len(r.Mismatches) > 0 {
		var n uint64
		for _, m := range r.Mismatches {
			n += m.Count
		}
		c.Status, c.Detail = Warn, fmt.Sprintf("%d of %d events differ from their schemas", n, r.Checked)
		c.Fix = "nothing was refused for it; is the agent newer than this assent? all of it: GET /v1/schema-mismatches"
	}
	for i, m := range r.Mismatches {
		if i == 3 {
			c.Detail += fmt.Sprintf("; and in %d more ways", len(r.Mismatches)-i)
			break
		}
		at := m.Path
		if at == "" {
			at = "(the event)"
		}
		c.Detail += fmt.Sprintf("; %s %s: %s (%d)", m.Event, at, m.Problem, m.Count)
	}
	if r.Unchecked > 0 {
		c.Detail += fmt.Sprintf("; %d more were not checked", r.Unchecked)
	}
	return c
}

// checkService says how an installed service is; nothing where there is none.
func (x *examination) checkService(ctx context.Context) []Finding {
	st := x.Service(ctx)
	if !st.Installed {
		return nil
	}
	c := Finding{Name: "service", Status: OK, Detail: "runs; " + st.Unit}
	switch {
	case st.Problem != "":
		c.Status, c.Detail, c.Fix = Warn, st.Problem, "see: assent service status"
	case !st.Running:
		c.Status, c.Detail, c.Fix = Fail, "installed, but it does not run", "assent service install starts it; its log: "+st.Logs
	case !st.Ready:
		c.Status, c.Detail, c.Fix = Fail, "is started again and again, or does not answer", "read its log: "+st.Logs
	}
	return []Finding{c}
}

func (x *examination) checkSpool(context.Context) []Finding {
	return []Finding{spool(hookclient.SpoolDir(x.Env))}
}

// spool says whether events wait for a broker, or were lost because none came.
func spool(dir string) Finding {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Finding{"spool", Warn, err.Error(), "make the directory readable for you"}
	}
	waiting := 0
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") {
			waiting++
		}
	}
	dropped, torn, err := hookclient.Lost(dir)
	if err != nil {
		return Finding{"spool", Warn, err.Error(), "make the directory readable for you"}
	}
	c := Finding{Name: "spool", Status: OK, Detail: "no event waits in " + dir}
	if waiting > 0 {
		c.Status, c.Detail = Warn, fmt.Sprintf("events of %s wait in %s", show.Count(waiting, "session"), dir)
		c.Fix = "assent serve takes them in, if it listens on the socket they were sent to"
	}
	if dropped+torn > 0 {
		c.Status, c.Detail = Warn, fmt.Sprintf("%s; events dropped because the spool was full: %d, cut off: %d", c.Detail, dropped, torn)
	}
	return c
}
