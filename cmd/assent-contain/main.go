// Assent-contain runs a command that can only read: see package contain, internal/host/contain.
package main

import (
	"errors"
	"os"
	"strconv"

	"assent/internal/host/contain"
)

// built is the version, set by the linker.
var built = "devel"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 0 {
		return refuse("nothing to do; see assent-contain --help")
	}
	switch args[0] {
	case "read":
		return read(args[1:])
	case contain.KeepWord:
		contain.Keep()
	case contain.ProbeWord:
		return contain.Probe(args[1:])
	case "--abi":
		abi := contain.ABI()
		say(strconv.Itoa(abi) + "\n")
		if contain.Usable(abi) != nil {
			return 125
		}
		return 0
	case "--check":
		if err := contain.Check(); err != nil {
			return refuse(err.Error())
		}
		say("ok abi " + strconv.Itoa(contain.ABI()) + "\n")
		return 0
	case "--version":
		say("assent-contain version " + built + "\n")
		return 0
	case "--help", "-h":
		say(contain.Usage)
		return 0
	}
	return refuse("the first word has to be read, as in assent-contain read -- git log; see assent-contain --help")
}

func read(args []string) int {
	cwd, err := os.Getwd()
	if err != nil {
		return refuse("the working directory is not known: " + err.Error())
	}
	c, err := contain.Parse(args, cwd)
	if err != nil {
		return refuse(err.Error())
	}
	status, err := contain.Run(c)
	if err == nil {
		return status
	}
	var refusal contain.Refusal
	if errors.As(err, &refusal) {
		return refuse(err.Error())
	}
	_ = refuse(err.Error())
	return status
}

func refuse(why string) int {
	_, _ = os.Stderr.WriteString("assent-contain: " + why + "\n") // nowhere to say so
	return 125
}

func say(text string) {
	_, _ = os.Stdout.WriteString(text) // as above
}
