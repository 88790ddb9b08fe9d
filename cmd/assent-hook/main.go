// Assent-hook is what an agent runs on every hook event: see package hookclient.
package main

import (
	"errors"
	"os"

	"assent/hookclient"
)

// built is the version, set by the linker: reading it from the binary would need fmt.
var built = "devel"

func main() {
	if len(os.Args) == 2 && (os.Args[1] == "--version" || os.Args[1] == "-version") {
		os.Stdout.WriteString("assent-hook version " + built + "\n") //nolint:errcheck // nowhere to say so
		return
	}
	cfg, err := hookclient.ReadConfig(os.Args[1:], os.Getenv)
	if errors.Is(err, hookclient.ErrHelp) {
		os.Stdout.WriteString(hookclient.Usage("assent-hook")) //nolint:errcheck // nowhere to say so
		return
	}
	warn := func(line string) {
		os.Stderr.WriteString("assent-hook: " + line + "\n") //nolint:errcheck // as above
	}
	if err != nil {
		// Still status 0: to an agent another one would be a failed hook.
		warn(err.Error())
		return
	}
	cfg.Warn = warn
	hookclient.Run(cfg, os.Stdin, os.Stdout)
}
