package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"assent/internal/agent/claude"
	"assent/internal/agent/claude/describe"
	"assent/internal/api"
	"assent/internal/auth/devicekey"
	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// allowSigned allows a request of Claude Code with the key of this terminal or of the token, for a hook that requires
// signatures. Nothing that the broker says of the request is believed: what is shown and signed is read from
// the payload, by this program, so that a broker that shows one thing cannot have another signed.
func (a *app) allowSigned(ctx context.Context, id string, asks bool) error {
	b, key, err := a.asSigner(ctx)
	if err != nil {
		return err
	}
	r, err := b.find(ctx, id)
	if err != nil {
		return err
	}
	d, fields, err := seenDecision(r, time.Now())
	if err != nil {
		return refusedf("request %s was not allowed: %w", number(r), err)
	}
	out := a.out
	if a.json {
		out = a.err
	}
	palette, width := terminal.NewPalette(out, noEnv), columns(out)
	for _, line := range append([]string{"From the agent's own request, read here:"}, fields...) {
		for _, row := range terminal.Wrap(line, width, 4) {
			fmt.Fprintln(out, palette.Paint(row))
		}
	}
	if asks {
		yes, err := a.confirm(ctx, "Sign an allow of this?", false)
		if err != nil {
			return fmt.Errorf("nothing was allowed: %w; by its whole id it is allowed without a question", err)
		}
		if !yes {
			return refusedf("nothing was allowed")
		}
	}
	if d.Signature, err = key.Sign(signed.DecisionText(r.ID, d)); err != nil {
		return err
	}
	var res api.DecisionResult
	if err := b.call(ctx, "POST", "/v1/requests/"+url.PathEscape(r.ID)+"/decision", d, &res); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"id": r.ID, "behavior": string(d.Behavior), "delivery": res.Delivery})
	}
	fmt.Fprintf(a.out, "Allowed and signed by device:%s: %s\n", signed.Thumbprint(key.JWK()), deliveryWords(res.Delivery))
	return nil
}

// asSigner is the broker, spoken to with the token that is bound to a key or as the device that this terminal is.
func (a *app) asSigner(ctx context.Context) (*client, *devicekey.Key, error) {
	key, err := tokenKey()
	if err != nil || key == nil {
		if err != nil {
			return nil, nil, err
		}
		return a.asDevice(ctx)
	}
	b, err := a.broker()
	return b, key, err
}

func noEnv(string) string { return "" }

// seenDecision is an allow of what the payload of r asks for, not signed yet, and what a person is shown of
// it. An error says why nobody should sign that.
func seenDecision(r *api.Request, at time.Time) (d hook.Decision, fields []string, err error) {
	raw := cmp.Or(r.Raw, string(r.RawBase64))
	if raw == "" {
		return d, nil, fmt.Errorf("the broker does not show the agent's own request")
	}
	p, err := claude.Agent{}.Decode("", []byte(raw))
	switch {
	case err != nil || p.Type != hook.EventPermissionRequest:
		return d, nil, fmt.Errorf("it is no request of Claude Code that can be read here")
	case p.Uninspectable != "":
		return d, nil, fmt.Errorf("it can be read in more than one way (%s)", show.Line(p.Uninspectable))
	case p.InputSHA256 != r.InputSHA256 || p.ToolName != r.ToolName || p.CWD != r.CWD:
		return d, nil, fmt.Errorf("the broker says something else of it than the agent's own request does: do not trust that broker")
	}
	_, parts := describe.Call(p.ToolName, p.ToolInput)
	fields = []string{"  tool: " + show.Line(p.ToolName), "  directory: " + show.Line(p.CWD)}
	fields = append(fields, inputLines(parts, "  ")...)
	shown, err := json.Marshal(map[string]string{"tool": p.ToolName, "cwd": p.CWD})
	if err != nil {
		return d, nil, err
	}
	return hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: p.InputSHA256, Shown: string(shown), SignedAt: at.UTC().Format(time.RFC3339Nano)}, fields, nil
}
