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

// containLine is the line of this user's hook.conf that says whether commands can run contained on this machine.
// The zero value changes nothing.
type containLine struct {
	file, program string
	abi           int
	news          bool // the file says something else
}

// planContain finds out what the line should say. It writes nothing: first a person is told.
func planContain(ctx context.Context, dir string) containLine {
	if dir == "" {
		return containLine{}
	}
	c := containLine{file: hookconf.Path(dir)}
	if program, err := containedBy(""); err == nil && program != "" {
		if abi, err := hookconf.ABI(ctx, program); err == nil && abi >= hook.MinContain {
			c.program, c.abi = program, abi
		}
	}
	have, err := hookconf.Get(c.file, "contain")
	c.news = err != nil || have != hookconf.Contain(c.abi, c.program)
	return c
}

// notes says what will be written.
func (c containLine) notes() []install.Note {
	switch {
	case !c.news:
		return nil
	case c.abi > 0:
		return []install.Note{{Key: "contain", Text: "if you say yes, assent also writes " + show.Line(c.file) + ", a file of its own, which lets rules here run a command so that it can only read (contain: read)"}}
	}
	return []install.Note{{Key: "contain", Text: "if you say yes, assent also removes the line in " + show.Line(c.file) + " that says that commands can run contained here: they no longer can"}}
}

func (c containLine) write() error {
	if !c.news {
		return nil
	}
	if _, err := hookconf.SetContain(c.file, c.abi, c.program); err != nil {
		return fmt.Errorf("the hooks are written; that commands can run contained could not be noted in %s: %w", c.file, err)
	}
	return nil
}
