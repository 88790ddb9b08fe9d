package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/show"
)

// check is one line of the doctor's report.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn, fail
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // what to do next
}

func (a *app) doctorCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, what is broken, and how to mend it",
		Long: `Look at the broker, its socket, the hooks in Claude Code's settings (user, and the
project in the current directory), the agent's version and its permission mode. Changes
nothing. Exits 1 when something is broken. With --url it looks at that broker, and at the
settings here.`,
		Example: "  assent doctor\n  assent doctor --json\n  assent doctor --url https://box.example.net",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.examine(cmd.Context())
			if a.json {
				if err := a.printJSON(checks); err != nil {
					return err
				}
			} else {
				for _, c := range checks {
					fmt.Fprintf(a.out, "%-4s  %-14s %s\n", c.Status, c.Name, show.Line(c.Detail))
					if c.Mend != "" {
						fmt.Fprintf(a.out, "      %-14s → %s\n", "", show.Line(c.Mend))
					}
				}
			}
			if slices.ContainsFunc(checks, func(c check) bool { return c.Status == "fail" }) {
				return errors.New("something is broken; see above")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "JSON: name, status (ok, warn, fail), detail, mend")
	return c
}

func (a *app) examine(ctx context.Context) []check {
	var info runtimeInfo
	var checks []check
	if a.url != "" {
		checks = a.checkRemote(ctx)
	} else {
		var broker check
		info, broker = a.checkBroker(ctx)
		checks = []check{broker}
		if broker.Status != "fail" {
			checks = append(checks, checkSocket(info.Socket))
		}
		checks = append(checks, a.checkService(ctx)...)
	}
	checks = append(checks, checkSpool(hookclient.SpoolDir(os.Getenv)))
	version, agent := checkAgent(ctx)
	checks = append(checks, agent)
	home, cwd := os.Getenv("HOME"), ""
	if d, err := os.Getwd(); err == nil {
		cwd = d
	}
	settings := readSettings(home, cwd)
	checks = append(checks, checkHooks(settings, info.Socket)...)
	return append(checks, checkMode(settings, version))
}

// checkBroker finds the broker and asks whether it is ready.
func (a *app) checkBroker(ctx context.Context) (runtimeInfo, check) {
	c := check{Name: "broker", Status: "fail"}
	info, err := a.runtime()
	if err != nil {
		c.Detail, c.Mend = "does not run on "+a.stateDir, "assent serve"
		return info, c
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", info.HTTPURL+"/readyz", nil)
	if err != nil {
		c.Detail, c.Mend = "runtime.json names no URL: "+err.Error(), "restart assent serve"
		return info, c
	}
	res, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: info.tlsConfig()}}).Do(req)
	if err != nil {
		c.Detail, c.Mend = fmt.Sprintf("pid %d does not answer at %s: it was killed", info.PID, info.HTTPURL), "assent serve"
		return info, c
	}
	res.Body.Close()
	if res.StatusCode >= 300 {
		c.Status, c.Detail, c.Mend = "warn", fmt.Sprintf("pid %d answers but is not ready (%s)", info.PID, res.Status), "see its log: the disk may be full, or the NATS server away"
		return info, c
	}
	c.Status, c.Detail = "ok", fmt.Sprintf("pid %d at %s, version %s", info.PID, info.HTTPURL, info.Version)
	return info, c
}

func checkSocket(path string) check {
	c := check{Name: "socket", Status: "ok", Detail: path}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return check{"socket", "fail", fmt.Sprintf("%s: %v", path, err), "restart assent serve; something removed its socket"}
	}
	conn.Close()
	return c
}

// checkSpool says whether events waited in vain for a broker.
func checkSpool(dir string) check {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return check{"spool", "warn", err.Error(), "make the directory readable for you"}
	}
	waiting := 0
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") {
			waiting++
		}
	}
	dropped, torn, err := hookclient.Lost(dir)
	if err != nil {
		return check{"spool", "warn", err.Error(), "make the directory readable for you"}
	}
	c := check{Name: "spool", Status: "ok", Detail: "no event waits in " + dir}
	if waiting > 0 {
		c.Status, c.Detail = "warn", fmt.Sprintf("events of %d sessions wait in %s", waiting, dir)
		c.Mend = "assent serve takes them in, if it listens on the socket they were sent to"
	}
	if dropped+torn > 0 {
		c.Status, c.Detail = "warn", fmt.Sprintf("%s; %d events were dropped because the spool was full, %d were cut off", c.Detail, dropped, torn)
	}
	return c
}

var versionPattern = regexp.MustCompile(`\d+\.\d+\.\d+`)

// checkAgent asks Claude Code for its version, which takes no network.
func checkAgent(ctx context.Context) (version string, c check) {
	path, err := exec.LookPath("claude")
	if err != nil {
		return "", check{"claude", "warn", "no claude on PATH", "install Claude Code, or go on with assent simulate"}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	version = versionPattern.FindString(string(out))
	if err != nil || version == "" {
		return "", check{"claude", "warn", path + " does not say its version", "run it by hand: claude --version"}
	}
	c = check{Name: "claude", Status: "ok", Detail: version + " at " + path}
	if older(version, "2.1.329") {
		c.Status = "warn"
		c.Detail += "; assent was tried with 2.1.329"
		if !older("2.1.198", version) {
			c.Detail += "; up to 2.1.197 claude -p asks no hook for permission"
		}
		c.Mend = "update Claude Code"
	}
	return version, c
}

// older reports whether version a comes before b; both are three numbers.
func older(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:]) < 0
}

// settingsFile is what doctor reads of one of Claude Code's settings files.
type settingsFile struct {
	path  string
	err   error
	Hooks map[string][]struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string   `json:"type"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
			Timeout float64  `json:"timeout"`
		} `json:"hooks"`
	} `json:"hooks"`
	Permissions struct {
		DefaultMode string   `json:"defaultMode"`
		Ask         []string `json:"ask"`
	} `json:"permissions"`
	DisableAllHooks bool `json:"disableAllHooks"`
}

// readSettings reads the settings files that are there: the user's, then the project's.
func readSettings(home, cwd string) []settingsFile {
	var files []settingsFile
	for _, path := range []string{
		filepath.Join(home, ".claude", "settings.json"),
		filepath.Join(cwd, ".claude", "settings.json"),
		filepath.Join(cwd, ".claude", "settings.local.json"),
	} {
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || slices.ContainsFunc(files, func(f settingsFile) bool { return f.path == path }) {
			continue
		}
		f := settingsFile{path: path, err: err}
		if err == nil {
			f.err = json.Unmarshal(b, &f)
		}
		files = append(files, f)
	}
	return files
}

// checkHooks looks for assent's hook in the settings and at how it is told to run.
func checkHooks(files []settingsFile, socket string) []check {
	var checks []check
	events := map[string]bool{}
	foreign := 0
	for _, f := range files {
		if f.err != nil {
			checks = append(checks, check{"hooks", "fail", fmt.Sprintf("%s: %v", f.path, f.err), "mend the file; Claude Code ignores it as it is"})
			continue
		}
		if f.DisableAllHooks {
			checks = append(checks, check{"hooks", "fail", f.path + " sets disableAllHooks", "remove it: no hook runs while it is there"})
		}
		for event, groups := range f.Hooks {
			for _, g := range groups {
				for _, h := range g.Hooks {
					words := append(strings.Fields(h.Command), h.Args...)
					if len(words) == 0 {
						continue
					}
					base := filepath.Base(words[0])
					if base != "assent-hook" && (base != "assent" || len(words) < 2 || words[1] != "hook") {
						if event == "PermissionRequest" {
							foreign++
						}
						continue
					}
					events[event] = true
					checks = append(checks, checkHandler(f.path, event, words, h.Timeout, socket)...)
				}
			}
		}
	}
	switch {
	case len(events) == 0:
		checks = append(checks, check{"hooks", "warn", "no settings file runs assent-hook", "point the hooks at assent: docs/hooks.md"})
	case !events["PermissionRequest"]:
		checks = append(checks, check{"hooks", "fail", "assent-hook runs, but not for PermissionRequest", "add it there: docs/hooks.md"})
	default:
		checks = append(checks, check{"hooks", "ok", fmt.Sprintf("assent-hook runs for %d events", len(events)), ""})
	}
	if foreign > 0 && events["PermissionRequest"] {
		checks = append(checks, check{"hooks", "warn", "another tool's PermissionRequest hook runs beside assent's", "the first of them to decide wins; keep one"})
	}
	if events["WorktreeCreate"] {
		checks = append(checks, check{"hooks", "fail", "a WorktreeCreate hook replaces git there and breaks worktrees", "remove that entry"})
	}
	return checks
}

func checkHandler(file, event string, words []string, timeout float64, socket string) []check {
	var checks []check
	if !filepath.IsAbs(words[0]) {
		checks = append(checks, check{"hooks", "warn", fmt.Sprintf("%s: %s is no absolute path", file, words[0]), "write the absolute path: PATH differs between terminals"})
	} else if fi, err := os.Stat(words[0]); err != nil || fi.Mode()&0o111 == 0 {
		checks = append(checks, check{"hooks", "fail", fmt.Sprintf("%s: %s cannot be run", file, words[0]), "make build, or mend the path"})
	}
	if i := slices.Index(words, "--socket"); i >= 0 && i+1 < len(words) && socket != "" && words[i+1] != socket {
		checks = append(checks, check{"hooks", "warn", fmt.Sprintf("%s asks %s, the broker listens on %s", event, words[i+1], socket), "use one socket for both"})
	}
	if event == "PermissionRequest" && timeout > 0 && timeout < 600 {
		checks = append(checks, check{"hooks", "warn", fmt.Sprintf("Claude Code gives up on the hook after %g s", timeout), "set timeout to 86400 and pass --timeout 86390s"})
	}
	return checks
}

// checkMode says whether requests reach a hook at all.
func checkMode(files []settingsFile, version string) check {
	mode, where := "", ""
	asks := 0
	for _, f := range files {
		if f.Permissions.DefaultMode != "" {
			mode, where = f.Permissions.DefaultMode, " ("+f.path+")"
		}
		asks += len(f.Permissions.Ask)
	}
	c := check{Name: "mode", Status: "ok", Detail: mode + where}
	switch mode {
	case "default", "manual", "acceptEdits", "plan":
	case "bypassPermissions", "dontAsk":
		c.Status, c.Detail, c.Mend = "warn", mode+where+": Claude Code asks for no permission, so assent is never asked", `set permissions.defaultMode to "default"`
	default:
		if mode == "" && version != "" && older(version, "2.1.329") {
			c.Detail = "not set"
			return c
		}
		c.Status = "warn"
		c.Detail = "auto, Claude Code's own default in a terminal: most calls reach no hook"
		if asks > 0 {
			c.Detail += fmt.Sprintf("; the %d permissions.ask rules do", asks)
		}
		c.Mend = `start claude with --permission-mode default, set permissions.defaultMode, or list under permissions.ask what must be asked`
	}
	return c
}
