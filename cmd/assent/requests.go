package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"assent/broker"
	"assent/internal/agent/claude/describe"
	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// summary is one line of at most n characters, head and tail of the most telling field.
func summary(r *api.Request, n int) string { return summaryOf(r.ToolName, r.Fields(), n) }

func summaryOf(text string, fields []show.Field, n int) string {
	for _, f := range fields {
		if f.Kind != "words" {
			return elide(show.Line(text)+": "+oneRow(readable(f.Text)), n)
		}
	}
	return elide(show.Line(text), n)
}

func oneRow(safe string) string { return show.OneRow(safe) }

// elide is for text that is safe to show.
func elide(safe string, n int) string { return show.Elide(safe, n) }

// find is api.Client.Find, anyRequest FindID and session FindSession, with the exit codes of call.
func (c *client) find(ctx context.Context, id string) (*api.Request, error) {
	r, err := c.Find(ctx, id)
	return r, withExit(err)
}

// found is the broker, and the request that is named to a command.
func (a *app) found(ctx context.Context, id string) (*client, *api.Request, error) {
	b, err := a.broker()
	if err != nil {
		return nil, nil, err
	}
	r, err := b.find(ctx, id)
	return b, r, err
}

func (c *client) anyRequest(ctx context.Context, id string) (string, error) {
	id, err := c.FindID(ctx, id)
	return id, withExit(err)
}

func (c *client) session(ctx context.Context, name string, titles bool) (*terminal.Session, error) {
	s, err := c.FindSession(ctx, name, titles)
	if err != nil {
		return nil, withExit(err)
	}
	return &terminal.Session{Session: *s}, nil
}

// decide answers r and says how far the answer got.
func (c *client) decide(ctx context.Context, r *api.Request, d hook.Decision) (delivery string, err error) {
	d.InputSHA256 = r.InputSHA256
	if err := c.signDecision(r.ID, &d, time.Now()); err != nil {
		return "", err
	}
	var res api.DecisionResult
	err = c.call(ctx, "POST", "/v1/requests/"+url.PathEscape(r.ID)+"/decision", d, &res)
	if p := (*api.Problem)(nil); errors.As(err, &p) && p.Status >= 500 {
		err = &unsureError{p, r.ID}
	}
	return res.Delivery, err
}

// unsureError is a decision of which nobody knows whether it was recorded: the broker did not hear
// of its record in time.
type unsureError struct {
	problem *api.Problem
	id      string
}

func (e *unsureError) Error() string {
	return fmt.Sprintf("whether this was recorded is not known (%v); look before you answer again: %s trace %s", e.problem, typed(), show.Line(e.id))
}

func (a *app) allowCmd() *cobra.Command {
	var input string
	var answers []string
	var always, sign bool
	var keep keepFlags
	c := &cobra.Command{
		Use:   "allow NUMBER|ID",
		Short: "Allow a waiting request",
		Long: `Allow a waiting request. The last digits of its number are enough if no other request of the last
hour ends in them. Given a number, assent first prints what the request would do and its exact
text; a request that is dangerous, or was never shown to you here, needs a yes at the terminal.
Given a complete id, assent allows the request without a question: for scripts. The beginning of
an id is not enough, because the submitter chooses the ids. A request that asks questions takes
one --answer for each question, in order.

With --grant, --times or --rule, assent also saves a rule made from the request, and then answers
similar requests without asking. assent proposals ID shows the possible rules; the first, which is
the narrowest, is used. A rule that lasts (--rule) is shown, and saved once you confirm it.

--signed allows a request of Claude Code with the key of this terminal (assent agent key), or with
the key bound to the token (ASSENT_TOKEN_KEY, see assent token key), for hooks that accept only
signed answers (docs/managed.md). The text that is shown and signed is read from the agent's own
request; nothing that the broker says about the request is believed.`,
		Example: `  assent allow 417
  assent allow 417 --signed --url https://box.example.net
  assent allow 4f1c2a9e-0d59-4f0e-9d0c-0d9a55f4a6b1
  assent allow ID --answer Blue --answer "Salt, Basil"
  assent allow ID --grant 15m
  assent allow ID --times 3
  assent allow ID --rule --proposal 2
  assent allow ID --always`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			byNumber := api.NumberLike(args[0])
			if len(args[0]) != 36 && !byNumber {
				return usagef("allow %s: want the whole id, or the number that assent pending prints", show.Line(args[0]))
			}
			if err := keep.check(cmd, input != "" || len(answers) > 0); err != nil {
				return err
			}
			if sign {
				if keep.wanted() || input != "" || len(answers) > 0 || always {
					return usagef("--signed allows a request as it is; leave the other flags out")
				}
				return a.allowSigned(cmd.Context(), args[0], byNumber)
			}
			over := false
			err := a.answer(cmd.Context(), args[0], func(r *api.Request) (hook.Decision, error) {
				d := hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(input)}
				if byNumber {
					if err := a.confirmNumbered(cmd.Context(), r); err != nil {
						return d, err
					}
				}
				if keep.wanted() {
					err := a.keep(cmd.Context(), r, keep)
					if over = err == nil && r.State == broker.Ended; over {
						err = errOver
					}
					return d, err
				}
				if input != "" && !json.Valid([]byte(input)) {
					return d, usagef("--input is not JSON")
				}
				if len(answers) > 0 {
					in, err := answered(r.ToolInput, answers)
					if err != nil {
						return d, err
					}
					d.UpdatedInput = in
				}
				if always {
					if len(r.Suggestions) == 0 {
						return d, usagef("the agent suggested no permission to keep for this request")
					}
					d.UpdatedPermissions = r.Suggestions
				}
				return d, nil
			})
			if over {
				return nil // what was asked for is saved
			}
			return err
		},
	}
	c.Flags().StringVar(&input, "input", "", "JSON object that replaces the tool input")
	c.Flags().StringArrayVar(&answers, "answer", nil, "answer to the next of the questions asked")
	c.Flags().BoolVar(&sign, "signed", false, "sign with this terminal's or the token's key, for hooks that require signatures")
	keep.add(c)
	c.Flags().BoolVar(&always, "always", false, "also grant what the agent suggested for later calls (assent pending --json: permissionSuggestions)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// errOver says that there is nothing to allow any more.
var errOver = errors.New("the request is over")

// answered returns the input of a question with its answers added.
func answered(input hook.JSON, answers []string) (hook.JSON, error) {
	var in map[string]json.RawMessage
	var qs []struct {
		Question string `json:"question"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the request's input: %w", err)
	}
	if json.Unmarshal(in["questions"], &qs) != nil || len(qs) == 0 {
		return nil, usagef("--answer goes with a question; this request asks none")
	}
	if len(qs) != len(answers) {
		return nil, usagef("the request needs one --answer for each question: it asks %d and got %d", len(qs), len(answers))
	}
	m := map[string]string{}
	for i, q := range qs {
		m[q.Question] = answers[i]
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode answers: %w", err)
	}
	in["answers"] = b
	return json.Marshal(in)
}

func (a *app) denyCmd() *cobra.Command {
	var d hook.Decision
	c := &cobra.Command{
		Use:   "deny NUMBER|ID",
		Short: "Deny a waiting request",
		Long: `Deny a waiting request. The last digits of its number are enough if no other request of the last
hour ends in them; so is the beginning of its id if no other waiting request begins with it. The
message given with -m reaches the agent word for word. --interrupt also stops the agent's turn;
Claude Code then drops the message.`,
		Example: "  assent deny 417 -m \"not on a Friday\"",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.answer(cmd.Context(), args[0], func(*api.Request) (hook.Decision, error) {
				d.Behavior = hook.BehaviorDeny
				return d, nil
			})
		},
	}
	c.Flags().StringVarP(&d.Message, "message", "m", "", "message for the agent")
	c.Flags().BoolVar(&d.Interrupt, "interrupt", false, "stop the agent's turn")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) answer(ctx context.Context, id string, decision func(*api.Request) (hook.Decision, error)) error {
	b, r, err := a.found(ctx, id)
	if err != nil {
		return err
	}
	d, err := decision(r)
	if err != nil {
		return err
	}
	delivery, err := b.decide(ctx, r, d)
	if err != nil {
		if tools.Of(r.ToolName).Kind == tool.Question && d.Behavior == hook.BehaviorAllow && len(d.UpdatedInput) == 0 {
			return fmt.Errorf("%w; give one --answer for each question", err)
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"id": r.ID, "behavior": string(d.Behavior), "delivery": delivery})
	}
	what, changed := summary(r, 80), describe.Edited(r.ToolName, r.ToolInput, d.UpdatedInput)
	if changed != nil && changed.Shown != nil {
		what = summaryOf(r.ToolName, changed.Shown.Fields, 80)
	}
	fmt.Fprintf(a.out, "%s%s %s: %s\n", pastTense(d.Behavior), asEdited(changed), what, deliveryWords(delivery))
	for _, l := range allowedLines(changed, "  ") {
		fmt.Fprintln(a.out, hang(l, 4, columns(a.out)))
	}
	if len(d.UpdatedPermissions) > 0 {
		fmt.Fprintln(a.out, "Granted for later calls, as the agent suggested:", elide(show.Line(string(d.UpdatedPermissions)), 2000))
	}
	return nil
}

func pastTense(b hook.Behavior) string {
	if b == hook.BehaviorAllow {
		return "Allowed"
	}
	return "Denied"
}

func deliveryWords(d string) string {
	if d == "recorded" {
		return "recorded; the hook has not fetched it yet"
	}
	return show.Line(d)
}
