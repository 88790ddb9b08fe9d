package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/setup/hookconf"
	"assent/internal/text/show"
)

// noContain is what --contain says for nothing.
const noContain = "off"

// containedBy is the program by which commands run contained: that of --contain, else assent-contain where
// it is there, else none. An error says why a program that was named will not do.
func containedBy(named string) (string, error) {
	program := named
	switch named {
	case noContain:
		return "", nil
	case "":
		found, err := containProgram()
		if err != nil {
			return "", nil // what would run contained is asked about; doctor says so
		}
		program = stable(found)
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("--contain: %w", err)
	}
	fi, err := os.Stat(program)
	switch {
	case err != nil:
		return "", fmt.Errorf("--contain: %w", err)
	case !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0:
		return "", fmt.Errorf("--contain: %s is no program", program)
	case fi.Mode().Perm()&0o022 != 0 && named == "":
		return "", nil
	case fi.Mode().Perm()&0o022 != 0:
		return "", fmt.Errorf("--contain: %s may be written by others than its owner", program)
	}
	return program, nil
}

// noteContain has the hooks of this user say whether commands can run contained on this machine, and
// returns a line about it where that is news.
func noteContain(ctx context.Context, dir string) []install.Note {
	program, err := containedBy("")
	if err != nil || dir == "" {
		program = ""
	}
	abi := 0
	if program != "" {
		if abi, err = hookconf.ABI(ctx, program); err != nil || abi < hook.MinContain {
			abi = 0
		}
	}
	file := hookconf.Path(dir)
	changed, err := hookconf.SetContain(file, abi, program)
	switch {
	case err != nil:
		return []install.Note{{Key: "contain", Text: "whether commands can run contained could not be noted: " + show.Line(err.Error())}}
	case changed && abi > 0:
		return []install.Note{{Key: "contain", Text: "commands can run contained here, where a rule says contain: read; noted in " + show.Line(file)}}
	case changed:
		return []install.Note{{Key: "contain", Text: "commands cannot run contained here any more; noted in " + show.Line(file)}}
	}
	return nil
}
