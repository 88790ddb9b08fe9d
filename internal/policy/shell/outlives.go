package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Outlives says in one sentence what a script does to the shell that runs it, so that it is another
// thing to run it in a shell of its own: it moves to another directory, sets a variable, puts something
// in the background. Empty: nothing, which only a script that can be parsed is. What stands in ( ) or
// in a substitution ends with that.
func Outlives(text string) string {
	if len(text) > maxBytes {
		return "It is too long to be read."
	}
	r := newReader(Options{}, false)
	defer r.release()
	r.source = source{text: text}
	file, err := r.parser.Parse(&r.source, "")
	if err != nil {
		return "It is not a complete shell command."
	}
	o := &outliving{}
	for _, s := range file.Stmts {
		o.stmt(s, false)
	}
	return o.why
}

// outliving is the walk of Outlives. The parser bounds how deep it goes.
type outliving struct{ why string }

func (o *outliving) stmts(list []*syntax.Stmt, apart bool) {
	for _, s := range list {
		o.stmt(s, apart)
	}
}

// stmt looks at one statement; apart says that it has a shell of its own already.
func (o *outliving) stmt(s *syntax.Stmt, apart bool) {
	if s == nil || o.why != "" {
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		o.why = "It puts something in the background."
		return
	}
	switch c := s.Cmd.(type) {
	case nil, *syntax.TestClause:
	case *syntax.CallExpr:
		if !apart {
			o.call(c)
		}
	case *syntax.BinaryCmd:
		// The parser hangs chains to the left, as deep as they are long.
		for {
			o.stmt(c.Y, apart) // zsh runs the last of a pipe in its own shell
			next, more := c.X.Cmd.(*syntax.BinaryCmd)
			if !more || c.X.Background || o.why != "" {
				o.stmt(c.X, apart)
				return
			}
			c = next
		}
	case *syntax.Subshell:
		o.stmts(c.Stmts, true)
	case *syntax.Block:
		o.stmts(c.Stmts, apart)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			o.stmts(c.Cond, apart)
			o.stmts(c.Then, apart)
		}
	case *syntax.WhileClause:
		o.stmts(c.Cond, apart)
		o.stmts(c.Do, apart)
	case *syntax.ForClause:
		o.stmts(c.Do, apart)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			o.stmts(item.Stmts, apart)
		}
	case *syntax.TimeClause:
		o.stmt(c.Stmt, apart)
	default: // a function, a declaration, arithmetic
		o.why = "It sets variables or functions."
	}
}

// outliving builtins change the shell that runs them.
var outlivingBuiltins = []string{
	"cd", "chdir", "pushd", "popd", "export", "source", ".", "set", "umask", "trap", "exec", "eval", "alias", "unalias", "unset", "declare", "typeset", "local",
	"readonly", "shopt", "setopt", "unsetopt", "emulate", "enable", "disable", "hash", "bg", "fg", "jobs", "disown", "wait", "kill", "suspend", "read", "mapfile",
	"readarray", "getopts", "let", "shift", "ulimit", "limit", "unlimit", "dirs", "history", "fc", "bind", "complete", "times", "autoload", "zmodload", "sched",
}

func (o *outliving) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		o.why = "It sets a variable."
		return
	}
	for _, w := range c.Args {
		name, plain := unquoted(w)
		switch {
		case !plain:
			o.why = "Its program is not written as a plain word."
		case name == "command" || name == "builtin" || name == "noglob" || name == "nocorrect" || strings.HasPrefix(name, "-"):
			continue // what it starts stands behind it
		case slices.Contains(outlivingBuiltins, name):
			o.why = "In a shell of its own " + name + " does something else."
		}
		return
	}
}

// unquoted is a word without its quotes: "cd", c”d and \cd are cd. plain is false where more than quotes stands in it.
func unquoted(w *syntax.Word) (text string, plain bool) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(part.Value, `\`, "")
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			text += part.Value
		case *syntax.DblQuoted:
			inner, ok := onlyText(part)
			if !ok {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, true
}
