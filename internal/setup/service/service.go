// Package service keeps the broker, and the host of agents, running after the terminal closes: it writes a unit
// for the user's own systemd, or an agent for launchd, and asks the manager what became of it. Nothing of it
// needs root.
//
// Neither program is known here. Whoever makes a Service hands in how to find out whether one runs.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Process is a program that answers.
type Process struct {
	PID     int
	Version string
}

// Service is the program of one state directory as this user's service manager runs it.
type Service struct {
	Manager
	StateDir string
	// Look returns the process that works for StateDir, the zero value if none answers, and whether it
	// does its work now. It must not wait for long.
	Look func(ctx context.Context) (p Process, ready bool)
}

// Install makes the service what text says and waits until its program is ready. changed is false if
// there was nothing to do, which includes that the one that runs has the given version. After an
// error the service is the previous one, or none.
//
// prepare is called before anything is changed; runs says whether the service's program runs already.
func (s *Service) Install(ctx context.Context, text, version string, prepare func(runs bool) error) (changed bool, err error) {
	if err := s.Answers(ctx); err != nil {
		return false, fmt.Errorf("%w\n%s", err, s.of.instead)
	}
	before, err := s.Installed()
	if err != nil {
		return false, err
	}
	runs := false
	if before != "" {
		if !s.Serves(before, s.StateDir) {
			return false, fmt.Errorf("a service for another state directory is installed; take it away first: assent service uninstall%s", s.of.flag)
		}
		runs, _ = s.running() // a service whose state is not known is installed again
	}
	b, ready := s.Look(ctx)
	switch {
	case before == text && runs && ready && b.Version == version:
		return false, nil
	case ready && !runs:
		return false, fmt.Errorf("a %s runs already (pid %d); stop it first, and %s", s.of.what, b.PID, s.of.back)
	}
	if err := prepare(runs); err != nil {
		return false, err
	}
	if before != "" {
		if err := s.Uninstall(); err != nil {
			return false, fmt.Errorf("replace the service: %w", err)
		}
	}
	if err = s.install(text); err != nil {
		err = fmt.Errorf("install the service: %w", err)
	} else if err = s.Await(ctx, b.PID); err != nil {
		err = errors.Join(err, s.Uninstall())
	}
	if err != nil && before != "" {
		err = errors.Join(err, s.install(before))
	}
	return err == nil, err
}

// How long the service's program may take to become ready, and how often it is asked.
const (
	readyTimeout  = 20 * time.Second
	readyInterval = 100 * time.Millisecond
)

// Await waits until the service's program is ready, which is another process than old. It
// gives up after 20 seconds, or as soon as the manager says that it does not run.
func (s *Service) Await(ctx context.Context, old int) error {
	if err := s.await(ctx, old); err != nil {
		return fmt.Errorf("the service does not come up (%w); see: %s", err, s.Logs(s.StateDir))
	}
	return nil
}

func (s *Service) await(ctx context.Context, old int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("no answer within 20 seconds"))
	defer cancel()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for n := 1; ; n++ {
		if b, ok := s.Look(ctx); ok && b.PID != old {
			return nil
		}
		if n%5 == 0 {
			if runs, err := s.running(); !runs {
				return cmp.Or(err, errors.New("it ended at once"))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Restart has the service of StateDir, if there is one, run its program as it is by now, and waits until
// that is ready. It reports whether there is one.
func (s *Service) Restart(ctx context.Context) (bool, error) {
	text, err := s.Installed()
	if err != nil || text == "" || !s.Serves(text, s.StateDir) {
		return false, err
	}
	if err := s.Answers(ctx); err != nil {
		return true, err
	}
	b, _ := s.Look(ctx)
	if err := s.Manager.Restart(); err != nil {
		return true, fmt.Errorf("restart the service: %w", err)
	}
	return true, s.Await(ctx, b.PID)
}

// Remove stops the service and takes it away. It reports whether there was one.
func (s *Service) Remove(ctx context.Context) (bool, error) {
	text, err := s.Installed()
	if err != nil || text == "" {
		return false, err
	}
	if err := s.Answers(ctx); err != nil {
		return true, err
	}
	if err := s.Uninstall(); err != nil {
		return true, fmt.Errorf("uninstall the service: %w", err)
	}
	return true, nil
}

// Status is the state of the service, and what assent service status --json prints.
type Status struct {
	Installed bool   `json:"installed"`
	Running   bool   `json:"running"`          // according to the service manager
	Ready     bool   `json:"ready"`            // its program answers
	Unit      string `json:"unit,omitempty"`   // the file
	Linger    *bool  `json:"linger,omitempty"` // it runs on after the last logout; nil: not known
	Problem   string `json:"problem,omitempty"`
	Logs      string `json:"-"` // the command that shows its log
}

// Down reports whether the service is installed and its program does not do its work.
func (st *Status) Down() bool { return st.Installed && (!st.Running || !st.Ready) }

// Status asks the manager and the program. What cannot be found out is in Problem.
func (s *Service) Status(ctx context.Context) Status {
	st := Status{Unit: s.file, Logs: s.Logs(s.StateDir)}
	_, st.Ready = s.Look(ctx)
	text, err := s.Installed()
	if err != nil {
		st.Problem = err.Error()
	}
	if text != "" && !s.Serves(text, s.StateDir) {
		st.Problem = "a service is installed, for another state directory than " + s.StateDir
		return st
	}
	if st.Installed = text != ""; !st.Installed {
		return st
	}
	if yes, known := s.lingers(); known {
		st.Linger = &yes
	}
	if err := s.Answers(ctx); err != nil {
		st.Problem = err.Error()
		return st
	}
	if st.Running, err = s.running(); err != nil {
		st.Problem = err.Error()
	}
	return st
}
