// Package contain runs a command under the kernel's limits: it can read the project, without what the
// list of secrets names, and the system's programs; it can write nothing but a temporary directory of its
// own, reach no network and no other process. See docs/contain.md for what is promised.
//
// It is what the program assent-contain is made of:
//
//	assent-contain read [--project DIR] [--read PATH]... [--env NAME]... [--shell bash|zsh|sh] -- CMD...
//	assent-contain --abi
//	assent-contain --check
//	assent-contain --version
//
// CMD is a program and its arguments; PROGRAM is looked up in PATH, as execvp does. With --shell it is
// one word, a command line, that a fresh shell of that kind reads: no start-up files, not interactive.
//
//	--project DIR  absolute; what may be read besides the system. Default: the working directory.
//	--read PATH    absolute; a file or directory that may be read as well. Secrets in it are left out as
//	               in the project, except where PATH itself names one. May come again.
//	--env NAME     a variable of the environment that is kept, besides those that always are. May come again.
//	--shell KIND   bash, zsh or sh, from the system's directories, never from PATH.
//
// Exit status: that of CMD; 128+n if signal n ended it; 126 where it cannot be executed, 127 where there
// is none. 125 where containment is not to be had: nothing ran, and standard error has one line that
// begins "assent-contain: ". SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGCONT are passed on to
// CMD. Whatever CMD has started is killed when CMD ends, and when assent-contain or its parent dies.
//
// --abi prints the Landlock ABI of the kernel, a decimal number, 0 without Landlock; status 0 if
// containment can be had with it, 125 if not. --check contains a test of itself and tries what must fail: it
// prints "ok abi N" with status 0, or one line on standard error with status 125.
package contain

// Usage is the help text of assent-contain.
const Usage = `assent-contain runs a command that can only read: the kernel keeps it to that.

usage: assent-contain read [--project DIR] [--read PATH]... [--env NAME]... [--shell bash|zsh|sh] -- CMD...
       assent-contain --abi        print the kernel's Landlock ABI; status 125 if it is too old
       assent-contain --check      check whether containment works here
       assent-contain --version

  --project DIR   what may be read besides the system's programs, without secrets (the working directory)
  --read PATH     a file or directory that may be read as well; may be repeated
  --env NAME      a variable of the environment that the command keeps; may be repeated
  --shell KIND    CMD is one word, a command line for a fresh shell of this kind

Example:
  assent-contain read --shell bash -- "grep -rn TODO . | head"

Exit status: that of CMD, 128+n if signal n ended it. 125 with one line on standard error: nothing ran.
`
