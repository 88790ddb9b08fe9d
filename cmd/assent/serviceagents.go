package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"assent/internal/host/executor"
	"assent/internal/host/optin"
	"assent/internal/setup/service"
	"assent/internal/text/show"
)

// agentsService is the host of agents of this state directory as a service, installed or not.
func (a *app) agentsService() (*service.Service, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("hosts of agents run on Linux only, so there is no service for one here")
	}
	m, err := service.Find(os.Getenv, service.OfAgents)
	if err != nil {
		return nil, err
	}
	return &service.Service{Manager: m, StateDir: a.stateDir, Look: func(context.Context) (service.Process, bool) {
		r, ok := executor.FindRunning(a.sessionsDir())
		if !ok {
			return service.Process{}, false
		}
		return service.Process{PID: r.PID, Version: r.Version}, true
	}}, nil
}

// sessionsDir is where a host keeps the sessions of its agents.
func (a *app) sessionsDir() string { return filepath.Join(a.stateDir, "agents") }

// serviceOf is the service of the broker, or that of the host of agents.
func (a *app) serviceOf(agents bool) (*service.Service, error) {
	if agents {
		return a.agentsService()
	}
	return a.service()
}

// hostFile is agents.yaml, if there is anything in it that a host could do.
func hostFile() (file optin.File, path string, err error) {
	file, path, err = agentsFile()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("there is no %s, so there is nothing to run; %s agent example prints one to begin with, %[2]s agent doctor checks it", path, typed())
	case err == nil && len(file.Accept) == 0:
		err = fmt.Errorf("%s accepts no device, so nobody could start anything; add accept: [device:THUMBPRINT], with a thumbprint that %s device list prints", path, typed())
	}
	return file, path, err
}

// agentsSpec makes the host of the service the one of this terminal: the same agents and state directory, and the
// same programs, because agents find theirs by its PATH.
func (a *app) agentsSpec(program, name string, env func(string) string) (service.Spec, error) {
	s := service.SpecOf(program, a.stateDir, env, "agent", "serve", "--state-dir", a.stateDir, "--name", name)
	if a.url != "" {
		s.Args = append(s.Args, "--url", a.url)
	}
	if a.caCert != "" {
		s.Args = append(s.Args, "--cacert", a.caCert)
	}
	if path := env("PATH"); path != "" {
		s.Env = append(s.Env, "PATH="+path)
	}
	if text, found := s.Unwritable(); found {
		return s, usagef("%q cannot be written into a service file; use another path", text)
	}
	return s, nil
}

// agentsText is the file for the service manager. keep: see lasting.
func (a *app) agentsText(keep bool) (string, error) {
	s, err := a.agentsService()
	if err != nil {
		return "", err
	}
	if _, _, err := hostFile(); err != nil {
		return "", err
	}
	self, err := lasting(keep)
	if err != nil {
		return "", err
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this machine: %w", err)
	}
	spec, err := a.agentsSpec(stable(self), name, os.Getenv)
	if err != nil {
		return "", err
	}
	return s.Text(spec), nil
}

// installAgents makes the service and waits until it runs. After an error it is the previous one, or none.
func (a *app) installAgents(ctx context.Context) (changed bool, err error) {
	text, err := a.agentsText(true)
	if err != nil {
		return false, err
	}
	s, err := a.agentsService()
	if err != nil {
		return false, err
	}
	return s.Install(ctx, text, version(), func(bool) error {
		_, path, err := hostFile()
		if err != nil {
			return err
		}
		config, _, err := a.address()
		if err != nil {
			return err
		}
		token := filepath.Join(filepath.Dir(path), hostToken)
		if _, err := os.Stat(token); err == nil {
			return nil
		}
		// ASSENT_TOKEN of this terminal does not reach the service, and belongs into no file of systemd's.
		if a.url != "" {
			return fmt.Errorf("the service needs a token for %s in %s, chmod 600: make one there with assent token create --role host", show.Line(config.URL), token)
		}
		return nil
	})
}

// offerAgents offers the service of agents where there are some, somebody can be asked and it is not there. What goes
// wrong there ends nothing.
func (u *up) offerAgents(ctx context.Context) error {
	file, _, err := agentsFile()
	if err != nil || len(file.Agents) == 0 || len(file.Accept) == 0 {
		return nil // assent agent doctor says what is wrong with it
	}
	s, err := u.agentsService()
	if err != nil || s.Answers(ctx) != nil {
		return nil
	}
	u.title("Agents: those of agents.yaml can be started from a phone")
	text, err := s.Installed()
	if _, runs := s.Look(ctx); err == nil && (text != "" || runs) {
		fmt.Fprintln(u.out, "They are offered already.")
		return nil
	}
	hint := "To offer them: " + typed() + " service install --agents"
	if !u.interactive() || u.f.install.yes {
		fmt.Fprintln(u.out, hint)
		return nil
	}
	yes, err := u.confirm(ctx, "Offer them in the background from now on, also after every login (a "+s.Kind()+" service of yours)?", true)
	if err != nil {
		return err
	}
	if yes {
		_, err = u.installAgents(ctx)
		if err == nil {
			u.done = append(u.done, "agents are offered by a service (assent service uninstall --agents removes it)")
			fmt.Fprintln(u.out, "They are. Looking at them: "+typed()+" agent list")
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(u.out, "%s\n", readable("That did not work: "+err.Error()))
	}
	fmt.Fprintln(u.out, hint)
	return nil
}
