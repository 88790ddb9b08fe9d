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

const usage = `assent-contain runs a command that can only read: the kernel keeps it to that.

usage: assent-contain read [--project DIR] [--read PATH]... [--env NAME]... [--shell bash|zsh|sh] -- CMD...
       assent-contain --abi        the kernel's Landlock ABI; status 125 if that does not do
       assent-contain --check      tries whether containment holds here
       assent-contain --version

  --project DIR   what may be read besides the system's programs, without secrets (the working directory)
  --read PATH     a file or directory that may be read as well; may come again
  --env NAME      a variable of the environment that the command keeps; may come again
  --shell KIND    CMD is one word, a command line for a fresh shell of this kind

Exit status: that of CMD, 128+n if signal n ended it. 125 with one line on standard error: nothing ran.
`

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
		say(usage)
		return 0
	}
	return refuse("the first word is read; see assent-contain --help")
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
