package policy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
)

// match compiles what a rule is about.
func (c *compiler) match(n *yaml.Node, guard bool) *match {
	m := &match{}
	var about []string
	is := func(name string) { about = append(about, name) }
	ok := c.object(n, "match", map[string]func(*yaml.Node){
		"command": func(n *yaml.Node) { is("command"); m.command = c.command(n, guard) },
		"file":    func(n *yaml.Node) { is("file"); m.file = c.fileMatch(n, guard) },
		"mcp":     func(n *yaml.Node) { is("mcp"); m.mcp = c.mcp(n, guard) },
		"url":     func(n *yaml.Node) { is("url"); m.url = c.url(n, guard) },
		"tool": func(n *yaml.Node) {
			is("tool")
			for _, w := range c.texts(n, "the name of a tool") {
				if !toolName.MatchString(w.text) {
					c.problem(w.at, "%q is no name of a tool", short(w.text))
				} else if !guard && (tools.Of(w.text).Kind == tool.Command || strings.Contains(w.text, "*")) {
					c.problem(w.at, "a rule that allows must name one tool in full, and for Bash a program (command:)")
				}
				if err := toolMistake(w.text); err != nil {
					c.problem(w.at, "%v", err)
				}
				c.noteTool(w, guard)
				m.tools = append(m.tools, sameTools(w.text)...)
			}
		},
		"cwd": func(n *yaml.Node) {
			m.cwd = c.paths(n)
			m.anyCwd = slices.ContainsFunc(m.cwd, func(p pathPattern) bool { return p.src == "**" })
		},
		"session": func(n *yaml.Node) { m.session = c.session(n) },
		"time":    func(n *yaml.Node) { m.time = c.time(n) },
	})
	switch {
	case !ok:
	case len(about) > 1:
		slices.Sort(about)
		c.problem(n, "%s exclude each other: a call is one of them; write two rules", strings.Join(about, " and "))
	case len(about) == 0 && !guard:
		c.problem(n, "a rule that allows needs one of command, file, mcp, tool, url")
	case len(n.Content) == 0:
		c.problem(n, "match is empty, expected at least one of command, file, mcp, tool, url, cwd, session, time")
	}
	return m
}

func (c *compiler) command(n *yaml.Node, guard bool) *commandMatch {
	m := &commandMatch{}
	var programs []string
	var programNode, flagsNode, pathsNode *yaml.Node
	ok := c.object(n, "command", map[string]func(*yaml.Node){
		"program": func(n *yaml.Node) {
			programNode = n
			for _, w := range c.texts(n, "the name of a program") {
				if strings.ContainsAny(w.text, " \t\n") {
					c.problem(w.at, "%q is no name of a program; its arguments go to args", short(w.text))
				}
				if strings.Contains(w.text, "*") && !guard {
					c.problem(w.at, "program is %q: a rule that allows must name each program in full", short(w.text))
				}
				programs = append(programs, w.text)
				m.programs = append(m.programs, textGlob(w.text))
			}
		},
		"args":  func(n *yaml.Node) { m.argsSet = true; c.args(n, m) },
		"flags": func(n *yaml.Node) { flagsNode = n },
		"verbs": func(n *yaml.Node) {
			m.verbs = c.verbs(n)
			if guard {
				c.problem(n, "verbs is for rules that allow")
			}
		},
		"operands": func(n *yaml.Node) {
			m.operands = c.globs(n, "the shape of an argument")
			if guard {
				c.problem(n, "operands is for rules that allow")
			}
		},
		"any_arg": func(n *yaml.Node) { m.anyArg = c.globs(n, "a pattern for an argument") },
		"no_arg":  func(n *yaml.Node) { m.noArg = c.globs(n, "a pattern for an argument") },
		"literal": func(n *yaml.Node) {
			m.literal = true
			if w := c.oneOf(n, "literal", "true", "or-from-commands"); w == "or-from-commands" {
				m.piped = true
			}
			if guard {
				c.problem(n, "literal is for rules that allow")
			}
		},
		"paths":  func(n *yaml.Node) { pathsNode = n; m.paths = c.paths(n) },
		"stdin":  func(n *yaml.Node) { m.stdin = c.streams(n, "stdin") },
		"stdout": func(n *yaml.Node) { m.stdout = c.streams(n, "stdout") },
	})
	if !ok {
		return m
	}
	if flagsNode != nil {
		m.flags = c.flags(flagsNode, programs, guard)
	}
	if programNode == nil && !guard {
		c.problem(n, "the key program is missing: a rule that allows must name its programs")
	}
	if pathsNode != nil && flagsNode == nil && !guard {
		c.problem(pathsNode, "paths needs flags beside it, for an unknown flag could name another path: flags: {only: [...]}, or flags: any where every flag of the program is harmless")
	}
	if len(n.Content) == 0 {
		c.problem(n, "command is empty, expected at least one of program, verbs, args, operands, flags, any_arg, no_arg, paths, stdin, stdout")
	}
	return m
}

// args reads a list of words; an inner list holds alternatives, and a last "..." the rest.
func (c *compiler) args(n *yaml.Node, m *commandMatch) {
	if n.Kind != yaml.SequenceNode {
		c.problem(n, "expected a list of arguments such as [[test, vet], ...], but got %s", kindOf(n))
		return
	}
	for i, item := range n.Content {
		if item.Kind == yaml.ScalarNode && item.Value == "..." {
			if m.rest = i == len(n.Content)-1; !m.rest {
				c.problem(item, "... stands for the rest and must be the last")
			}
			continue
		}
		var alternatives []glob
		for _, w := range c.texts(item, "an argument") {
			alternatives = append(alternatives, c.pattern(w))
		}
		m.args = append(m.args, alternatives)
	}
}

func (c *compiler) streams(n *yaml.Node, key string) streams {
	var set streams
	known := []string{"none", "pipe", "devnull", "file", "project"}
	if key == "stdin" {
		known = append(known, "heredoc")
	}
	for _, w := range c.texts(n, "one of "+strings.Join(known, ", ")) {
		if !slices.Contains(known, w.text) {
			c.problem(w.at, "%s is %q, expected %s", key, short(w.text), strings.Join(known, ", "))
			continue
		}
		set |= streamNames[w.text]
	}
	return set
}

func (c *compiler) globs(n *yaml.Node, what string) []glob {
	var all []glob
	for _, w := range c.texts(n, what) {
		all = append(all, c.pattern(w))
	}
	return all
}

// pattern compiles a text with wildcards, or a regular expression after re:.
func (c *compiler) pattern(w word) glob {
	if name, ok := strings.CutPrefix(w.text, "is:"); ok {
		is, known := namedShapes[name]
		if !known {
			c.problem(w.at, "there is no shape %q, expected is:%s", short(w.text), strings.Join(shapeNames(), ", is:"))
			return glob{src: w.text, exact: true}
		}
		return glob{src: w.text, is: is}
	}
	expr, ok := strings.CutPrefix(w.text, "re:")
	if !ok {
		return textGlob(w.text)
	}
	n := size(expr)
	if c.size += n; c.out.source.Layer == Repository && c.size > maxForeignSize {
		c.problem(w.at, "the regular expressions of this file are too large; say it with plain patterns")
		return glob{src: w.text, exact: true}
	}
	re, err := regexp.Compile(`^(?:` + expr + `)\z`)
	if err != nil {
		c.problem(w.at, "%q is no regular expression: %v", short(expr), err)
		return glob{src: w.text, exact: true}
	}
	return glob{src: w.text, re: re, size: n}
}

// size is how many instructions a regular expression has, and so what a byte of text costs.
func size(expr string) int {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

func (c *compiler) paths(n *yaml.Node) []pathPattern {
	all := []pathPattern{} // not nil: a selector with a mistake in it is still a selector
	for _, w := range c.texts(n, "a path pattern") {
		ps, err := pathPatterns(w.text)
		if err != nil {
			c.problem(w.at, "path %q: %v", short(w.text), err)
		}
		all = append(all, ps...)
	}
	return all
}

func (c *compiler) fileMatch(n *yaml.Node, guard bool) *fileMatch {
	m := &fileMatch{}
	ok := c.object(n, "file", map[string]func(*yaml.Node){
		"op": func(n *yaml.Node) {
			for _, w := range c.texts(n, "read, edit or write") {
				op := operationNames[w.text]
				if op == 0 {
					c.problem(w.at, "op is %q, expected read, edit, write", short(w.text))
				}
				m.ops |= op
			}
		},
		"path": func(n *yaml.Node) { m.paths = c.paths(n) },
		"not":  func(n *yaml.Node) { m.not = c.paths(n) },
	})
	if guard && m.ops&opRead != 0 {
		m.also = opEdit | opWrite
	}
	if ok && m.ops == 0 {
		c.problem(n, "the key op is missing, expected read, edit or write")
	}
	if ok && m.paths == nil {
		c.problem(n, "the key path is missing")
	}
	return m
}

func (c *compiler) mcp(n *yaml.Node, guard bool) *mcpMatch {
	m := &mcpMatch{}
	c.object(n, "mcp", map[string]func(*yaml.Node){
		"server": func(n *yaml.Node) {
			for _, w := range c.texts(n, "the name of a server") {
				if !guard && strings.Contains(w.text, "*") {
					c.problem(w.at, "a rule that allows must name the MCP server in full")
				}
				m.server = append(m.server, textGlob(w.text))
			}
		},
		"tool":  func(n *yaml.Node) { m.tool = c.globs(n, "the name of a tool") },
		"input": func(n *yaml.Node) { m.input = c.input(n) },
	})
	if m.server == nil {
		c.problem(n, "the key server is missing")
	}
	return m
}

// input reads conditions on members of a tool's input.
func (c *compiler) input(n *yaml.Node) []inputMatch {
	if n.Kind != yaml.MappingNode {
		c.problem(n, "expected members of the tool's input with their values, but got %s", kindOf(n))
		return nil
	}
	var all []inputMatch
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, ok := c.text(n.Content[i], "the name of a member")
		if ok && seen[k.text] {
			c.problem(k.at, "key %q stands here twice", short(k.text))
		}
		seen[k.text] = true
		all = append(all, inputMatch{k.text, c.globs(n.Content[i+1], "a value")})
	}
	return all
}

func (c *compiler) url(n *yaml.Node, guard bool) *urlMatch {
	m := &urlMatch{}
	c.object(n, "url", map[string]func(*yaml.Node){
		"scheme": func(n *yaml.Node) {
			for _, w := range c.texts(n, "http or https") {
				if w.text != "http" && w.text != "https" {
					c.problem(w.at, "scheme is %q, expected http, https", short(w.text))
				}
				m.schemes = append(m.schemes, w.text)
			}
		},
		"host": func(n *yaml.Node) {
			for _, w := range c.texts(n, "a host") {
				host := strings.TrimRight(strings.ToLower(w.text), ".")
				switch {
				case strings.ContainsAny(host, "/: @"):
					c.problem(w.at, "%q is no host name", short(w.text))
				case !guard && strings.Trim(host, "*.") == "":
					c.problem(w.at, "a rule that allows needs a host, with * for parts of it at most")
				}
				m.hosts = append(m.hosts, textGlob(host))
			}
		},
		"path": func(n *yaml.Node) {
			for _, w := range c.texts(n, "a path") {
				if !strings.HasPrefix(w.text, "/") {
					c.problem(w.at, "path %q must begin with /", short(w.text))
					continue
				}
				alternatives, err := braces(w.text)
				for _, s := range alternatives {
					var g glob
					if g, err = pathGlob(s); err != nil {
						break
					}
					m.paths = append(m.paths, g)
				}
				if err != nil {
					c.problem(w.at, "path %q: %v", short(w.text), err)
				}
			}
		},
	})
	if m.hosts == nil {
		c.problem(n, "the key host is missing")
	}
	return m
}

// packNotFound says which packs there are.
func packNotFound(name string, known []string) string {
	return fmt.Sprintf("there is no pack %q, expected one of %s", short(name), strings.Join(known, ", "))
}
