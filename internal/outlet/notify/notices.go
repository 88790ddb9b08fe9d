package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"assent/internal/hook"
	"assent/internal/host/regular"
)

// Notice is one service of the file of notices: a URL as shoutrrr knows them, or a webhook.
type Notice struct {
	Name string
	// URL is a secret, and so is Secret.
	URL string
	// Webhook says that URL is one, and Secret is what its calls are signed with.
	Webhook bool
	Secret  []byte
	// Settled tells also that requests wait no more.
	Settled bool
	Settings
}

// noticesFile is the file as it is written.
type noticesFile struct {
	Notices []struct {
		Name        string   `yaml:"name"`
		URL         string   `yaml:"url"`
		Webhook     string   `yaml:"webhook"`
		Secret      string   `yaml:"secret"`
		After       string   `yaml:"after"`
		Quiet       []Hours  `yaml:"quiet"`
		TimeZone    string   `yaml:"time-zone"`
		Only        []string `yaml:"only-sessions"`
		Mute        []string `yaml:"mute-sessions"`
		ShowSession bool     `yaml:"show-session"`
		ShowContent bool     `yaml:"show-content"`
		Finished    bool     `yaml:"finished"`
		Failed      bool     `yaml:"failed"`
		StillWaits  bool     `yaml:"still-waits"`
		Settled     bool     `yaml:"settled"`
	} `yaml:"notices"`
}

const (
	maxNotices     = 32
	maxNoticesFile = 64 << 10
)

// ReadNotices reads the file of notices. Only its owner may be able to read it, for it is full of
// secrets; its errors do not show them. A file that is not there is fs.ErrNotExist.
func ReadNotices(path string) ([]Notice, error) {
	f, fi, err := regular.Open(path, os.O_RDONLY, 0)
	if errors.Is(err, regular.ErrRefused) {
		return nil, fmt.Errorf("notices: %s is no file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("notices: %w", err)
	}
	defer f.Close()
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("notices: %s belongs to another user (uid %d); make one of your own", path, st.Uid)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("notices: others can read %s, and it holds secrets; run: chmod 600 %s", path, path)
	}
	data, err := regular.All(f, maxNoticesFile)
	if err != nil && !errors.Is(err, regular.ErrLarge) { // of that parseNotices tells
		return nil, fmt.Errorf("notices: read %s: %w", path, err)
	}
	list, err := parseNotices(data)
	if err != nil {
		return nil, fmt.Errorf("notices: %s: %w", path, err)
	}
	return list, nil
}

func parseNotices(data []byte) ([]Notice, error) {
	if len(data) > maxNoticesFile {
		return nil, fmt.Errorf("larger than %d bytes", maxNoticesFile)
	}
	var file noticesFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(withoutValues(err))
	}
	if len(file.Notices) > maxNotices {
		return nil, fmt.Errorf("want at most %d notices", maxNotices)
	}
	list := make([]Notice, 0, len(file.Notices))
	names := map[string]bool{}
	for i, in := range file.Notices {
		n := Notice{Name: in.Name, URL: in.URL, Settled: in.Settled, Settings: DefaultSettings()}
		where := fmt.Sprintf("notice %d", i+1)
		if !nameForm.MatchString(n.Name) || names[n.Name] {
			return nil, fmt.Errorf("%s: want a name of its own: up to 40 letters, digits, - and _", where)
		}
		names[n.Name] = true
		where = "notice " + n.Name
		if in.After != "" {
			after, err := time.ParseDuration(in.After)
			if err != nil || after < 0 {
				return nil, fmt.Errorf(`%s: after: want a duration such as "30s"`, where)
			}
			n.AfterSeconds = int((after + time.Second - 1) / time.Second)
		}
		n.Quiet, n.TimeZone, n.ShowSession = in.Quiet, in.TimeZone, in.ShowSession
		n.ShowContent, n.ShowSentence = in.ShowContent, in.ShowContent
		n.Finished, n.Failed, n.StillWaits = in.Finished, in.Failed, in.StillWaits
		switch {
		case len(in.Only) > 0 && len(in.Mute) > 0:
			return nil, fmt.Errorf("%s: want only-sessions or mute-sessions, not both", where)
		case len(in.Only) > 0:
			n.Sessions = Choice{"only", in.Only}
		case len(in.Mute) > 0:
			n.Sessions = Choice{"mute", in.Mute}
		}
		if err := n.Settings.check(); err != nil {
			return nil, fmt.Errorf("%s: %s", where, strings.TrimPrefix(err.Error(), "settings."))
		}
		if err := n.aim(in.URL, in.Webhook, in.Secret); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		list = append(list, n)
	}
	return list, nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// aim takes in where a notice goes.
func (n *Notice) aim(service, webhook, secret string) error {
	switch {
	case (service == "") == (webhook == ""):
		return errors.New("want url, for a service, or webhook, and not both")
	case service != "" && secret != "":
		return errors.New("secret is for webhooks")
	case service != "":
		return checkService(service)
	}
	u, err := url.Parse(webhook)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("webhook: want an https URL")
	}
	n.URL, n.Webhook = webhook, true
	n.Secret, err = webhookSecret(secret)
	return err
}

// quoted are the parts of an error of the YAML reader that show what stands in the file.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")

// withoutValues is an error of the YAML reader without what stands in the file.
func withoutValues(err error) string {
	return quoted.ReplaceAllString(err.Error(), "…")
}

// toNotice tells a service. What it answers is for the log: without secrets.
func (p *Push) toNotice(ctx context.Context, n *Notice, d *delivery) verdict {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	if n.Webhook {
		return p.toWebhook(ctx, n, d)
	}
	if p.cfg.Deliver == nil {
		return verdict{trouble: "this broker sends to webhooks only"}
	}
	if err := p.cfg.Deliver(ctx, n.URL, d.text(p.cfg.URL)); err != nil {
		if ctx.Err() != nil {
			return verdict{trouble: "it did not answer in time"}
		}
		// The error may hold the URL, or parts of it.
		return verdict{trouble: "it did not take the message; see: assent notices test " + n.Name}
	}
	return verdict{}
}

// noticeTimeout bounds one delivery; some services are asked twice.
const noticeTimeout = 20 * time.Second

// text is a delivery in words, for services that show text.
func (d *delivery) text(page string) string {
	link := ""
	if page != "" {
		link = "\n" + page
	}
	in, agent := "", "An agent"
	if d.Agent != "" {
		in, agent = " of "+d.Agent, d.Agent
	}
	if d.Session != "" {
		in += " in " + d.Session
	}
	switch d.Type {
	case typeAsked:
		if page != "" {
			link += requestPath(d.RequestID)
		}
		what := map[string]string{"question": "A question waits", "plan": "A plan waits"}[d.Waits]
		if what == "" {
			what = "A request waits"
		}
		return d.content(what+in) + link
	case typeWaits:
		if page != "" {
			link += requestPath(d.RequestID)
		}
		return d.content("A request has waited for 10 minutes"+in) + link
	case typeFinished:
		return agent + " has finished" + d.where() + link
	case typeFailed:
		return agent + " has failed" + d.where() + link
	case typeBlocked:
		over := " has spent its budget"
		if d.Waits == waitsTime {
			over = " has worked for its time"
		}
		return agent + over + d.where() + link
	case typeHalted:
		return haltWords(d.Halt, d.By, d.Until) + link
	case typeMany:
		return fmt.Sprintf("%d requests wait%s", d.Waiting, link)
	case typeTest:
		return "A test from assent: this is where you are told that a request waits" + link
	}
	if d.Waiting == 0 {
		return "Nothing waits any more"
	}
	return fmt.Sprintf("%d of the requests wait no more, %d still do%s", len(d.Gone), d.Waiting, link)
}

// content is what a request is about, if that is to be said, else other.
func (d *delivery) content(other string) string {
	if d.Sentence == "" {
		return other
	}
	text := d.Sentence
	if d.Project != "" {
		text = d.Project + ": " + text
	}
	if d.Agent != "" {
		text = d.Agent + ", " + text
	}
	if d.Risk.Level() >= hook.Attention.Level() {
		text += " (" + string(d.Risk) + ")"
	}
	if d.Type == typeWaits {
		text += ", for 10 minutes now"
	}
	return text
}

// where is the project or the session, if one may be named.
func (d *delivery) where() string {
	if name := cmp.Or(d.Project, d.Session); name != "" {
		return " in " + name
	}
	return ""
}

// haltWords says what somebody did to everything.
func haltWords(act, by string, until time.Time) string {
	switch act {
	case hook.HaltStop:
		return "Everything is stopped by " + by + ": rules and grants allow nothing"
	case hook.HaltLift:
		return "The stop was lifted by " + by
	case hook.HaltPause:
		return "Everything is paused by " + by + " until " + until.Format("2006-01-02 15:04 MST") + ": the agents' own prompts decide"
	}
	return "The pause was ended by " + by
}

// requestPath leads to a request's card on the page.
func requestPath(id string) string { return "/?request=" + url.QueryEscape(id) }

// TestNotice sends a test to a notice's service. Its error is for the owner of the file: it may
// hold parts of the URL.
func TestNotice(ctx context.Context, n *Notice, deliver func(ctx context.Context, url, text string) error) error {
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	d := &delivery{made: time.Now(), Message: Message{Type: typeTest}}
	if !n.Webhook {
		return deliver(ctx, n.URL, d.text(""))
	}
	p := &Push{hooks: newHooksClient(nil)}
	defer p.hooks.CloseIdleConnections()
	if v := p.toWebhook(ctx, n, d); v.trouble != "" {
		return errors.New(v.trouble)
	}
	return nil
}
