package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assent/e2e/rig"
)

// TestCommands runs testdata/*.txtar: the commands, as a user types them, over the built
// programs. Each script has its own home and state directory.
//
// Beside testscript's own commands there are: ready (waits for the broker that the script put
// into the background), pending N (waits until N requests wait, and sets ID, or ID1 …), exits
// CODE COMMAND…, printed TEXT (the last standard output is exactly TEXT), repeat N TEXT FILE,
// get STATUS TOKEN PATH, decide STATUS TOKEN ID BEHAVIOR, token
// VARIABLE ROLE NAME (creates one), steps ID STEPS (waits until these are a request's records),
// helps COMMAND…, appears TEXT FILE (waits until the file holds the text), tells TEXT COMMAND…
// (runs the command until it prints the text).
func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			// A socket's path may have 107 bytes.
			run, err := os.MkdirTemp("", "assent-e2e-")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = os.RemoveAll(run) })
			e.Setenv("PATH", os.Getenv(rig.BinEnv)+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("BINARIES", os.Getenv(rig.BinEnv))
			e.Setenv("CLAUDE_CODE_ENTRYPOINT", "cli") // hooks are those of a client in a terminal, whatever runs the test
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_RUNTIME_DIR", run)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "xdg"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("ASSENT_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("SOCK", filepath.Join(run, "assent", "hook.sock"))
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready":   scriptReady,
			"pending": scriptPending,
			"exits":   scriptExits,
			"printed": scriptPrinted,
			"repeat":  scriptRepeat,
			"get":     scriptGet,
			"decide":  scriptDecide,
			"token":   scriptToken,
			"steps":   scriptSteps,
			"helps":   scriptHelps,
			"appears": scriptAppears,
			"tells":   scriptTells,
			"until":   scriptUntil,
		},
	})
}

// scriptWait calls ok until it is true.
func scriptWait(ts *testscript.TestScript, what string, ok func() bool) {
	end := time.Now().Add(rig.Soon)
	for tick := time.NewTicker(10 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(end) {
			ts.Fatalf("not within %v: %s", rig.Soon, what)
		}
	}
}

func scriptReady(ts *testscript.TestScript, _ bool, _ []string) {
	scriptWait(ts, "broker ready", func() bool {
		status, _, err := scriptCall(ts, "GET", "none", "/readyz", "")
		return err == nil && status == http.StatusNoContent
	})
}

// scriptCall calls the API of the script's broker.
func scriptCall(ts *testscript.TestScript, method, token, path, body string) (int, string, error) {
	state := ts.Getenv("ASSENT_STATE_DIR")
	b, err := os.ReadFile(filepath.Join(state, "runtime.json"))
	if err != nil {
		return 0, "", err
	}
	var info struct {
		URL string `json:"http_url"`
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(method, strings.TrimSuffix(info.URL, "/")+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if token == "owner" {
		b, err := os.ReadFile(filepath.Join(state, "owner.token"))
		if err != nil {
			return 0, "", err
		}
		token = strings.TrimSpace(string(b))
	}
	if token != "none" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err = io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func scriptPending(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: pending N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var rs []rig.Request
	scriptWait(ts, args[0]+" pending requests", func() bool {
		status, body, err := scriptCall(ts, "GET", "owner", "/v1/requests?state=pending", "")
		rs = nil
		return err == nil && status == http.StatusOK && json.Unmarshal([]byte(body), &rs) == nil && len(rs) == n
	})
	for i, r := range rs {
		ts.Setenv("ID"+strconv.Itoa(i+1), r.ID)
	}
	if n == 1 {
		ts.Setenv("ID", rs[0].ID)
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// scriptUntil runs a command until what it prints matches, whatever its exit code.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND [ARG…]")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	scriptWait(ts, args[0], func() bool {
		_ = ts.Exec(args[1], args[2:]...)
		return re.MatchString(ts.ReadFile("stdout"))
	})
}

func scriptPrinted(ts *testscript.TestScript, _ bool, args []string) {
	want := strings.Join(args, " ")
	if got := ts.ReadFile("stdout"); got != want {
		ts.Fatalf("printed %q, want exactly %q", got, want)
	}
}

func scriptRepeat(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: repeat N TEXT [N TEXT…] FILE")
	}
	var b strings.Builder
	for i := 0; i+1 < len(args); i += 2 {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		b.WriteString(strings.Repeat(args[i+1], n))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[len(args)-1]), []byte(b.String()), 0o600))
}

func scriptGet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: get STATUS TOKEN|owner|none PATH")
	}
	status, body, err := scriptCall(ts, "GET", args[1], args[2], "")
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("GET %s: %d %s, want %s", args[2], status, body, args[0])
	}
	ts.Logf("%d %s", status, body)
}

func scriptDecide(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: decide STATUS TOKEN|owner|none ID BEHAVIOR")
	}
	_, body, err := scriptCall(ts, "GET", "owner", "/v1/requests/"+args[2], "")
	ts.Check(err)
	var r rig.Request
	ts.Check(json.Unmarshal([]byte(body), &r))
	b, err := json.Marshal(rig.Decision{Behavior: args[3], InputSHA256: r.InputSHA256})
	ts.Check(err)
	status, body, err := scriptCall(ts, "POST", args[1], "/v1/requests/"+args[2]+"/decision", string(b))
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("decide %s as %s: %d %s, want %s", args[2], args[1], status, body, args[0])
	}
	ts.Logf("%d %s", status, body)
}

func scriptToken(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: token VARIABLE ROLE NAME")
	}
	ts.Check(ts.Exec("assent", "token", "create", "--role", args[1], "--name", args[2]))
	out := ts.ReadFile("stdout")
	if token, ok := strings.CutSuffix(out, "\n"); !ok || token == "" || strings.ContainsAny(token, " \n") {
		ts.Fatalf("token create printed %q, want the token alone on its line", out)
	}
	ts.Setenv(args[0], strings.TrimSpace(out))
}

func scriptSteps(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: steps ID STEPS")
	}
	got := ""
	scriptWait(ts, "records of "+args[0]+" being "+args[1], func() bool {
		status, body, err := scriptCall(ts, "GET", "owner", "/v1/requests/"+args[0]+"/trace", "")
		var rs []rig.Record
		if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &rs) != nil {
			return false
		}
		if s := rig.Steps(rs); s != got {
			got = s
			ts.Logf("%s", got)
		}
		return got == args[1]
	})
}

func scriptHelps(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("assent", append(args, "--help")...))
	out := ts.ReadFile("stdout")
	for _, part := range []string{"Usage:", "Examples:", "assent " + strings.Join(args, " "), "--help"} {
		if !strings.Contains(out, part) {
			ts.Fatalf("assent %s --help does not mention %q:\n%s", strings.Join(args, " "), part, out)
		}
	}
}

func scriptAppears(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: appears TEXT FILE")
	}
	scriptWait(ts, args[0]+" in "+args[1], func() bool {
		b, err := os.ReadFile(ts.MkAbs(args[1]))
		return err == nil && strings.Contains(string(b), args[0])
	})
}

// scriptTells waits for what comes behind the hooks, such as history.
func scriptTells(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: tells TEXT COMMAND…")
	}
	scriptWait(ts, strings.Join(args[1:], " ")+" tells "+args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0])
	})
}
