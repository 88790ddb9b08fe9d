package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// forgetMessage deletes the text of one message to a session; id may be the beginning of its id.
func (a *app) forgetMessage(ctx context.Context, b *client, session, id string, yes bool) error {
	s, err := b.session(ctx, session, false)
	if err != nil {
		return err
	}
	path := "/v1/sessions/" + url.PathEscape(s.SessionID) + "/messages"
	var ms []hook.Message
	if err := b.call(ctx, "GET", path, nil, &ms); err != nil {
		return err
	}
	if id == "" {
		return usagef("--message: want the id of a message; see assent trace --messages SESSION")
	}
	m, err := messageLike(ms, id)
	if err != nil {
		return err
	}
	if !yes {
		fmt.Fprintln(a.err, messageLines(m)[0])
		if err := a.surelyForget(ctx, "Forget the text of this message? This cannot be undone."); err != nil {
			return err
		}
	}
	if err := b.call(ctx, "DELETE", path+"/"+url.PathEscape(m.ID)+"/text", nil, m); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(m)
	}
	fmt.Fprintf(a.out, "Forgotten: the text of %s\n", show.Line(m.ID))
	if m.Way != "" {
		fmt.Fprintf(a.out, "It was handed over: what the session and its host had of it stays until you forget the session (assent forget %s).\n", show.Line(s.SessionID))
	}
	return nil
}

// messageLike is the message whose id is, or begins with, id.
func messageLike(ms []hook.Message, id string) (found *hook.Message, err error) {
	for i := range ms {
		if ms[i].ID == id {
			return &ms[i], nil
		}
		if !strings.HasPrefix(ms[i].ID, id) {
			continue
		}
		if found != nil {
			return nil, usagef("more than one message of this session begins with %s; write more of the id", show.Line(id))
		}
		found = &ms[i]
	}
	if found == nil {
		return nil, &exitError{exitRefused, fmt.Errorf("no message of this session has the id %s; assent trace --messages SESSION shows those that there are", show.Line(id))}
	}
	if hook.Wordless(found.Kind) {
		return nil, &exitError{exitRefused, fmt.Errorf("this message has no text: it is a %s by %s", show.Line(found.Kind), show.Line(api.ApproverName(&found.By)))}
	}
	return found, nil
}
