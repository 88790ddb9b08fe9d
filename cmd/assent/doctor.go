package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assent/hookclient"
	"assent/internal/text/show"
)

// check is one line of the doctor's report.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn, fail
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do next
}

func (a *app) doctorCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, what is broken, and how to fix it",
		Long: `Look at the broker, its socket, its rules, whom it rings, the Claude Codes on this machine, the hooks in their settings
(yours, and those of the project in the current directory), and the permission mode. Changes
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
					if c.Fix != "" {
						fmt.Fprintf(a.out, "      %-14s → %s\n", "", show.Line(c.Fix))
					}
				}
			}
			if slices.ContainsFunc(checks, func(c check) bool { return c.Status == "fail" }) {
				return errors.New("something is broken; see above")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: name, status (ok, warn, fail), detail, fix")
	return c
}

func (a *app) examine(ctx context.Context) []check {
	var socket string
	var checks []check
	if a.url != "" {
		checks = a.examineRemote(ctx)
	} else {
		socket, checks = a.examineBroker(ctx)
	}
	checks = append(checks, checkSpool(hookclient.SpoolDir(os.Getenv)))
	return append(checks, a.examineAgent(ctx, socket)...)
}

// examineBroker looks at the broker of this machine, and returns the socket that hooks should
// ask: "" if it is not known.
func (a *app) examineBroker(ctx context.Context) (socket string, checks []check) {
	info, broker := a.checkBroker(ctx)
	checks = []check{broker}
	if broker.Status != "fail" {
		checks = append(checks, checkSocket(info.Socket), a.checkRules(ctx), a.checkNotifications(ctx), a.checkSchemas(ctx))
	}
	return info.Socket, append(checks, a.checkService(ctx)...)
}

// checkBroker finds the broker and asks whether it is ready.
func (a *app) checkBroker(ctx context.Context) (runtimeInfo, check) {
	c := check{Name: "broker", Status: "fail"}
	info, err := a.runtime()
	if err != nil {
		c.Detail, c.Fix = "does not run on "+a.stateDir, "assent up, or assent serve"
		return info, c
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := a.reach()
	if err == nil {
		var status int
		if status, err = b.Status(ctx, "/readyz"); err == nil && status >= 300 {
			c.Status, c.Detail, c.Fix = "warn", fmt.Sprintf("pid %d answers but is not ready (%d)", info.PID, status), "see its log: the disk may be full, or the NATS server away"
			return info, c
		}
	}
	if err != nil {
		c.Detail, c.Fix = fmt.Sprintf("pid %d does not answer at %s: it was killed", info.PID, info.HTTPURL), "assent serve"
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
		c.Status, c.Detail = "warn", fmt.Sprintf("events of %s wait in %s", counted(waiting, "session"), dir)
		c.Fix = "assent serve takes them in, if it listens on the socket they were sent to"
	}
	if dropped+torn > 0 {
		c.Status, c.Detail = "warn", fmt.Sprintf("%s; events dropped because the spool was full: %d, cut off: %d", c.Detail, dropped, torn)
	}
	return c
}
