package service

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writtenBy is in each of our files, and in no other.
const writtenBy = "Written by assent service install, which also changes it. To remove it: assent service uninstall"

// Spec is what a service manager has to know of a program. All paths in it are absolute: a
// service starts in no directory of ours and with hardly any environment.
type Spec struct {
	Program string
	Args    []string
	Env     []string // NAME=value
	LogFile string   // for a manager that keeps no log itself
}

// SpecOf is the spec of a program of a state directory that finds what this terminal's would, whose environment is env: where hooks
// spool, and where the rules are. No flag says either.
func SpecOf(program, stateDir string, env func(string) string, args ...string) Spec {
	s := Spec{Program: program, Args: args, LogFile: LogFile(stateDir)}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if dir := env(name); filepath.IsAbs(dir) {
			s.Env = append(s.Env, name+"="+dir)
		}
	}
	return s
}

// Unwritable returns a text of the spec that no service file can hold: control characters, bytes
// that are not UTF-8, and the double braces of the service library's own template language.
func (s Spec) Unwritable() (text string, found bool) {
	for _, text := range append(append([]string{s.Program}, s.Args...), s.Env...) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "{{") {
			return text, true
		}
	}
	return "", false
}

// systemdUnit is a unit of the user's own systemd. It needs no network: hooks come by a socket.
// A hook that finds no broker tries for three seconds, and RestartSec is shorter than that. A broker
// that cannot start, because the disk is full or the port taken, is started again for ever, at
// growing intervals (systemd 254 and newer; older versions ignore the two settings for that).
func (of Of) systemdUnit(s Spec) string {
	var b strings.Builder
	b.WriteString("# " + writtenBy + of.flag + `
[Unit]
Description=` + of.description + `
` + of.extra + `StartLimitIntervalSec=0

[Service]
Type=exec
`)
	fmt.Fprintf(&b, "ExecStart=%s", strings.ReplaceAll(systemdWord(s.Program), "$$", "$")) // systemd expands only % in the program
	for _, arg := range s.Args {
		b.WriteString(" " + systemdWord(arg))
	}
	b.WriteString("\n")
	for _, e := range s.Env {
		b.WriteString("Environment=" + strings.ReplaceAll(systemdWord(e), "$$", "$") + "\n")
	}
	b.WriteString(`Restart=on-failure
RestartSec=2
RestartSteps=5
RestartMaxDelaySec=60
RestartPreventExitStatus=` + of.noRestart + `
` + of.settings + `
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

// launchdPlist is an agent of the user's own launchd. It restarts a broker that failed, as the
// systemd unit does.
func (of Of) launchdPlist(s Spec) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + writtenBy + ` -->
<plist version="1.0">
<dict>
	<key>Label</key>
	` + plistString(of.name) + `
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range append([]string{s.Program}, s.Args...) {
		b.WriteString("\t\t" + plistString(arg) + "\n")
	}
	b.WriteString("\t</array>\n")
	if len(s.Env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, e := range s.Env {
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
	` + plistString(s.LogFile) + `
	<key>StandardErrorPath</key>
	` + plistString(s.LogFile) + `
</dict>
</plist>
`)
	return b.String()
}

func plistString(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return "<string>" + b.String() + "</string>"
}
