package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assent/internal/host/optin"
	"assent/internal/text/show"
)

// leftOver takes away, after an uninstall, what assent made beside the settings and no person wrote, and says what
// is there still, and why. Hooks in another file may ask the broker, so it is not stopped.
func (a *app) leftOver() {
	if info, err := a.runtime(); err == nil {
		stop := "Ctrl-C in its terminal"
		if a.isService() {
			stop = "assent service uninstall"
		}
		a.tell(fmt.Sprintf("The broker still runs (pid %d): hooks in another file may ask it. To stop it: %s", info.PID, stop))
	}
	if err := a.dropConfig(configDir(os.Getenv)); err != nil {
		a.tell("Not all could be removed: " + readable(err.Error()))
	}
	if _, err := os.Stat(a.stateDir); err == nil {
		a.tell("Records, keys and old settings are in " + show.Line(a.stateDir) + "; delete it when the broker has stopped.")
	}
}

// isService reports whether the broker of this state directory is kept running by the system.
func (a *app) isService() bool {
	s, err := a.service()
	if err != nil {
		return false
	}
	text, err := s.Installed()
	return err == nil && text != "" && s.Serves(text, a.stateDir)
}

// dropConfig removes the token that assent made for agents of this machine, and the directory of the configuration
// once nothing is in it. What a person wrote stays, and is named.
func (a *app) dropConfig(dir string) error {
	if dir == "" {
		return nil
	}
	token := filepath.Join(dir, hostToken)
	text, err := optin.Own(token, maxHostToken)
	if err == nil && strings.HasSuffix(string(text), hostTokenMade) {
		if err := os.Remove(token); err != nil {
			return err
		}
		a.tell("Removed " + show.Line(token) + ", which assent agent serve had made.")
	}
	if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, show.Line(e.Name()))
	}
	a.tell("Left in " + show.Line(dir) + ", for assent did not write it: " + strings.Join(names, ", "))
	return nil
}
