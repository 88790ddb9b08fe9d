package main

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// writtenBy stands in each of our files, and in no other.
const writtenBy = "Written by assent service install, which also changes it. To remove it: assent service uninstall"

// serviceSpec is what a service manager has to know of the broker. All paths in it are
// absolute: a service starts in no directory of ours and with hardly any environment.
type serviceSpec struct {
	program string
	args    []string
	env     []string // NAME=value
	logFile string   // for a manager that keeps no log itself
}

// serviceSpec makes the broker of the service the one that the hooks of this terminal know: the
// same socket, state directory and spool.
func (a *app) serviceSpec(program string, f serveFlags, env func(string) string) (serviceSpec, error) {
	if _, err := f.check(); err != nil {
		return serviceSpec{}, err
	}
	var err error
	if f.socket, err = f.socketPath(a.stateDir); err != nil {
		return serviceSpec{}, err
	}
	for _, path := range []*string{&f.tlsCert, &f.tlsKey, &f.rules, &f.hookdSocket} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return serviceSpec{}, fmt.Errorf("%s: %w", *path, err)
		}
	}
	f.noLink = true
	amqpURL := f.amqpURL
	f.amqpURL = "" // there is a password in it, and other users see the flags of a program
	s := serviceSpec{
		program: program,
		args:    append([]string{"serve", "--state-dir", a.stateDir}, f.args()...),
		logFile: filepath.Join(a.stateDir, "service.log"),
	}
	if d := env("XDG_STATE_HOME"); filepath.IsAbs(d) { // where hooks spool, which no flag says
		s.env = append(s.env, "XDG_STATE_HOME="+d)
	}
	if d := env("XDG_CONFIG_HOME"); filepath.IsAbs(d) { // where the rules stand
		s.env = append(s.env, "XDG_CONFIG_HOME="+d)
	}
	if amqpURL != "" {
		s.env = append(s.env, "ASSENT_AMQP_URL="+amqpURL)
	}
	for _, text := range append(append([]string{program}, s.args...), s.env...) {
		// Braces are the service library's own template language.
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "{{") {
			if amqpURL != "" && strings.HasSuffix(text, amqpURL) {
				text = "what --amqp-url says" // and not its password
			}
			return s, usagef("%q cannot be written into a service file; use another path", text)
		}
	}
	return s, nil
}

// args spells the flags that are not at their default, so that serve reads them back.
func (f serveFlags) args() []string {
	g, fl := f, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	g.add(fl) // sets the defaults
	g = f
	var args []string
	fl.VisitAll(func(p *pflag.Flag) {
		if p.Value.String() == p.DefValue {
			return
		}
		if list, ok := p.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				args = append(args, "--"+p.Name, v)
			}
			return
		}
		switch v := p.Value.String(); {
		case p.Value.Type() == "bool":
			args = append(args, "--"+p.Name)
		default:
			args = append(args, "--"+p.Name, v)
		}
	})
	return args
}

// systemdUnit is a unit of the user's own systemd. It needs no network: hooks come by a socket.
// A hook that finds the broker gone tries for three seconds, so it is back sooner. What cannot
// start now, for a full disk or a taken port, is tried again for good, more and more seldom (from
// systemd 254 on; older ones pass over the two settings for that).
func (s serviceSpec) systemdUnit() string {
	var b strings.Builder
	b.WriteString("# " + writtenBy + `
[Unit]
Description=assent, the permission broker for coding agents
StartLimitIntervalSec=0

[Service]
Type=exec
`)
	fmt.Fprintf(&b, "ExecStart=%s", strings.ReplaceAll(systemdWord(s.program), "$$", "$")) // of the program only % is read
	for _, arg := range s.args {
		b.WriteString(" " + systemdWord(arg))
	}
	b.WriteString("\n")
	for _, e := range s.env {
		b.WriteString("Environment=" + strings.ReplaceAll(systemdWord(e), "$$", "$") + "\n")
	}
	b.WriteString(`Restart=on-failure
RestartSec=2
RestartSteps=5
RestartMaxDelaySec=60
RestartPreventExitStatus=2
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`)
	return b.String()
}

// systemdWord writes s as one word of a unit file: quoted, with nothing left for systemd to
// expand (%) or to look up ($).
func systemdWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(s)
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-:=,@%$+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return `"` + s + `"`
}

// launchdPlist is an agent of the user's own launchd. It restarts what fails, as systemd does.
func (s serviceSpec) launchdPlist() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + writtenBy + ` -->
<plist version="1.0">
<dict>
	<key>Label</key>
	` + plistString(serviceName) + `
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range append([]string{s.program}, s.args...) {
		b.WriteString("\t\t" + plistString(arg) + "\n")
	}
	b.WriteString("\t</array>\n")
	if len(s.env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, e := range s.env {
			name, value, _ := strings.Cut(e, "=")
			b.WriteString("\t\t<key>" + name + "</key>\n\t\t" + plistString(value) + "\n")
		}
		b.WriteString("\t</dict>\n")
	}
	b.WriteString(`	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>2</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardOutPath</key>
	` + plistString(s.logFile) + `
	<key>StandardErrorPath</key>
	` + plistString(s.logFile) + `
</dict>
</plist>
`)
	return b.String()
}

func plistString(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return "<string>" + b.String() + "</string>"
}
