package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/internal/agent/claude/install"
	"assent/internal/agent/codex"
	codexinstall "assent/internal/agent/codex/install"
	"assent/internal/text/show"
)

// codexPatience is how long Codex may take to say what it knows of its hooks.
const codexPatience = 20 * time.Second

// checkCodex looks at Codex, if it is on this machine: its hooks, and whether it runs them.
func (x *examination) checkCodex(ctx context.Context) []Finding {
	program := onPath(x.Env("PATH"), "codex")
	home, err := codexinstall.Home(x.Env)
	if program == "" || err != nil {
		return nil // nothing to say of an agent that is not here
	}
	s, ok := install.Read(filepath.Join(home, "hooks.json"))
	var have []string
	for _, h := range s.Hooks {
		if h.Ours {
			have = append(have, h.Event)
		}
	}
	f := Finding{Name: "codex", Status: OK}
	switch {
	case ok && s.Err != nil:
		f.Status, f.Detail, f.Fix = Fail, s.Err.Error(), "fix the file"
		return []Finding{f}
	case len(have) == 0:
		f.Status, f.Detail, f.Fix = Warn, program+" is here, without hooks of assent: it asks in its terminal only", "assent install codex"
		return []Finding{f}
	}
	for _, e := range codex.Events {
		if !slices.Contains(have, e) {
			f.Status, f.Detail, f.Fix = Warn, s.Path+" has no hook for "+e, "assent install codex"
			return []Finding{f}
		}
	}
	dir, _, err := x.Where()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, codexPatience)
		defer cancel()
		var trust map[string]string
		if trust, err = codexTrust(ctx, program, dir, s.Path); err == nil {
			return []Finding{trusted(f, s.Path, trust)}
		}
	}
	f.Status, f.Detail, f.Fix = Warn, "hooks are in "+s.Path+"; whether Codex trusts them it does not say: "+show.Line(err.Error()), "start codex: it asks about hooks that it does not trust"
	return []Finding{f}
}

// trusted says whether Codex runs the hooks, by what it says of each.
func trusted(f Finding, path string, trust map[string]string) Finding {
	var not []string
	for event, status := range trust {
		if status != "trusted" && status != "managed" {
			not = append(not, event)
		}
	}
	slices.Sort(not)
	switch {
	case len(trust) == 0:
		f.Status, f.Detail, f.Fix = Warn, "Codex does not list the hooks of "+path, "start codex, and look at /hooks"
	case len(not) > 0:
		f.Status, f.Fix = Fail, "start codex, and choose \"Trust all and continue\""
		f.Detail = fmt.Sprintf("Codex does not run %s of assent: not trusted, or changed since (%s)", show.Count(len(not), "hook"), show.Line(strings.Join(not, ", ")))
	default:
		f.Detail = fmt.Sprintf("%s in %s, and Codex trusts them", show.Count(len(trust), "hook"), path)
	}
	return f
}

// codexTrust asks Codex, over its own protocol (JSON-RPC on standard input and output), what it knows of
// the hooks of a file, and returns their trust by event. It starts a Codex of its own and ends it.
func codexTrust(ctx context.Context, program, dir, file string) (trust map[string]string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "app-server")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	call := func(id int, method string, params, result any) error {
		b, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
		if err != nil {
			return err
		}
		if _, err := in.Write(append(b, '\n')); err != nil {
			return err
		}
		for lines.Scan() {
			var r struct {
				ID     *int
				Result json.RawMessage
				Error  *struct{ Message string }
			}
			if json.Unmarshal(lines.Bytes(), &r) != nil || r.ID == nil || *r.ID != id {
				continue // a notice
			}
			if r.Error != nil {
				return errors.New(r.Error.Message)
			}
			return json.Unmarshal(r.Result, result)
		}
		if err := lines.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	if err := call(1, "initialize", map[string]any{"clientInfo": map[string]string{"name": "assent", "title": "assent", "version": "0"}}, &struct{}{}); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(in, `{"method":"initialized"}`+"\n"); err != nil {
		return nil, err
	}
	var listed struct {
		Data []struct {
			Hooks []struct{ Key, EventName, TrustStatus, Command string }
		}
	}
	if err := call(2, "hooks/list", map[string]any{"cwds": []string{dir}}, &listed); err != nil {
		return nil, err
	}
	trust = map[string]string{}
	for _, d := range listed.Data {
		for _, h := range d.Hooks {
			if strings.HasPrefix(h.Key, file+":") && (h.Command == "" || strings.Contains(h.Command, "assent")) {
				trust[h.EventName] = h.TrustStatus
			}
		}
	}
	return trust, nil
}

// onPath finds a program on a PATH.
func onPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := filepath.Join(dir, name)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}
