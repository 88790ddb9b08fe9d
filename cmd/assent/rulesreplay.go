package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/policy"
	"assent/internal/text/show"
)

func (a *app) rulesReplayCmd() *cobra.Command {
	var file, since string
	var all bool
	c := &cobra.Command{
		Use:   "replay",
		Short: "Say what rules would have made of past requests",
		Long: `Ask the running broker for the requests that ended, and say what the rules would have decided
about each, and where that is something else than what happened. With --rules FILE that file is
asked and no other; without, those that the broker of this machine would load now.

What a person denied and the rules would allow comes first: look at each. Nothing is changed or
run. Each request is judged at its own time, mode and branch; symbolic links are followed as they
are now.`,
		Example: `  assent rules replay --since 7d --rules new.yaml
  assent rules replay --since 24h --json | jq -c .request`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ago, err := longDuration(since)
			if err != nil {
				return usagef("--since %s: want a time that has passed, such as 24h or 7d", since)
			}
			b, err := a.broker()
			if err != nil {
				return err
			}
			r := &replay{a: a, b: b, file: file, sets: map[string]replaySet{}}
			from := time.Now().Add(-ago)
			if err := r.run(cmd.Context(), from); err != nil {
				return err
			}
			if a.json {
				return r.printJSON(from)
			}
			r.print(from, all)
			return nil
		},
	}
	c.Flags().StringVar(&since, "since", "7d", "how far back")
	c.Flags().StringVar(&file, "rules", "", "this file of rules, and no other")
	c.Flags().BoolVar(&all, "all", false, "print every line of long lists")
	c.Flags().BoolVar(&a.json, "json", false, "the counts, and each request that would have gone otherwise, as lines of JSON")
	return c
}

var days = regexp.MustCompile(`^([1-9][0-9]{0,3})d$`)

// longDuration reads 24h and 7d.
func longDuration(text string) (time.Duration, error) {
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("not above 0")
	}
	return d, err
}

// replay judges past requests.
type replay struct {
	a    *app
	b    *client
	file string
	sets map[string]replaySet // by the root of the repository whose file counts, "" for none

	judged  int
	same    int
	changed [len(replayKinds)][]replayed
}

// replaySet is the rules for the requests of one repository.
type replaySet struct {
	*policy.Set
	broken bool // the repository's file is: nothing is allowed by rule there
}

// replayed is a request that would have gone otherwise.
type replayed struct {
	Kind    string      `json:"kind"`
	Request string      `json:"request"`
	Time    time.Time   `json:"time"`
	Tool    string      `json:"tool"`
	What    string      `json:"what"` // one line, shortened
	Was     string      `json:"was"`  // its outcome
	By      string      `json:"by,omitempty"`
	Verdict hook.Action `json:"verdict"`
	Rule    string      `json:"rule,omitempty"`
	File    string      `json:"file,omitempty"`
	Reason  string      `json:"reason"`
}

// replayKinds are the ways in which a request can go otherwise, the most telling first.
var replayKinds = [...]struct{ name, words string }{ // read-only
	{"denied-now-allowed", "denied by a person, would be ALLOWED BY RULE"},
	{"ruled-denied-now-allowed", "denied by a rule, would be ALLOWED BY RULE"},
	{"open-now-allowed", "allowed by nobody, would be ALLOWED BY RULE"},
	{"changed-now-allowed", "allowed by a person with changes, would be allowed as it came"},
	{"allowed-now-denied", "allowed, would be denied by rule"},
	{"open-now-denied", "answered by nobody, would be denied by rule"},
	{"denied-now-denied", "denied by a person, would be denied by rule"},
	{"denied-now-asked", "denied by a rule, would be asked"},
	{"ruled-now-asked", "allowed by a rule, would be asked"},
	{"allowed-now-allowed", "allowed by a person, would be allowed by rule"},
}

// replayKind says how a request would go otherwise; ok is false when it would go as it went.
func replayKind(r *api.Request, now hook.Action) (kind int, ok bool) {
	ruled := r.DecidedBy != nil && r.DecidedBy.Kind == hook.KindRule
	allowed := r.Outcome == hook.Allowed || r.Outcome == hook.Withdrawn && r.Reason == hook.ReasonToolRan
	denied := r.Outcome == hook.Denied
	name := ""
	switch now {
	case hook.ActionAllow:
		switch {
		case denied && ruled:
			name = "ruled-denied-now-allowed"
		case denied:
			name = "denied-now-allowed"
		case !allowed:
			name = "open-now-allowed"
		case len(r.Response.UpdatedInput()) > 0:
			name = "changed-now-allowed"
		case !ruled:
			name = "allowed-now-allowed"
		}
	case hook.ActionDeny:
		switch {
		case allowed:
			name = "allowed-now-denied"
		case !denied:
			name = "open-now-denied"
		case !ruled:
			name = "denied-now-denied"
		}
	case hook.ActionAsk:
		switch {
		case ruled && denied:
			name = "denied-now-asked"
		case ruled && allowed:
			name = "ruled-now-asked"
		}
	}
	for i, k := range replayKinds {
		if k.name == name {
			return i, true
		}
	}
	return 0, false
}

// run goes through the requests that ended since then, newest first.
func (r *replay) run(ctx context.Context, since time.Time) error {
	after := ""
	for {
		path := "/v1/requests?state=ended&limit=1000"
		if after != "" {
			path += "&after=" + url.QueryEscape(after)
		}
		var page []api.Request
		if err := r.b.call(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		for i := range page {
			q := &page[i]
			if !q.SettledAt.IsZero() && q.SettledAt.Before(since) {
				return nil
			}
			if q.CreatedAt.Before(since) {
				continue
			}
			if err := r.judge(q); err != nil {
				return err
			}
		}
		if len(page) == 0 || page[len(page)-1].ID == after {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

func (r *replay) judge(q *api.Request) error {
	if q.Event != "" {
		return nil // an MCP server's form, which no rule is about
	}
	call := requestCall(q)
	root := ""
	if r.file == "" && !call.Elsewhere {
		root = q.Repo.Root
	}
	set, err := r.set(root)
	if err != nil {
		return err
	}
	v := set.Eval(call)
	forBroker(&v, q.ToolName)
	if set.broken && v.Action == hook.ActionAllow {
		v = hook.Verdict{Action: hook.ActionAsk, Reason: "the repository's rules are broken"}
	}
	r.judged++
	kind, ok := replayKind(q, v.Action)
	if !ok {
		r.same++
		return nil
	}
	c := replayed{
		Kind: replayKinds[kind].name, Request: q.ID, Time: q.CreatedAt, Tool: q.ToolName, What: summary(q, 200), Was: string(q.Outcome),
		Verdict: v.Action, Rule: v.Rule, File: v.File, Reason: v.Reason,
	}
	if q.DecidedBy != nil {
		c.By = q.DecidedBy.Who()
	}
	r.changed[kind] = append(r.changed[kind], c)
	return nil
}

// set returns the rules for requests from the repository at root.
func (r *replay) set(root string) (replaySet, error) {
	if set, known := r.sets[root]; known {
		return set, nil
	}
	var set replaySet
	f, err := r.a.readRules(r.file, root)
	if err != nil {
		return set, err
	}
	var problems []policy.Problem
	set.Set, problems = f.load(root != "") // the broker runs no tests of a repository's file
	switch {
	case len(problems) > 0 && root == "":
		r.a.printProblems(r.a.err, f, problems)
		return set, errors.New("the rules have mistakes, which the broker would not load either")
	case len(problems) > 0:
		if set, err = r.set(""); err != nil {
			return set, err
		}
		r.a.printProblems(r.a.err, f, problems)
		set.broken = true
	}
	if len(r.sets) >= 100 {
		clear(r.sets)
	}
	r.sets[root] = set
	return set, nil
}

const maxReplayLines = 15

func (r *replay) print(since time.Time, all bool) {
	out := r.a.out
	if r.judged == 0 {
		fmt.Fprintf(out, "No request has ended since %s.\n", since.Local().Format("2006-01-02 15:04"))
		return
	}
	fmt.Fprintf(out, "%s since %s\n\n", counted(r.judged, "request"), since.Local().Format("2006-01-02 15:04"))
	for i, k := range replayKinds {
		if n := len(r.changed[i]); n > 0 {
			fmt.Fprintf(out, "%6d  %s\n", n, k.words)
		}
	}
	fmt.Fprintf(out, "%6d  as it went\n", r.same)
	for i, k := range replayKinds {
		if len(r.changed[i]) == 0 {
			continue
		}
		fmt.Fprintln(out)
		if i == 0 {
			fmt.Fprintf(out, "!!! WARNING: A PERSON DENIED %s THAT THESE RULES WOULD ALLOW !!!\n", map[bool]string{true: "ONE REQUEST", false: fmt.Sprint(len(r.changed[i])) + " REQUESTS"}[len(r.changed[i]) == 1])
		} else {
			fmt.Fprintf(out, "%s:\n", k.words)
		}
		lines := folded(r.changed[i])
		for j, l := range lines {
			if j == maxReplayLines && !all && i > 0 {
				fmt.Fprintf(out, "  … and %d more; --all prints them\n", len(lines)-j)
				break
			}
			l.print(r.a)
		}
	}
}

// foldedLine is requests that look the same and were judged the same.
type foldedLine struct {
	replayed
	times int
}

func folded(list []replayed) []*foldedLine {
	type key struct{ what, was, by, rule, file string }
	var lines []*foldedLine
	known := map[key]*foldedLine{}
	for _, c := range list {
		k := key{c.What, c.Was, c.By, c.Rule, c.File}
		if l := known[k]; l != nil {
			l.times++
			continue
		}
		l := &foldedLine{c, 1}
		known[k] = l
		lines = append(lines, l)
	}
	return lines
}

func (l *foldedLine) print(a *app) {
	times := ""
	if l.times > 1 {
		times = fmt.Sprintf(" (%d times)", l.times)
	}
	fmt.Fprintln(a.out, wrapped(elide(l.What, 100), "  ", "      ")+times)
	by := ""
	if l.By != "" {
		by = " by " + show.Short(l.By, 40)
	}
	then := fmt.Sprintf("%s%s, %s", show.Line(l.Was), by, l.Time.Local().Format("2006-01-02 15:04"))
	now := string(l.Verdict) + ": " + show.Line(l.Reason)
	if l.Rule != "" {
		now = fmt.Sprintf("%s by %s", l.Verdict, ruleName(l.Rule, l.File))
	}
	fmt.Fprintln(a.out, wrapped(then, "      then: ", "            "))
	fmt.Fprintln(a.out, wrapped(now, "      now:  ", "            "))
	fmt.Fprintln(a.out, "      id:   "+show.Line(l.Request))
}

// replayCounts is the first line of replay's JSON.
type replayCounts struct {
	Since  time.Time      `json:"since"`
	Judged int            `json:"judged"`
	Same   int            `json:"same"`
	Kinds  map[string]int `json:"kinds"`
}

func (r *replay) printJSON(since time.Time) error {
	counts := replayCounts{since.UTC(), r.judged, r.same, map[string]int{}}
	for i, k := range replayKinds {
		counts.Kinds[k.name] = len(r.changed[i])
	}
	if err := r.a.printJSON(counts); err != nil {
		return err
	}
	for _, list := range r.changed {
		for _, c := range list {
			if err := r.a.printJSON(c); err != nil {
				return err
			}
		}
	}
	return nil
}
