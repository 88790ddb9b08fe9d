package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"assent/internal/host/contain"
	"assent/internal/setup/programs"
)

// containCmd becomes assent-contain, which stands beside this program and starts faster.
func (a *app) containCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "contain read [flags] -- CMD...",
		Short: "Run a command that can only read",
		Long: `Run a command under limits of the kernel: the command can read the project, except files that may hold
secrets, and the system's programs, and it can write nothing. This is the program assent-contain; its
help follows.

` + contain.Usage,
		Example:            "  assent contain read -- git log --oneline\n  assent contain read --shell bash -- 'grep -rn TODO . | head'",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
				return c.Help()
			}
			program, err := containProgram()
			if err == nil {
				err = syscall.Exec(program, append([]string{"assent-contain"}, args...), os.Environ())
			}
			return &exitError{125, fmt.Errorf("commands cannot be contained here: %w", err)}
		},
	}
}

// containProgram finds assent-contain, beside this program or on PATH.
func containProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if dir := programs.Lasting(self, programs.DataHome(os.Getenv)); dir != "" && sameFile(filepath.Join(dir, "assent"), self) {
		self = filepath.Join(dir, "assent")
	} else if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	program := filepath.Join(filepath.Dir(self), "assent-contain")
	if fi, err := os.Stat(program); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
		return program, nil
	}
	if program, err = exec.LookPath("assent-contain"); err != nil {
		return "", errors.New("assent-contain is neither beside " + self + " nor on PATH")
	}
	return filepath.Abs(program)
}
