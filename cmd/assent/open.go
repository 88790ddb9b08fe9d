package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// opener returns the program that opens a file in this person's browser, "" where there is no display
// in front of them: over SSH the browser would be elsewhere.
func opener(goos string, env func(string) string, look func(string) (string, error)) string {
	if env("SSH_CONNECTION") != "" || env("SSH_TTY") != "" {
		return ""
	}
	name := "xdg-open"
	if goos == "darwin" {
		name = "open"
	} else if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return ""
	}
	program, err := look(name)
	if err != nil {
		return ""
	}
	return program
}

// openedPage is the file by which a browser is led to a link.
type openedPage struct{ path string }

// remove takes the file away.
func (p *openedPage) remove() { _ = os.Remove(p.path) } // a link that is used or expired is worth nothing

// openPage opens a pairing link in this person's browser, where there is one to be opened, and returns
// the file that it needs for a moment; nil: nothing was opened. The link holds a one-time code, and other users see
// what programs are given as arguments, so the browser gets a file that only this user can read. The file
// is not hidden: browsers that run confined, as on Ubuntu, read nothing else of a home.
func (u *up) openPage(link string) *openedPage {
	if u.f.noBrowser || u.f.install.yes || !u.interactive() {
		return nil
	}
	program := opener(runtime.GOOS, os.Getenv, exec.LookPath)
	home, err := os.UserHomeDir()
	if program == "" || err != nil {
		return nil
	}
	f, err := os.CreateTemp(home, "assent-pair-*.html") // mode 0600
	if err != nil {
		return nil
	}
	page := &openedPage{f.Name()}
	to := html.EscapeString(link)
	_, err = fmt.Fprintf(f, `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><title>assent</title><a href="%[1]s">Pair this browser with assent</a>`+"\n", to)
	if closed := f.Close(); err != nil || closed != nil {
		page.remove()
		return nil
	}
	cmd := exec.Command(program, page.path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it may become the browser, which Ctrl-C here must not end
	if err := cmd.Start(); err != nil {
		page.remove()
		return nil
	}
	go func() { _ = cmd.Wait() }() // whether a browser came up, the pairing shows
	fmt.Fprintln(u.out, "Your browser opens it; if none comes up, open the link yourself.")
	return page
}
