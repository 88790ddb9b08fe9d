// Assent-hook-strict is what Claude Code runs on every hook event of a machine whose administrator wants
// signatures: assent-hook, but it prints an allow only if a trusted device signed that, or signed rules allow it. It is a program of
// its own because checking signatures doubles its size.
package main

import (
	"errors"
	"os"

	"assent/hookclient"
	"assent/internal/auth/strict"
	"assent/internal/hook"
)

// built is the version, set by the linker: reading it from the binary would need fmt.
var built = "devel"

func main() {
	if len(os.Args) == 0 {
		return // nobody calls a program so
	}
	args := os.Args[1:]
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-version") {
		_, _ = os.Stdout.WriteString(hookclient.StrictName + " version " + built + "\n") // nowhere to say so
		return
	}
	cfg, err := hookclient.ReadConfig(args, os.Getenv)
	if errors.Is(err, hookclient.ErrHelp) {
		_, _ = os.Stdout.WriteString(hookclient.StrictUsage) // as above
		return
	}
	warn := func(line string) {
		_, _ = os.Stderr.WriteString(hookclient.StrictName + ": " + line + "\n") // as above
	}
	if err != nil {
		warn(err.Error())
		if hookclient.Denies(args) {
			os.Exit(2)
		}
		return // with status 0: the agent would take any other for a failed hook
	}
	// Who has this program run wants signatures. Where no file says whose, nobody's will do.
	cfg.Require = hook.RequireSigned
	cfg.Warn, cfg.Version, cfg.Verify = warn, built, strict.Verify(&cfg, os.Getenv)
	hookclient.Run(cfg, os.Stdin, os.Stdout)
}
