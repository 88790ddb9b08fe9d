package phone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"assent/internal/host/said"
)

// Tail is a tailscale on this machine, by its own program.
type Tail struct {
	Program string
	Name    string // of this machine in the tailnet: box.tailnet-name.ts.net
}

// callTime bounds one call of the program.
const callTime = 20 * time.Second

// FindTail looks for a tailscale that could serve the page. nil without an error says that there is none; an
// error says why the one that is there cannot, and what to do.
//
// What is read of tailscale status --json is in ipn/ipnstate.Status of Tailscale's source: BackendState,
// Self.DNSName, CertDomains (filled where HTTPS is on for the tailnet).
func FindTail(ctx context.Context, look func(string) (string, error)) (*Tail, error) {
	program, err := look("tailscale")
	if err != nil {
		return nil, nil
	}
	out, err := call(ctx, program, "status", "--json")
	if err != nil {
		return nil, fmt.Errorf("tailscale is here, but does not say how it is (%w)", err)
	}
	var st struct {
		BackendState string
		Self         struct{ DNSName string }
		CertDomains  []string
	}
	if err := json.Unmarshal(out, &st); err != nil {
		return nil, fmt.Errorf("tailscale is here, but what it says cannot be read (%w)", err)
	}
	name := strings.ToLower(strings.TrimSuffix(st.Self.DNSName, "."))
	switch {
	case st.BackendState != "Running":
		return nil, errors.New("tailscale is here, but not connected; to use it: tailscale up")
	case name == "" || checkName(name) != nil:
		return nil, errors.New("tailscale runs, but gives this machine no name; to use it switch MagicDNS on: https://login.tailscale.com/admin/dns")
	case len(st.CertDomains) == 0:
		return nil, errors.New("tailscale runs, but your tailnet has no HTTPS certificates; to use it switch them on: https://login.tailscale.com/admin/dns")
	}
	return &Tail{Program: program, Name: name}, nil
}

// serving is what of tailscale serve status --json counts here (ipn.ServeConfig in Tailscale's source).
type serving struct {
	TCP map[string]json.RawMessage
	Web map[string]struct {
		Handlers map[string]struct{ Proxy string }
	}
	AllowFunnel map[string]bool
}

func (t *Tail) serving(ctx context.Context) (serving, error) {
	var s serving
	out, err := call(ctx, t.Program, "serve", "status", "--json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, fmt.Errorf("tailscale serve status --json cannot be read: %w", err)
	}
	return s, nil
}

// passes reports whether a port passes everything on to target, and nothing else.
func (s *serving) passes(name string, port int, target string) bool {
	at := name + ":" + strconv.Itoa(port)
	h := s.Web[at].Handlers
	return len(h) == 1 && strings.TrimSuffix(h["/"].Proxy, "/") == target && !s.AllowFunnel[at]
}

// Plan is the door that tailscale would be, on a port that it uses for nothing else, and its arguments for
// that. What it serves already is left alone.
func (t *Tail) Plan(ctx context.Context, target string) (*Door, []string, error) {
	s, err := t.serving(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("what tailscale serves already is not known (%w)", err)
	}
	for _, port := range []int{443, 8443, 7443, 9443} {
		at := t.Name + ":" + strconv.Itoa(port)
		if _, used := s.TCP[strconv.Itoa(port)]; (used || s.AllowFunnel[at]) && !s.passes(t.Name, port, target) {
			continue
		}
		d := &Door{Way: Tailscale, URL: "https://" + t.Name, Port: port, Target: target}
		if port != 443 {
			d.URL += ":" + strconv.Itoa(port)
		}
		return d, []string{"serve", "--bg", "--https=" + strconv.Itoa(port), target}, nil
	}
	return nil, nil, errors.New("tailscale serve uses the ports 443, 8443, 7443 and 9443 for something else; see: tailscale serve status")
}

// Run runs the program with arguments of Plan or Undo.
func (t *Tail) Run(ctx context.Context, args []string) error {
	_, err := call(ctx, t.Program, args...)
	return err
}

// Undo are the arguments that take a door away again, nil where tailscale does not serve it any more: what
// somebody else put on that port since stays.
func (t *Tail) Undo(ctx context.Context, d *Door) ([]string, error) {
	s, err := t.serving(ctx)
	if err != nil {
		return nil, err
	}
	if !s.passes(hostOf(d.URL), d.Port, d.Target) {
		return nil, nil
	}
	return []string{"serve", "--https=" + strconv.Itoa(d.Port), "off"}, nil
}

func hostOf(page string) string {
	host := strings.TrimPrefix(page, "https://")
	host, _, _ = strings.Cut(host, ":")
	return host
}

// maxOut bounds what is kept of a program's output, in bytes.
const maxOut = 4 << 20

// call runs a program and returns its standard output. The error holds what it said and, where it can be
// known, what to do.
func call(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no answer within %v", callTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	out, problem := &said.Output{Most: maxOut}, &said.Output{Most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, problem
	err := cmd.Run()
	if err == nil && out.Over() {
		err = errors.New("it says too much")
	}
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text := strings.TrimSpace(problem.String() + " " + lastLine(out.String()))
	if text == "" {
		return nil, err
	}
	if strings.Contains(strings.ToLower(text), "denied") {
		text += "; let yourself do it with: sudo tailscale set --operator=$USER"
	}
	return nil, fmt.Errorf("%s: %w", text, err)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
