package main

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

	"github.com/kardianos/service"
)

// serviceName names the unit and the agent.
const serviceName = "assent"

// errNoSupervisor says that nothing on this machine can keep the broker running for this user.
var errNoSupervisor = errors.New("nothing here keeps programs running for a user")

// supervisor is the user's own service manager: systemd's user instance, or launchd. The library
// speaks to it; what it is told stands in unit.go.
type supervisor struct {
	kind string // systemd, launchd
	file string // where the unit or the plist is, or would be
	text func(serviceSpec) string
	word func(string) string // how an argument is spelled in the text
	lib  service.System
}

// findSupervisor returns the one of this system, whether it answers or not. The library would
// judge by the system's own manager, which need not run for the user's to be there.
func findSupervisor(env func(string) string) (supervisor, error) {
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return supervisor{}, fmt.Errorf("%w: HOME is not set", errNoSupervisor)
	}
	for _, sys := range service.AvailableSystems() {
		switch sys.String() {
		case "linux-systemd":
			return supervisor{"systemd", filepath.Join(home, ".config", "systemd", "user", serviceName+".service"), serviceSpec.systemdUnit, systemdWord, sys}, nil
		case "darwin-launchd":
			return supervisor{"launchd", filepath.Join(home, "Library", "LaunchAgents", serviceName+".plist"), serviceSpec.launchdPlist, plistString, sys}, nil
		}
	}
	return supervisor{}, errNoSupervisor
}

// answers asks whether the manager is there for this user now.
func (s supervisor) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "launchctl", "list")
	if s.kind == "systemd" {
		cmd = exec.CommandContext(ctx, "systemctl", "--user", "show", "--property=Version")
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if said.Len() > 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
		return fmt.Errorf("%w: %s does not answer (%w)", errNoSupervisor, s.kind, err)
	}
	return nil
}

// installed returns the text of the unit, "" where there is none. One that somebody else wrote
// is an error.
func (s supervisor) installed() (string, error) {
	b, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the service's file: %w", err)
	}
	if !strings.Contains(string(b), writtenBy) {
		return "", fmt.Errorf("%s was not written by assent; move it away first", s.file)
	}
	return string(b), nil
}

// serves reports whether a unit of ours is for this state directory.
func (s supervisor) serves(text, stateDir string) bool {
	between, after := " ", " " // more flags follow
	if s.kind == "launchd" {
		between, after = "\n\t\t", "\n"
	}
	return strings.Contains(text, s.word("--state-dir")+between+s.word(stateDir)+after)
}

func (s supervisor) service(text string) (service.Service, error) {
	return s.lib.New(nil, &service.Config{
		Name:   serviceName,
		Option: service.KeyValue{"UserService": true, "SystemdScript": text, "LaunchdConfig": text},
	})
}

// install makes the manager start the broker now and at every login. After an error the
// machine is as it was.
func (s supervisor) install(text string) error {
	svc, err := s.service(text)
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
		return errors.Join(fmt.Errorf("%s: %w", s.kind, err), s.uninstall())
	}
	return nil
}

// start starts what is installed.
func (s supervisor) start() error {
	svc, err := s.service("")
	if err != nil {
		return err
	}
	return svc.Start()
}

// uninstall stops the broker and removes what install wrote, also what of it is only half there.
func (s supervisor) uninstall() error {
	svc, err := s.service("")
	if err != nil {
		return err
	}
	_ = svc.Stop() // it may not run, which is as good
	err = svc.Uninstall()
	if _, stat := os.Lstat(s.file); errors.Is(stat, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s: %w", s.kind, err), os.Remove(s.file))
}

// running asks whether the broker runs as the service, or is about to be started again.
func (s supervisor) running() (bool, error) {
	svc, err := s.service("")
	if err != nil {
		return false, err
	}
	status, err := svc.Status()
	return status == service.StatusRunning, err
}

// lingers reports whether the service outlives the user's last session. known is false where
// that question does not arise.
func (s supervisor) lingers() (yes, known bool) {
	u, err := user.Current()
	if s.kind != "systemd" || err != nil {
		return false, false
	}
	_, err = os.Stat(filepath.Join("/var/lib/systemd/linger", u.Username))
	return err == nil, true
}

// logs is the command that shows what the service says.
func (s supervisor) logs(stateDir string) string {
	if s.kind == "systemd" {
		return "journalctl --user -u " + serviceName
	}
	return "tail " + filepath.Join(stateDir, "service.log")
}
