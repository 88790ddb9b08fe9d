package doctor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"assent/hookclient"
	"assent/internal/hook"
	"assent/internal/host/contain"
)

// checkContain says whether commands can be contained here, by a program that an agent cannot replace.
// Nothing is broken if not: what would run contained is asked about.
func (x *examination) checkContain(ctx context.Context) []Finding {
	no := func(why, fix string) []Finding {
		return []Finding{{"contain", OK, "no command can be contained here, and each is asked about: " + why, fix}}
	}
	if err := contain.Usable(contain.ABI()); err != nil {
		return no(err.Error(), "")
	}
	program, err := x.Contain()
	if err != nil {
		return no(err.Error(), "")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, program, "--check")
	c.Stdout, c.Stderr, c.WaitDelay = &out, &errs, time.Second
	if err := c.Run(); err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		if why == "" {
			why = program + ": " + err.Error()
		}
		return no(strings.TrimPrefix(why, "assent-contain: "), "")
	}
	f := Finding{"contain", OK, "commands can be contained (Landlock ABI " + strings.TrimPrefix(strings.TrimSpace(out.String()), "ok abi ") + ")", ""}
	if cfg, err := hookclient.ReadConfig(nil, x.Env); err == nil && cfg.Contain < hook.MinContain {
		f.Detail += ". The hooks of this user do not say so yet, so each is asked about"
		f.Fix = "assent install"
	}
	if place := replaceable(program); place != "" {
		f.Detail += ". An agent that runs as you can write to " + place + ", and so replace the program that contains it"
		if os.Geteuid() != 0 {
			f.Fix = "let the system own it: sudo install -m 0755 " + program + " /usr/local/bin/"
		}
	}
	return []Finding{f}
}

// replaceable is the first of a program, what its name leads through, and the directories of that, which
// this user can write to; "" if the system alone can.
func replaceable(program string) string {
	if os.Geteuid() == 0 {
		return "everything, as root"
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return program
	}
	for _, name := range []string{program, real} {
		for {
			fi, err := os.Lstat(name)
			if err != nil || fi.Mode()&os.ModeSymlink == 0 && unix.Access(name, unix.W_OK) == nil && fi.Mode()&os.ModeSticky == 0 {
				return name
			}
			if name == "/" || name == "." {
				break
			}
			name = filepath.Dir(name)
		}
	}
	return ""
}
