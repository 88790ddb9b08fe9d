package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/internal/agent/conformance"
	"assent/internal/hook"
	"assent/internal/outlet/notify"
	"assent/internal/setup/phone"
	"assent/internal/setup/service"
)

func TestDoctorTellsWhoIsRung(t *testing.T) {
	for name, tt := range map[string]struct {
		o      notify.Overview
		status Status
		says   string
	}{
		"nobody":          {notify.Overview{}, "ok", "nobody is told"},
		"one":             {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1"}}}, "ok", "1 device is told that a request waits"},
		"both":            {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1"}, {ID: "d2"}}, Notices: []notify.TargetStatus{{ID: "team"}}}, "ok", "2 devices are told that a request waits; so are the notices team"},
		"a broken device": {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1", Service: "push.example", Trouble: "answered 500"}}}, "warn", "device d1 (push.example): answered 500"},
		"a broken notice": {notify.Overview{Notices: []notify.TargetStatus{{ID: "team", Trouble: "it did not answer in time"}}}, "warn", "notice team: it did not answer in time"},
		"a broken file":   {notify.Overview{Problem: "notices: others can read it"}, "fail", "others can read it"},
	} {
		if c := notifications(&tt.o); c.Status != tt.status || !strings.Contains(c.Detail, tt.says) || (c.Fix == "") != (c.Status == "ok") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestDoctorSaysHowEventsDiffer(t *testing.T) {
	m := func(event, path string, n uint64) conformance.Mismatch {
		return conformance.Mismatch{Event: event, Path: path, Problem: "missing", Count: n}
	}
	for _, tt := range []struct {
		report conformance.Report
		status Status
		detail string
	}{
		{conformance.Report{}, "ok", "no event has come since the broker started"},
		{conformance.Report{Checked: 1}, "ok", "1 event, as its schema describes it"},
		{conformance.Report{Checked: 7, Unchecked: 2}, "ok", "7 events, all as their schemas describe them; 2 more were not checked"},
		{conformance.Report{Checked: 7, Mismatches: []conformance.Mismatch{m("Stop", "/cwd", 3), m("other", "", 1)}}, "warn",
			"4 of 7 events differ from their schemas; Stop /cwd: missing (3); other (the event): missing (1)"},
		{conformance.Report{Checked: 9, Mismatches: []conformance.Mismatch{m("A", "/a", 1), m("B", "/b", 1), m("C", "/c", 1), m("D", "/d", 1), m("E", "/e", 1)}}, "warn",
			"5 of 9 events differ from their schemas; A /a: missing (1); B /b: missing (1); C /c: missing (1); and in 2 more ways"},
	} {
		c := mismatches(&tt.report)
		if c.Name != "schemas" || c.Status != tt.status || c.Detail != tt.detail || (c.Fix == "") != (tt.status == "ok") {
			t.Errorf("%+v: %+v", tt.report, c)
		}
	}
}

// patient is a machine whose broker is well. Tests break a part of it.
type patient struct {
	Config
	calls map[string]any // documents by path; an error is returned as such
}

var (
	errAway = errors.New("connection refused")
	errRole = errors.New("your role does not suffice")
)

func newPatient(t *testing.T) *patient {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "hook.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &patient{calls: map[string]any{
		"/v1/requests?state=pending&limit=1": nil, "/v1/rules": hook.InForce{}, "/v1/notifications": notify.Overview{}, "/v1/schema-mismatches": conformance.Report{},
	}}
	env := map[string]string{"HOME": dir, "XDG_STATE_HOME": dir}
	p.Config = Config{
		StateDir: dir,
		Env:      func(k string) string { return env[k] },
		Where:    func() (string, string, error) { return dir, "", nil },
		Runtime: func() (Broker, error) {
			return Broker{PID: 7, URL: "http://127.0.0.1:1", Socket: socket, Version: "1.0.0"}, nil
		},
		Connect:     p.readyWith(http.StatusNoContent, nil),
		Credential:  func() error { return nil },
		NoBroker:    func(err error) bool { return errors.Is(err, errAway) },
		Refused:     func(err error) bool { return errors.Is(err, errRole) },
		RuleProblem: func(*hook.InForce) string { return "" },
		Phone:       func(context.Context) (*phone.Door, error) { return nil, nil },
		Service:     func(context.Context) service.Status { return service.Status{} },
	}
	p.Call = func(_ context.Context, path string, out any) error {
		switch doc := p.calls[path].(type) {
		case error:
			return doc
		case hook.InForce:
			*out.(*hook.InForce) = doc
		case notify.Overview:
			*out.(*notify.Overview) = doc
		case conformance.Report:
			*out.(*conformance.Report) = doc
		case halted:
			*out.(*halted) = doc
		case nil:
		default:
			t.Errorf("nobody expected %s", path)
		}
		return nil
	}
	return p
}

func (p *patient) readyWith(status int, err error) func() (func(context.Context) (int, error), error) {
	return func() (func(context.Context) (int, error), error) {
		return func(context.Context) (int, error) { return status, err }, nil
	}
}

// TestExamine breaks one thing at a time: what is said of it, and what is not looked at then.
func TestExamine(t *testing.T) {
	const here, elsewhere = "broker ok, socket ok, rules ok, notifications ok, schemas ok", "broker ok, token ok, rules ok, schemas ok"
	const agent = ", spool ok, claude warn, hooks warn, mode warn"
	for _, c := range []struct {
		name string
		harm func(*patient)
		want string // name and status of each finding
		says string // part of one
	}{
		{"all is well", func(*patient) {}, here + agent, "broker ok: pid 7 at http://127.0.0.1:1, version 1.0.0"},
		{"no broker", func(p *patient) { p.Runtime = func() (Broker, error) { return Broker{}, errAway } }, "broker fail" + agent, "no broker is running for"},
		{"another user's broker", func(p *patient) {
			p.Runtime = func() (Broker, error) { return Broker{}, errors.New("read runtime.json: permission denied") }
		}, "broker fail" + agent, "broker fail: read runtime.json: permission denied"},
		{"a dead broker", func(p *patient) { p.Connect = p.readyWith(0, errAway) }, "broker fail" + agent, "pid 7 does not answer at http://127.0.0.1:1: it was killed"},
		{"not ready", func(p *patient) { p.Connect = p.readyWith(503, nil) }, strings.Replace(here, "broker ok", "broker warn", 1) + agent, "pid 7 answers but is not ready (503)"},
		{"no socket", func(p *patient) { os.Remove(filepath.Join(p.StateDir, "hook.sock")) }, strings.Replace(here, "socket ok", "socket fail", 1) + agent, "something removed its socket"},
		{"no credential", func(p *patient) { p.Credential = func() error { return errors.New("no credential") } },
			"broker ok, socket ok, rules warn, notifications warn, schemas warn" + agent, "rules warn: not known: no credential → set ASSENT_TOKEN to a token of role view"},
		{"rules", func(p *patient) {
			p.calls["/v1/rules"] = hook.InForce{Files: []hook.RuleFile{{Path: "/a.yaml"}, {Path: "/b.yaml"}}, Rules: make([]hook.RuleInForce, 3)}
		}, here + agent, "rules ok: 3 rules of /a.yaml, /b.yaml"},
		{"signed rules", func(p *patient) {
			p.calls["/v1/rules"] = hook.InForce{Files: []hook.RuleFile{{Path: "/a.yaml", Signed: &hook.RulesSignature{}}}, Rules: make([]hook.RuleInForce, 3)}
		}, here + agent, "rules ok: 3 rules of /a.yaml (signed with device:"},
		{"a signature that is over", func(p *patient) {
			p.calls["/v1/rules"] = hook.InForce{Files: []hook.RuleFile{{Path: "/a.yaml", Signed: &hook.RulesSignature{}, SignatureProblem: "it is over"}}, Rules: make([]hook.RuleInForce, 3)}
		}, strings.Replace(here, "rules ok", "rules warn", 1) + agent, "rules warn: 3 rules of /a.yaml (its signature does not count: it is over) → the rules count as rules that nobody signed"},
		{"a broken rule", func(p *patient) { p.RuleProblem = func(*hook.InForce) string { return "rules: a.yaml:1: no" } },
			strings.Replace(here, "rules ok", "rules fail", 1) + agent, "rules fail: a.yaml:1: no → fix the file"},
		{"a broken rule, the old ones hold", func(p *patient) {
			p.calls["/v1/rules"] = hook.InForce{Allowing: true}
			p.RuleProblem = func(*hook.InForce) string { return "rules: a.yaml:1: no" }
		}, strings.Replace(here, "rules ok", "rules warn", 1) + agent, "rules warn: a.yaml:1: no"},
		{"stopped", func(p *patient) {
			p.calls["/v1/stop"] = halted{Stopped: &hook.HaltAct{By: hook.Approver{Kind: "device", Name: "phone"}}}
		}, strings.Replace(here, "rules ok", "rules ok, stopped warn", 1) + agent, "by phone: rules and grants allow nothing → when all is well again: assent stop --lift"},
		{"paused", func(p *patient) {
			p.calls["/v1/stop"] = halted{Paused: &hook.HaltAct{By: hook.Approver{Kind: "device", Name: "phone"}}}
		}, strings.Replace(here, "rules ok", "rules ok, stopped warn", 1) + agent, "→ to have requests wait here again: assent pause --end"},
		{"a service", func(p *patient) {
			p.Service = func(context.Context) service.Status {
				return service.Status{Installed: true, Running: true, Ready: true, Unit: "/u"}
			}
		}, here + ", service ok" + agent, "runs; /u"},
		{"a service that is down", func(p *patient) {
			p.Service = func(context.Context) service.Status { return service.Status{Installed: true, Logs: "tail /l"} }
		}, here + ", service fail" + agent, "installed, but it does not run → assent service install starts it; its log: tail /l"},
		{"a service that fails", func(p *patient) {
			p.Service = func(context.Context) service.Status {
				return service.Status{Installed: true, Running: true, Logs: "tail /l"}
			}
		}, here + ", service fail" + agent, "is started again and again"},
		{"a service nobody knows of", func(p *patient) {
			p.Service = func(context.Context) service.Status { return service.Status{Installed: true, Problem: "no bus"} }
		}, here + ", service warn" + agent, "no bus → see: assent service status"},
		{"nowhere", func(p *patient) {
			p.Where = func() (string, string, error) { return "", "", errors.New("current directory: gone") }
		},
			here + ", spool ok, claude warn, hooks warn", "hooks warn: current directory: gone → go to a directory that is there"},
		{"settings nobody finds", func(p *patient) {
			env := p.Env
			p.Env = func(k string) string {
				if k == "CLAUDE_CONFIG_DIR" {
					return "relative"
				}
				return env(k)
			}
		}, here + ", spool ok, hooks fail", "CLAUDE_CONFIG_DIR is \"relative\""},

		{"elsewhere", func(p *patient) { p.URL = "https://box" }, elsewhere + agent, "broker ok: https://box is ready"},
		{"elsewhere, no certificate", func(p *patient) {
			p.URL = "https://box"
			p.Connect = func() (func(context.Context) (int, error), error) { return nil, errors.New("--cacert: no such file") }
		}, "broker fail" + agent, "--cacert: no such file → say the right --url and --cacert"},
		{"elsewhere, away", func(p *patient) { p.URL, p.Connect = "https://box", p.readyWith(0, errAway) }, "broker fail" + agent, "connection refused → on that machine: assent doctor"},
		{"elsewhere, another name", func(p *patient) { p.URL, p.Connect = "https://box", p.readyWith(421, nil) }, "broker fail" + agent, "https://box does not answer to that name → start it with --public-url https://box"},
		{"elsewhere, not ready", func(p *patient) { p.URL, p.Connect = "https://box", p.readyWith(503, nil) }, "broker warn" + agent, "https://box answers but is not ready (503)"},
		{"elsewhere, no token", func(p *patient) {
			p.URL, p.Credential = "https://box", func() error { return errors.New("no credential: set ASSENT_TOKEN") }
		}, "broker ok, token warn" + agent, "token warn: no credential: set ASSENT_TOKEN"},
		{"elsewhere, a token to submit", func(p *patient) {
			p.URL, p.calls["/v1/requests?state=pending&limit=1"] = "https://box", fmt.Errorf("GET: %w", errRole)
		}, "broker ok, token ok" + agent, "enough for a hook if its role is submit"},
		{"elsewhere, an expired token", func(p *patient) {
			p.URL, p.calls["/v1/requests?state=pending&limit=1"] = "https://box", errors.New("the token has expired")
		}, "broker ok, token fail" + agent, "the token has expired → make another there: assent token create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPatient(t)
			c.harm(p)
			var list, text []string
			findings, noBroker := Examine(t.Context(), p.Config)
			for _, f := range findings {
				list = append(list, f.Name+" "+string(f.Status))
				text = append(text, fmt.Sprintf("%s %s: %s → %s", f.Name, f.Status, f.Detail, f.Fix))
			}
			if got := strings.Join(list, ", "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if all := strings.Join(text, "\n"); !strings.Contains(all, c.says) {
				t.Errorf("no %q in\n%s", c.says, all)
			}
			if Broken(findings) != strings.Contains(c.want, " fail") {
				t.Errorf("Broken is %v", Broken(findings))
			}
			if want := strings.Contains(c.name, "no broker") || strings.Contains(c.name, "dead") || strings.Contains(c.name, "away"); noBroker != want {
				t.Errorf("no broker: %v", noBroker)
			}
		})
	}
}

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	if f := spool(filepath.Join(dir, "none")); f.Status != OK || !strings.HasPrefix(f.Detail, "no event waits in ") {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"a", "b", ".lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f := spool(dir); f.Status != Warn || f.Detail != "events of 2 sessions wait in "+dir || f.Fix == "" {
		t.Errorf("%+v", f)
	}
	if f := spool(filepath.Join(dir, "a")); f.Status != Warn || f.Fix != "make the directory readable for you" {
		t.Errorf("a file: %+v", f)
	}
}
