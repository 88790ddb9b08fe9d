package broker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"assent/e2e/rig"
)

// labelled is the one metric of a family that has these labels.
func labelled(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		var have []string
		for _, l := range m.GetLabel() {
			have = append(have, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		if slices.Equal(have, labels) {
			return m
		}
	}
	t.Fatalf("no %s%v", name, labels)
	return nil
}

// shown is what a counter or gauge shows, or how many a histogram has seen.
func shown(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	}
	return m.GetGauge().GetValue()
}

// watched is a broker with all parts that have metrics.
func watched(t *testing.T) *rig.Daemon {
	t.Helper()
	d := rig.NewDaemon(t)
	rules := filepath.Join(d.Dir, "rules.yaml")
	rig.Must(t, os.WriteFile(rules, []byte("version: 1\ndeny:\n  - Bash(rm *)\n"), 0o600))
	token := filepath.Join(d.Dir, "relay.token") // of a relay that nobody finds
	rig.Must(t, os.WriteFile(token, []byte("assent_relay_box_"+strings.Repeat("A", 43)+"\n"), 0o600))
	d.Args = []string{"--rules", rules, "--ledger", "--hookd-socket", filepath.Join(d.Dir, "hookd.sock"), "--amqp-url", "amqp://127.0.0.1:1/",
		"--relay", "wss://relay.invalid", "--relay-token-file", token}
	d.Start()
	return d
}

// TestMetricsTellWhatHappened: an answer of each kind is counted where an operator looks for it.
func TestMetricsTellWhatHappened(t *testing.T) {
	d := watched(t)
	before := d.Metrics()
	if n := shown(labelled(t, before, "assent_request_wait_seconds", "outcome=allowed", "decider=owner-cli")); n != 0 {
		t.Errorf("before anything was decided: %v", n)
	}

	if out := d.Hook(rig.Bash("m", "rm x")).Wait(); !strings.Contains(out, `"deny"`) {
		t.Fatalf("the rule: %q", out)
	}
	yes := d.Hook(rig.Bash("m", "touch yes"))
	d.Allow(d.WaitPending(1)[0])
	if out := yes.Wait(); out != rig.Allowed {
		t.Fatalf("the hook printed %q", out)
	}
	token := d.CreateToken("approve", "bot")
	by := d.Hook(rig.Bash("m", "touch by-token"))
	r := d.WaitPending(1)[0]
	if status, body, err := d.As(token, "POST", "/v1/requests/"+r.ID+"/decision", rig.Decision{Behavior: "deny", InputSHA256: r.InputSHA256}); err != nil || status != http.StatusOK {
		t.Fatalf("deny: %d %s %v", status, body, err)
	}
	by.Wait()
	if out := d.Hook(rig.Bash("m", "touch late"), "--timeout", "5s").Wait(); out != "" {
		t.Fatalf("nobody answered, and the hook printed %q", out)
	}
	// The denied tool ran all the same.
	d.Hook(rig.Payload("PostToolUse", "m", map[string]any{"command": "touch by-token", "description": "A test"})).Wait()
	d.Until(r.ID, "overruled", func(r rig.Request) bool { return r.Delivery == "overruled" })
	d.Hook(rig.Bash("m", "touch waits"))
	waits := d.WaitPending(1)[0]

	m := d.Metrics()
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"assent_requests_total", nil, 5},
		{"assent_requests_overruled_total", nil, 1},
		{"assent_request_wait_seconds", []string{"outcome=denied", "decider=rule"}, 1},
		{"assent_request_wait_seconds", []string{"outcome=allowed", "decider=owner-cli"}, 1},
		{"assent_request_wait_seconds", []string{"outcome=denied", "decider=token"}, 1},
		{"assent_request_wait_seconds", []string{"outcome=expired", "decider=none"}, 1},
		{"assent_request_wait_seconds", []string{"outcome=withdrawn", "decider=none"}, 0},
		{"assent_hook_answer_seconds", nil, 3},
		{"assent_hook_event_seconds", nil, 1},
		{"assent_events_total", []string{"type=PermissionRequest"}, 5},
		{"assent_events_total", []string{"type=PostToolUse"}, 1},
		{"assent_requests_pending", nil, 1},
		{"assent_hooks_waiting", nil, 1},
		{"assent_approvers", []string{"kind=token"}, 1},
		{"assent_approvers", []string{"kind=device"}, 0},
		{"assent_ready", nil, 1},
		{"assent_amqp_connected", nil, 0},
		{"assent_stream_messages", []string{"stream=EVENTS"}, 6},
		{"assent_stream_lag_events", []string{"consumer=rabbitmq"}, 6},
	} {
		if got := shown(labelled(t, m, want.name, want.labels...)); got != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	for _, name := range []string{"assent_stream_bytes", "assent_state_free_bytes", "process_resident_memory_bytes", "go_goroutines"} {
		for _, x := range m[name].GetMetric() {
			if shown(x) <= 0 {
				t.Errorf("%s is %v", name, shown(x))
			}
		}
	}
	// Those who read the stream catch up; RabbitMQ is away.
	for _, reader := range []string{"broker", "history", "ledger"} {
		rig.Eventually(t, rig.Soon, reader+" has read all", func() bool {
			return shown(labelled(t, d.Metrics(), "assent_stream_lag_events", "consumer="+reader)) == 0
		})
	}
	// What was done before the start is not done again.
	d.Kill()
	d.Start()
	d.Until(waits.ID, "back", func(r rig.Request) bool { return !r.Detached })
	if n := shown(labelled(t, d.Metrics(), "assent_requests_total")); n != 0 {
		t.Errorf("after a restart %v requests were taken", n)
	}
}

// TestMetricsShowWhoLooks: an open WebSocket of an approver is a person who could answer, one of a
// viewer is not.
func TestMetricsShowWhoLooks(t *testing.T) {
	d := rig.Serve(t)
	connections := func() float64 { return shown(labelled(t, d.Metrics(), "assent_approver_connections", "kind=token")) }
	d.Look(d.CreateToken("view", "board"))
	approver := d.Look(d.CreateToken("approve", "bot"))
	rig.Eventually(t, rig.Soon, "both are there, and one of them could answer", func() bool {
		return shown(labelled(t, d.Metrics(), "assent_websockets")) == 2 && connections() == 1
	})
	rig.Must(t, approver.Close())
	rig.Eventually(t, rig.Soon, "the approver has gone", func() bool { return connections() == 0 })
}

// TestMetricsOfTheSpool: events that hooks wrote down while no broker ran are counted when they are
// taken in.
func TestMetricsOfTheSpool(t *testing.T) {
	d := rig.Serve(t)
	d.Kill() // the socket file stays: hooks find nobody behind it
	for range 3 {
		d.Hook(rig.Payload("Stop", "spooled", nil)).Wait()
	}
	d.Start()
	m := d.Metrics()
	if n := shown(labelled(t, m, "assent_spool_taken_total")); n != 3 {
		t.Errorf("%v events were taken in", n)
	}
	if n := shown(labelled(t, m, "assent_spool_bytes")); n != 0 {
		t.Errorf("%v bytes wait", n)
	}
}

// TestMetricsAreAsPrometheusHasThem: names and units as its own linter wants them, each with a
// word of help, and each in docs/metrics.md, which names no other.
func TestMetricsAreAsPrometheusHasThem(t *testing.T) {
	d := watched(t)
	_, body, err := d.Try("GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(assent_[a-z_]+)(\\{[a-z]+(?:,[a-z]+)*\\})?` \\|").FindAllStringSubmatch(string(page), -1) {
		named[m[1]+m[2]] = true
	}
	for name, f := range d.Metrics() {
		if !strings.HasPrefix(name, "assent_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		if !named[name] {
			t.Errorf("docs/metrics.md has no %s", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("docs/metrics.md tells of %s, which there is not", name)
	}
}

// TestDashboardAsksForWhatThereIs: every query of the dashboard and of the alerts is one that
// Prometheus can read, about metrics and labels that the broker has.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	families := watched(t).Metrics()
	queries := dashboardQueries(t)
	if len(queries) < 40 {
		t.Fatalf("%d queries in the dashboard", len(queries))
	}
	alerts := alertQueries(t)
	if len(alerts) < 5 {
		t.Fatalf("%d alerts", len(alerts))
	}
	maps.Copy(queries, alerts)
	for where, q := range queries {
		expr, err := parser.ParseExpr(q)
		if err != nil {
			t.Errorf("%s: %v in %s", where, err, q)
			continue
		}
		for _, problem := range unanswerable(expr, families) {
			t.Errorf("%s: %s in %s", where, problem, q)
		}
	}
	// The check itself sees what is wrong.
	for _, q := range []string{`assent_nothing_total`, `sum by (kind) (assent_ready)`, `assent_events_total{kind="x"}`, `assent_request_wait_seconds_bucket{outcome="lost"}`, `rate(assent_ready[5m])`} {
		expr, err := parser.ParseExpr(q)
		if err != nil {
			t.Fatal(err)
		}
		if unanswerable(expr, families) == nil {
			t.Errorf("%s passes for answerable", q)
		}
	}
}

// unanswerable says what of a query the broker has no data for.
func unanswerable(expr parser.Expr, families map[string]*dto.MetricFamily) (problems []string) {
	labels := map[string]bool{"instance": true, "job": true, "le": true} // Prometheus' own
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		f := family(families, v.Name)
		if f == nil {
			problems = append(problems, "there is no metric "+v.Name)
			return nil
		}
		values := map[string][]string{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
				values[l.GetName()] = append(values[l.GetName()], l.GetValue())
			}
		}
		for _, m := range v.LabelMatchers {
			if m.Name == model.MetricNameLabel || m.Name == "instance" || m.Name == "job" {
				continue
			}
			if !slices.ContainsFunc(values[m.Name], m.Matches) {
				problems = append(problems, fmt.Sprintf("%s has nothing with %s", v.Name, m))
			}
		}
		for _, outer := range path {
			call, ok := outer.(*parser.Call)
			if ok && (call.Func.Name == "rate" || call.Func.Name == "increase") && f.GetType() == dto.MetricType_GAUGE {
				problems = append(problems, v.Name+" is a gauge and has no "+call.Func.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !labels[l] {
					problems = append(problems, "there is no label "+l)
				}
			}
		}
		return nil
	})
	return problems
}

// family is the one that a series belongs to.
func family(families map[string]*dto.MetricFamily, series string) *dto.MetricFamily {
	if f := families[series]; f != nil && f.GetType() != dto.MetricType_HISTOGRAM {
		return f
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, part); ok && families[name].GetType() == dto.MetricType_HISTOGRAM {
			return families[name]
		}
	}
	return nil
}

// dashboardQueries are those of docs/examples/grafana.json, as Grafana sends them, by panel.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	b, err := os.ReadFile("../../docs/examples/grafana.json")
	if err == nil {
		err = json.Unmarshal(b, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$job", "assent")
	queries := map[string]string{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries[p.Title+" "+target.RefID] = fill.Replace(target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if inner, ok := strings.CutPrefix(v.Query, "label_values("); ok {
			metric, _, _ := strings.Cut(inner, ", ")
			queries["variable "+v.Name] = fill.Replace(metric)
		}
	}
	for where, q := range queries {
		if strings.Contains(q, "$") {
			t.Errorf("%s: an unknown variable in %s", where, q)
		}
	}
	return queries
}

// alertQueries are those of docs/examples/prometheus-alerts.yaml, by alert.
func alertQueries(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../docs/examples/prometheus-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			queries["alert "+r.Alert] = r.Expr
		}
	}
	return queries
}
