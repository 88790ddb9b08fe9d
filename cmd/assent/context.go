package main

import (
	"os"
	"path/filepath"
	"strings"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/policy"
)

// secret says of a file that a request would change whether its text must not be read for the person who
// is asked: it may hold secrets, or it is assent's own.
func (a *app) secret(req *hook.Request, path string) bool {
	home, _ := os.UserHomeDir() // without one, ~ is nobody's
	project := req.ProjectDir
	if project == "" {
		project = req.Repo.Root
	}
	if policy.HoldsSecret(path, req.CWD, project, home) {
		return true
	}
	state, err := filepath.EvalSymlinks(a.stateDir)
	if err != nil {
		return true
	}
	return strings.HasPrefix(path, a.stateDir+"/") || strings.HasPrefix(path, state+"/")
}

// recorded calls all of them with each recorded step, see broker.Config.Recorded.
func recorded(all ...func(hook.Step, *broker.View)) func(hook.Step, *broker.View) {
	return func(step hook.Step, v *broker.View) {
		for _, f := range all {
			f(step, v)
		}
	}
}
