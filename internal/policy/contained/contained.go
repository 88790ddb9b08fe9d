// Package contained writes the command line by which a shell command runs contained, and finds the
// command in it again. What assent-contain then does is described in docs/contain.md.
//
// All functions may be called at the same time.
package contained

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"assent/internal/text/strictjson"
)

// MaxCommand bounds a command line that is written, in bytes: a kernel takes no longer word than 128 KiB.
const MaxCommand = 100 << 10

// Command is a shell command that runs contained.
type Command struct {
	Program string   // assent-contain, an absolute path
	Project string   // the directory that it may read, absolute
	Read    []string // what it may read besides, absolute
	Env     []string // names of variables that it keeps
	Shell   string   // bash, zsh or sh
	Text    string   // the command as the agent asked for it
}

// Errors of Line and Rewrite.
var (
	errProgram = errors.New("the program that contains is no absolute path")
	errProject = errors.New("the project is no absolute path")
	errRead    = errors.New("what it may read is no absolute path")
	errEnv     = errors.New("a variable that it keeps has no name")
	errShell   = errors.New("the shell is none that is known")
	errText    = errors.New("the command is empty or no text")
	errLong    = errors.New("the command is too long to run contained")
	errInput   = errors.New("the input is no object with one command")
)

// Line is the command line, for bash, zsh or sh:
// 'PROGRAM' read --project 'DIR' [--read 'PATH']... [--env NAME]... --shell KIND -- 'TEXT'.
func (c Command) Line() (string, error) {
	switch {
	case !path.IsAbs(c.Program) || path.Clean(c.Program) != c.Program || !plain(c.Program):
		return "", errProgram
	case !path.IsAbs(c.Project) || path.Clean(c.Project) != c.Project || !plain(c.Project):
		return "", errProject
	case c.Shell != "bash" && c.Shell != "zsh" && c.Shell != "sh":
		return "", errShell
	case strings.TrimSpace(c.Text) == "" || !plain(c.Text):
		return "", errText
	}
	line := quote(c.Program) + readFlag + quote(c.Project)
	for _, p := range c.Read {
		if !path.IsAbs(p) || path.Clean(p) != p || !plain(p) {
			return "", errRead
		}
		line += alsoFlag + quote(p)
	}
	for _, name := range c.Env {
		if !variable(name) {
			return "", errEnv
		}
		line += envFlag + name
	}
	line += shellFlag + c.Shell + textFlag + quote(c.Text)
	if len(line) > MaxCommand {
		return "", errLong
	}
	return line, nil
}

const (
	readFlag  = " read --project "
	alsoFlag  = " --read "
	envFlag   = " --env "
	shellFlag = " --shell "
	textFlag  = " -- "
)

// Parse takes a line apart that Line wrote for this program. It takes no other form: what merely looks
// alike may be another command.
func Parse(program, line string) (Command, bool) {
	c := Command{Program: program}
	rest, ok := strings.CutPrefix(line, quote(program)+readFlag)
	if !ok || program == "" {
		return Command{}, false
	}
	if c.Project, rest, ok = unquote(rest); !ok {
		return Command{}, false
	}
	for {
		after, more := strings.CutPrefix(rest, alsoFlag)
		if !more {
			break
		}
		p, after, ok := unquote(after)
		if !ok {
			return Command{}, false
		}
		c.Read, rest = append(c.Read, p), after
	}
	for {
		after, more := strings.CutPrefix(rest, envFlag)
		if !more {
			break
		}
		name, _, _ := strings.Cut(after, " ")
		c.Env, rest = append(c.Env, name), after[len(name):]
	}
	if rest, ok = strings.CutPrefix(rest, shellFlag); !ok {
		return Command{}, false
	}
	if c.Shell, rest, ok = strings.Cut(rest, textFlag); !ok {
		return Command{}, false
	}
	if c.Text, rest, ok = unquote(rest); !ok || rest != "" {
		return Command{}, false
	}
	again, err := c.Line()
	return c, err == nil && again == line
}

// Rewrite returns a Bash tool's input with the command line in the place of its command. Every other
// member keeps its bytes.
func Rewrite(input []byte, c Command) ([]byte, error) {
	line, err := c.Line()
	if err != nil {
		return nil, err
	}
	if text, ok := TextOf(input); !ok || text != c.Text {
		return nil, errInput
	}
	return replaced(input, line)
}

// Unwrap takes apart an input that Rewrite made, whatever the program: the input as it was, and its
// command line. Only who knows that assent wrote the line may believe it.
func Unwrap(input []byte) (original []byte, line string, ok bool) {
	line, ok = TextOf(input)
	if !ok {
		return nil, "", false
	}
	program, _, ok := unquote(line)
	if !ok {
		return nil, "", false
	}
	c, ok := Parse(program, line)
	if !ok {
		return nil, "", false
	}
	original, err := replaced(input, c.Text)
	return original, line, err == nil
}

// replaced is an input with another command. Every other member keeps its bytes.
func replaced(input []byte, text string) ([]byte, error) {
	members, i := command(input)
	if i < 0 {
		return nil, errInput
	}
	value, err := strictjson.Encode(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for k, m := range members {
		if k > 0 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		if k == i {
			out.Write(value)
		} else {
			out.Write(m.Value)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// TextOf is the command of a Bash tool's input; false where that is not one text for every reader.
func TextOf(input []byte) (string, bool) {
	members, i := command(input)
	if i < 0 {
		return "", false
	}
	text := strictjson.Text(members[i].Value)
	return text, plain(text)
}

// command takes an input apart; i is the member with the command, -1 where there is not exactly one.
func command(input []byte) (members []strictjson.Member, i int) {
	members, err := strictjson.Object(input)
	if err != nil {
		return nil, -1
	}
	i = -1
	for k, m := range members {
		switch {
		case strictjson.Fold(m.Key) != "command":
		case i >= 0 || m.Key != "command" || len(m.Value) == 0 || m.Value[0] != '"':
			return nil, -1
		default:
			i = k
		}
	}
	return members, i
}

// variable says whether a word is the name of a variable, which needs no quotes.
func variable(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// quote writes a text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// unquote reads a word that quote wrote at the beginning of s, and returns what follows.
func unquote(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for {
		if s, ok = strings.CutPrefix(s, "'"); !ok {
			return "", "", false
		}
		var part string
		if part, s, ok = strings.Cut(s, "'"); !ok {
			return "", "", false
		}
		b.WriteString(part)
		after, more := strings.CutPrefix(s, `\'`)
		if !more {
			return b.String(), s, true
		}
		b.WriteByte('\'')
		s = after
	}
}

// plain says whether every shell and every argument holds a text as it is.
func plain(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
