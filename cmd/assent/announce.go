package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"assent/internal/auth"
	"assent/internal/setup/statedir"
	"assent/internal/terminal"
	"assent/internal/text/show"
)

// announce tells the person at the terminal where the page is and how to begin.
func (a *app) announce(who *auth.Auth, page string, info statedir.Broker, noLink bool) {
	fmt.Fprintf(a.out, "assent is ready.\n  page    %s\n  socket  %s\n", info.HTTPURL, info.Socket)
	if noLink || kept(a.out, os.Getenv) {
		fmt.Fprintln(a.out, "To pair a browser:", typed(), "pair")
		return
	}
	p, err := who.NewPairing(context.Background(), auth.RoleApprove, "", page)
	if err != nil {
		fmt.Fprintf(a.err, "assent: no pairing link: %v\n", err)
		return
	}
	fmt.Fprintf(a.out, "Open this link to pair a browser (once, within five minutes; later: %s pair):\n  %s\n", typed(), p.URL)
	fmt.Fprintln(a.out, "Then try, in another terminal:", typed(), "simulate")
}

// kept reports whether w goes to a journal, which keeps a pairing link and shows it to others:
// systemd says which file it gave us for that, and which process it started itself. Its other
// variables are inherited by whole desktops and say nothing.
func kept(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if dev, ino, found := strings.Cut(env("JOURNAL_STREAM"), ":"); ok && found {
		if fmt.Sprint(st.Dev) == dev && fmt.Sprint(st.Ino) == ino {
			return true
		}
	}
	return env("INVOCATION_ID") != "" && env("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid()) && !terminal.IsTerminal(w)
}

// untilHangup ends ctx also when the terminal goes away, so that what runs in it stops in
// order. Under nohup the terminal's end stays without effect.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// typed is what a person types to call this program: its name where PATH leads to it, else what they
// typed now.
func typed() string {
	self, err := os.Executable()
	found, notFound := exec.LookPath("assent")
	if err == nil && notFound == nil && sameFile(self, found) {
		return "assent"
	}
	return show.Line(shellWords(os.Args[:1]))
}

func sameFile(x, y string) bool {
	a, errA := os.Stat(x)
	b, errB := os.Stat(y)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
