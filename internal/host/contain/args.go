package contain

import (
	"path"
	"strings"
)

// Config says what to run and what it may read.
type Config struct {
	Project string   // absolute
	Read    []string // absolute
	Env     []string // names of variables that are kept
	Shell   string   // bash, zsh, sh, or empty: Argv is a program and its arguments
	Argv    []string // at least one
}

// A Refusal says in one line why containment is not to be had. Nothing ran.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Parse reads what follows the word read. cwd stands in for --project.
func Parse(args []string, cwd string) (Config, error) {
	c := Config{}
	for len(args) > 0 {
		name, value, has := strings.Cut(args[0], "=")
		if args[0] == "--" {
			c.Argv = args[1:]
			break
		}
		switch name {
		case "--project", "--read", "--env", "--shell":
		default:
			return Config{}, Refusal("unknown word before --: " + oneLine(args[0]))
		}
		args = args[1:]
		if !has {
			if len(args) == 0 {
				return Config{}, Refusal(name + " needs a value")
			}
			value, args = args[0], args[1:]
		}
		if err := c.set(name, value); err != nil {
			return Config{}, err
		}
	}
	if c.Project == "" {
		c.Project = cwd
	}
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "" && c.Shell == "":
		return Config{}, Refusal("no command after --")
	case c.Shell != "" && len(c.Argv) != 1:
		return Config{}, Refusal("--shell takes the command line as one word")
	case !path.IsAbs(c.Project):
		return Config{}, Refusal("--project is no absolute path")
	}
	for _, a := range c.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return Config{}, Refusal("a NUL in the command")
		}
	}
	return c, nil
}

func (c *Config) set(name, value string) error {
	if value == "" || strings.IndexByte(value, 0) >= 0 {
		return Refusal(name + " needs a value")
	}
	switch name {
	case "--project":
		if c.Project != "" {
			return Refusal("--project comes twice")
		}
		c.Project = value
	case "--read":
		if !path.IsAbs(value) {
			return Refusal("--read is no absolute path")
		}
		c.Read = append(c.Read, value)
	case "--env":
		if strings.Contains(value, "=") {
			return Refusal("--env takes a name")
		}
		c.Env = append(c.Env, value)
	case "--shell":
		switch value {
		case "bash", "zsh", "sh":
			c.Shell = value
		default:
			return Refusal("--shell is bash, zsh or sh")
		}
	}
	return nil
}

// oneLine shows a foreign word in an error.
func oneLine(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}
