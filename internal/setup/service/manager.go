package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	lib "github.com/kardianos/service"
)

// Of is what a service runs.
type Of struct {
	name               string // of the unit and of launchd's agent
	what, back         string // in sentences: it, and what happens to what waits for it
	flag               string // of assent service
	description, extra string // of the unit
	settings           string // of the unit's service, after those that all have
	noRestart          string // exit codes after which it is not started again
	instead            string // what to do without a service manager
}

// The two services.
var ( // read-only
	OfBroker = Of{
		name: "assent", what: "broker", back: "waiting hooks will come back to the service",
		description: "assent, the permission broker for coding agents",
		settings:    "UMask=0077\nNoNewPrivileges=yes\n", noRestart: "2",
		instead: `Without one, let whatever starts programs on this machine run: assent serve --no-link
Under su or sudo there is often no user session: log in as that user first. See docs/service.md`,
	}
	// OfAgents is the host of agents. Its agents are to outlive it and, as in a terminal, to be bound by nothing
	// that is meant for it: a umask, or that sudo cannot be run.
	OfAgents = Of{
		name: "assent-agents", what: "host", back: "its agents go on under the service", flag: " --agents",
		description: "assent, the host of coding agents", extra: "After=assent.service\n",
		settings: "KillMode=process\n", noRestart: "2 4",
		instead: `Without one, let whatever starts programs on this machine run: assent agent serve
Under su or sudo there is often no user session: log in as that user first. See docs/service.md`,
	}
)

// errNoManager says that nothing on this machine can keep a program running for this user.
var errNoManager = errors.New("nothing here keeps programs running for a user")

// Manager is the user's own service manager: systemd's user instance, or launchd. The library
// speaks to it; what it is given is written by unit.go. Make one with Find.
type Manager struct {
	of    Of
	kind  string // systemd, launchd
	file  string // where the unit or the plist is, or would be
	text  func(Spec) string
	word  func(string) string // how an argument is spelled in the text
	probe []string            // a command that succeeds if the manager is there for this user
	lib   lib.System
}

// Find returns the manager of this system, whether it answers or not. The library's own choice
// depends on the system's manager, which need not run for the user's to be there.
func Find(env func(string) string, of Of) (Manager, error) {
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return Manager{}, fmt.Errorf("%w: HOME is not set", errNoManager)
	}
	for _, sys := range lib.AvailableSystems() {
		switch sys.String() {
		case "linux-systemd":
			return systemd(home, of, sys), nil
		case "darwin-launchd":
			return launchd(home, of, sys), nil
		}
	}
	return Manager{}, errNoManager
}

func systemd(home string, of Of, sys lib.System) Manager {
	return Manager{
		of: of, kind: "systemd", file: filepath.Join(home, ".config", "systemd", "user", of.name+".service"),
		text: of.systemdUnit, word: systemdWord, probe: []string{"systemctl", "--user", "show", "--property=Version"}, lib: sys,
	}
}

func launchd(home string, of Of, sys lib.System) Manager {
	return Manager{
		of: of, kind: "launchd", file: filepath.Join(home, "Library", "LaunchAgents", of.name+".plist"),
		text: of.launchdPlist, word: plistString, probe: []string{"launchctl", "list"}, lib: sys,
	}
}

// Kind is systemd or launchd.
func (m Manager) Kind() string { return m.kind }

// Text is the file that makes the manager run the program of spec.
func (m Manager) Text(spec Spec) string { return m.text(spec) }

// Answers returns nil if the manager is there for this user now. It waits 5 seconds at most.
func (m Manager) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.probe[0], m.probe[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if stderr.Len() > 0 {
			err = errors.New(strings.TrimSpace(stderr.String()))
		}
		return fmt.Errorf("%w: %s does not answer (%w)", errNoManager, m.kind, err)
	}
	return nil
}

// Installed returns the text of the unit, "" where there is none. A unit that assent did not write
// is an error.
func (m Manager) Installed() (string, error) {
	b, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the service's file: %w", err)
	}
	if !strings.Contains(string(b), writtenBy) {
		return "", fmt.Errorf("%s was not written by assent; move it away first", m.file)
	}
	return string(b), nil
}

// Serves reports whether the text of a unit of ours is for this state directory.
func (m Manager) Serves(text, stateDir string) bool {
	between, after := " ", " " // more flags follow
	if m.kind == "launchd" {
		between, after = "\n\t\t", "\n"
	}
	return strings.Contains(text, m.word("--state-dir")+between+m.word(stateDir)+after)
}

func (m Manager) service(text string) (lib.Service, error) {
	return m.lib.New(nil, &lib.Config{
		Name:   m.of.name,
		Option: lib.KeyValue{"UserService": true, "SystemdScript": text, "LaunchdConfig": text},
	})
}

// install makes the manager start the program now and at every login. After an error the machine is
// as it was.
func (m Manager) install(text string) error {
	svc, err := m.service(text)
	if err != nil {
		return err
	}
	old := syscall.Umask(0o077) // a flag may hold a password
	err = svc.Install()
	syscall.Umask(old)
	if err == nil {
		err = svc.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", m.kind, err), m.Uninstall())
	}
	return nil
}

// Start starts the service that is installed.
func (m Manager) Start() error {
	svc, err := m.service("")
	if err != nil {
		return err
	}
	return svc.Start()
}

// Restart stops the service that is installed and starts it again.
func (m Manager) Restart() error {
	svc, err := m.service("")
	if err != nil {
		return err
	}
	return svc.Restart()
}

// Uninstall stops the program and removes the service, even one that is only half installed.
func (m Manager) Uninstall() error {
	svc, err := m.service("")
	if err != nil {
		return err
	}
	_ = svc.Stop() // it may not run
	err = svc.Uninstall()
	if _, stat := os.Lstat(m.file); errors.Is(stat, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s: %w", m.kind, err), os.Remove(m.file))
}

// running reports whether the program runs as the service, or is about to be started again.
func (m Manager) running() (bool, error) {
	svc, err := m.service("")
	if err != nil {
		return false, err
	}
	status, err := svc.Status()
	return status == lib.StatusRunning, err
}

// lingers reports whether the service outlives the user's last session. known is false where that
// question does not arise.
func (m Manager) lingers() (yes, known bool) {
	u, err := user.Current()
	if m.kind != "systemd" || err != nil {
		return false, false
	}
	_, err = os.Stat(filepath.Join("/var/lib/systemd/linger", u.Username))
	return err == nil, true
}

// Logs is the command that shows the service's log.
func (m Manager) Logs(stateDir string) string {
	if m.kind == "systemd" {
		return "journalctl --user -u " + m.of.name
	}
	return "tail " + LogFile(stateDir)
}

// LogFile is where a manager that keeps no log itself has the program's output written.
func LogFile(stateDir string) string { return filepath.Join(stateDir, "service.log") }
