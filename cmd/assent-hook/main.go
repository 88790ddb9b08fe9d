// Assent-hook is what an agent runs on every hook event: see package hookclient. With the word
// emit, or under the name hookd-emit, it tells a hookd socket instead, and asks nobody.
package main

import (
	"errors"
	"os"
	"path"

	"assent/hookclient"
)

// built is the version, set by the linker: reading it from the binary would need fmt.
var built = "devel"

func main() {
	if len(os.Args) == 0 {
		return // nobody calls a program so
	}
	args := os.Args[1:]
	emits := path.Base(os.Args[0]) == hookclient.EmitName
	switch {
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-version"):
		_, _ = os.Stdout.WriteString("assent-hook version " + built + "\n") // nowhere to say so
	case emits:
		emit(hookclient.EmitName, args)
	case len(args) > 0 && args[0] == "emit":
		emit("assent-hook emit", args[1:])
	default:
		run(args)
	}
}

// run hands one event to the broker.
func run(args []string) {
	cfg, err := hookclient.ReadConfig(args, os.Getenv)
	if errors.Is(err, hookclient.ErrHelp) {
		_, _ = os.Stdout.WriteString(hookclient.Usage("assent-hook")) // nowhere to say so
		return
	}
	warn := func(line string) {
		_, _ = os.Stderr.WriteString("assent-hook: " + line + "\n") // as above
	}
	if err != nil {
		warn(err.Error())
		if hookclient.Denies(args) {
			os.Exit(2)
		}
		return // with status 0: the agent would take any other for a failed hook
	}
	cfg.Warn, cfg.Version = warn, built
	hookclient.Run(cfg, os.Stdin, os.Stdout)
}

// emit sends one event to a hookd socket. It exits with status 0 even if that fails, and says why
// only with HOOKD_DEBUG=1.
func emit(name string, args []string) {
	debug := func(line string) {
		if os.Getenv("HOOKD_DEBUG") == "1" {
			_, _ = os.Stderr.WriteString(name + ": " + line + "\n") // nowhere to say so
		}
	}
	cfg, err := hookclient.ReadEmit(args, os.Getenv)
	if errors.Is(err, hookclient.ErrHelp) {
		_, _ = os.Stdout.WriteString(hookclient.EmitUsage(name)) // nowhere to say so
		return
	}
	if err != nil {
		debug(err.Error())
		return
	}
	cfg.Debug = debug
	hookclient.Emit(cfg, os.Stdin)
}
