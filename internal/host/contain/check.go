package contain

import (
	"os"
	"path/filepath"
	"strconv"
)

// Usable says why containment is not to be had with a Landlock ABI; nil if it is.
func Usable(abi int) error {
	switch {
	case abi == 0 && notHere != "":
		return notHere
	case abi == 0:
		return Refusal("this kernel has no Landlock, or it is switched off")
	case abi < minABI:
		return Refusal("this kernel's Landlock has ABI " + strconv.Itoa(abi) + ", and " + strconv.Itoa(minABI) + " is needed (Linux 6.2)")
	}
	return nil
}

// ProbeWord is what this program is called with to try what must fail.
const ProbeWord = "probe"

// Check runs this program contained, and has it try what must fail. An error says in one line what was
// possible, or why nothing could be tried.
func Check() error {
	if err := Usable(ABI()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return Refusal("this program does not find itself: " + err.Error())
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return Refusal("this program does not find itself: " + err.Error())
	}
	dir, err := os.MkdirTemp("", "assent-contain-check-")
	if err != nil {
		return Refusal("no temporary directory: " + err.Error())
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"shown": "shown", ".env": "KEY=x", "project/shown": "shown", "project/.env": "KEY=x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			return Refusal(err.Error())
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return Refusal(err.Error())
		}
	}
	if err := os.Setenv(probeName, "x"); err != nil {
		return Refusal(err.Error())
	}
	status, err := Run(Config{Project: filepath.Join(dir, "project"), Read: []string{self}, Argv: []string{self, ProbeWord, dir}})
	switch {
	case err != nil:
		return Refusal(err.Error())
	case status > probed && status < probed+len(probes):
		return Refusal("containment does not hold: it could " + probes[status-probed])
	case status != 0:
		return Refusal("the test of containment ended with status " + strconv.Itoa(status))
	}
	return nil
}

// probed is the status of a probe in which the first of these was possible, and so on.
const probed = 40

var probes = []string{"not read the project", "read a secret of the project", "read a file outside the project", "write a file of the project", "make a file in the project",
	"change a file's mode", "make a socket", "signal a process outside", "trace a process", "see a variable that is not on the list"}

// Probe tries what must fail, below the directory that it is given, and returns the program's status.
func Probe(args []string) int {
	if len(args) != 1 {
		return 125
	}
	dir := args[0]
	in := filepath.Join(dir, "project", "shown")
	reads := func(name string) bool {
		_, err := os.ReadFile(name)
		return err == nil
	}
	writes := func(name string, flag int) bool {
		f, err := os.OpenFile(name, flag, 0o600)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	for i, possible := range []bool{
		!reads(in),
		reads(filepath.Join(dir, "project", ".env")),
		reads(filepath.Join(dir, "shown")),
		writes(in, os.O_WRONLY),
		writes(filepath.Join(dir, "project", "new"), os.O_WRONLY|os.O_CREATE),
		os.Chmod(in, 0o600) == nil,
		hasSocket(),
		signalsParent(),
		tracesParent(),
		os.Getenv(probeName) != "",
	} {
		if possible {
			return probed + i
		}
	}
	return 0
}

// probeName is a variable that stands in the environment of a test and must be gone in it.
const probeName = "ASSENT_CONTAIN_PROBE"
