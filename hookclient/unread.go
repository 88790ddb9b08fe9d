package hookclient

import "strings"

// Denies says, of flags that ReadConfig could not read, whether the hook has to deny all the same: it was told to deny
// when it fails, for an agent other than Claude Code. Some of these take a hook that says nothing for a yes, and all that
// can be told so take an exit code of 2 with words on standard error for a denial. Claude Code asks in its terminal.
func Denies(args []string) bool {
	agent, failure := "", ""
	for i, arg := range args {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name == arg {
			continue // a value
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "agent":
			agent = value
		case "on-failure":
			failure = value
		}
	}
	return failure == "deny" && agent != "" && agent != "claude"
}
