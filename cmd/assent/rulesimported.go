package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assent/internal/text/show"
)

// createRules writes a new file of rules. It replaces none.
func createRules(path string, text []byte) error {
	if !filepath.IsAbs(path) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("write rules: %w", err)
		}
		path = abs
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is; without --write the rules are printed, to put in by hand", path)
	}
	if err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	_, err = out.Write(text)
	if err2 := out.Close(); err == nil {
		err = err2
	}
	if err != nil {
		os.Remove(path) // a part of it may lack what denies
		return fmt.Errorf("write rules %s: %w", path, err)
	}
	return nil
}

// importReport is what import says as JSON.
type importReport struct {
	Settings string          `json:"settings"`
	Written  string          `json:"written,omitempty"`
	Rules    string          `json:"rules"` // the file
	Entries  []importedEntry `json:"entries"`
}

func (m *imported) report(to string, text []byte) importReport {
	entries := m.entries
	if entries == nil {
		entries = []importedEntry{}
	}
	return importReport{m.path, to, string(text), entries}
}

// tellImport says on standard error what a person must know and does not see: the file that goes
// to a terminal says it itself.
func (a *app) tellImport(m *imported, to string) {
	say := func(label, text string) {
		fmt.Fprintln(a.err, wrapped(show.Line(text), fmt.Sprintf("%-9s", label), "         "))
	}
	for _, e := range m.entries {
		if to == "" && isTerminal(a.out) {
			break
		}
		switch {
		case e.State == "left":
			say("LEFT OUT", e.Action+" "+e.Text+": "+e.Why)
		case e.State == "changed":
			say("CHANGED", e.Action+" "+e.Text+": "+e.Why)
		case e.Meaning != "":
			say("WIDE", e.Action+" "+e.Text+": "+e.Meaning)
		}
	}
	fmt.Fprintf(a.err, "%d carried over, %d changed, %d left out.\n", m.count("carried"), m.count("changed"), m.count("left"))
	if to != "" {
		fmt.Fprintln(a.err, "Written to "+show.Line(to)+". Next: assent rules check")
	}
}
