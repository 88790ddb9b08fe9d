//go:build !linux || !(amd64 || arm64)

package contain

// KeepWord is what the program is called with to keep a command; nothing is kept here.
const KeepWord = "keep"

// Keep does nothing here.
func Keep() {}

const notHere = Refusal("containment needs Linux on amd64 or arm64")

// ABI is 0: there is no Landlock.
func ABI() int { return 0 }

// Run refuses.
func Run(Config) (int, error) { return 0, notHere }

const minABI = 3

func hasSocket() bool     { return true }
func signalsParent() bool { return true }
func tracesParent() bool  { return true }
