package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.starlark.net/syntax"

	"assent/internal/agent/claude/tools"
	"assent/internal/hook"
)

// maxNesting is how deep brackets may be nested in a file of Codex's rules.
const maxNesting = 200

// codexRules reads a file of Codex's rules: Starlark of which only calls of prefix_rule with literal arguments
// are understood. Nothing is evaluated. Everything else is named and left out.
//
//	prefix_rule(pattern = ["git", ["status", "log"]], decision = "allow")
//
// https://developers.openai.com/codex/rules describes them: decision is allow, prompt or forbidden; each element
// of pattern is a word, or a list of which one word has to stand there; a command matches by its first words.
func (m *Import) codexRules(path string, text []byte) error {
	depth := 0
	for _, b := range text { // the parser descends by nesting
		switch b {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return fmt.Errorf("read rules %s: brackets are nested more than %d deep", path, maxNesting)
		}
	}
	file, err := (&syntax.FileOptions{}).Parse(path, text, 0)
	if err != nil {
		return fmt.Errorf("read rules %w", err) // says file, line and column
	}
	for _, stmt := range file.Stmts {
		start, end := stmt.Span()
		source := sourceOf(text, start, end)
		call, ok := prefixRule(stmt)
		if !ok {
			m.left("rule", source, "only prefix_rule(…) with literal arguments is understood")
			continue
		}
		m.codexRule(source, call)
	}
	return nil
}

// prefixRule is the call that a statement is.
func prefixRule(stmt syntax.Stmt) (*syntax.CallExpr, bool) {
	expr, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return nil, false
	}
	call, ok := expr.X.(*syntax.CallExpr)
	if !ok {
		return nil, false
	}
	name, ok := call.Fn.(*syntax.Ident)
	return call, ok && name.Name == "prefix_rule"
}

func (m *Import) codexRule(source string, call *syntax.CallExpr) {
	action, words, problem := string(hook.ActionAllow), [][]string(nil), ""
	seen := map[string]bool{}
	for _, arg := range call.Args {
		bin, ok := arg.(*syntax.BinaryExpr)
		if !ok || bin.Op != syntax.EQ {
			problem = "its arguments have to be named"
			break
		}
		name, _ := bin.X.(*syntax.Ident)
		if name == nil || seen[name.Name] {
			problem = "an argument is repeated, or has no name"
			break
		}
		seen[name.Name] = true
		switch name.Name {
		case "pattern":
			if words, ok = pattern(bin.Y); !ok {
				problem = "its pattern is no list of words"
			}
		case "decision":
			decision, _ := literal(bin.Y)
			if action = map[string]string{"allow": "allow", "prompt": "ask", "forbidden": "deny"}[decision]; action == "" {
				problem = "its decision is none of allow, prompt and forbidden"
			}
		case "justification", "match", "not_match": // words for people, and examples
		default:
			problem = "what its argument " + name.Name + " means is not known"
		}
		if problem != "" {
			break
		}
	}
	if problem == "" && len(words) == 0 {
		problem = "it has no pattern"
	}
	if action == "" {
		action = "rule"
	}
	if problem != "" {
		m.left(action, source, problem)
		return
	}
	var rules []string
	for _, w := range combinations(words) {
		rule, ok := prefixRuleString(w)
		if !ok {
			instead := programRule(w)
			if len(words[0]) > 1 {
				instead = tools.Bash // the rule is about several programs
			}
			m.foreign(action, source, nil, instead, "a word of it has characters that a rule string cannot hold")
			return
		}
		rules = append(rules, rule)
	}
	if rules == nil {
		m.foreign(action, source, nil, tools.Bash, fmt.Sprintf("its alternatives are more than %d commands", maxAlternatives))
		return
	}
	m.foreign(action, source, rules, "", "")
}

// prefixRuleString is the rule string for commands that begin with these words.
func prefixRuleString(words []string) (string, bool) {
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n*()\\'\"`$|&;<>:?[]{}~#!") {
			return "", false
		}
	}
	return tools.Bash + "(" + strings.Join(words, " ") + ":*)", true
}

// programRule is a rule about all commands of the program that words begins with; "" where that has no name that
// a rule could hold.
func programRule(words []string) string {
	rule, ok := prefixRuleString(words[:1])
	if !ok {
		return tools.Bash
	}
	return rule
}

// combinations are the commands that words with alternatives stand for; nil if they are too many.
func combinations(words [][]string) [][]string {
	all := [][]string{nil}
	for _, alternatives := range words {
		var next [][]string
		for _, head := range all {
			for _, w := range alternatives {
				next = append(next, append(head[:len(head):len(head)], w))
			}
		}
		if len(next) > maxAlternatives {
			return nil
		}
		all = next
	}
	return all
}

// pattern reads a list of words and of lists of words.
func pattern(x syntax.Expr) ([][]string, bool) {
	list, ok := x.(*syntax.ListExpr)
	if !ok {
		return nil, false
	}
	var words [][]string
	for _, item := range list.List {
		if w, ok := literal(item); ok {
			words = append(words, []string{w})
			continue
		}
		inner, ok := item.(*syntax.ListExpr)
		if !ok || len(inner.List) == 0 {
			return nil, false
		}
		var alternatives []string
		for _, alternative := range inner.List {
			w, ok := literal(alternative)
			if !ok {
				return nil, false
			}
			alternatives = append(alternatives, w)
		}
		words = append(words, alternatives)
	}
	return words, len(words) > 0
}

// literal is the value of a text.
func literal(x syntax.Expr) (string, bool) {
	lit, ok := x.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return "", false
	}
	s, ok := lit.Value.(string)
	return s, ok
}

// sourceOf is the text between two places, on one line.
func sourceOf(text []byte, start, end syntax.Position) string {
	lines := strings.SplitAfter(string(text), "\n")
	from, to := int(start.Line)-1, int(end.Line)-1
	if from < 0 || to >= len(lines) || from > to {
		return ""
	}
	return strings.Join(strings.Fields(strings.Join(lines[from:to+1], " ")), " ")
}

// codexConfig reads Codex's config.toml: what in it says who is asked is named, and stays Codex's.
func (m *Import) codexConfig(path string, text []byte) error {
	var config map[string]any
	if _, err := toml.Decode(string(text), &config); err != nil {
		return tomlError(path, err)
	}
	for _, key := range []string{"approval_policy", "sandbox_mode", "sandbox_workspace_write", "default_permissions"} {
		if v, ok := config[key]; ok {
			m.left(key, fmt.Sprint(v), "it stays Codex's; no rule stands for it")
		}
	}
	return nil
}

// allowNothingBesideUnread leaves out what Codex's rules allow where a statement is not understood: it may forbid
// or ask about some of that.
func (m *Import) allowNothingBesideUnread() {
	unread := slices.ContainsFunc(m.Entries, func(e Entry) bool {
		known := strings.HasPrefix(e.Text, "host_executable(") || strings.HasPrefix(e.Text, "network_rule(")
		return e.State == Left && (e.Action == "rule" && !known || e.Action == string(hook.ActionDeny) || e.Action == string(hook.ActionAsk))
	})
	for i, e := range m.Entries {
		if unread && e.Action == string(hook.ActionAllow) && e.State != Left {
			m.Entries[i] = Entry{Action: e.Action, Text: e.Text, State: Left, Why: "a statement beside it is not understood, and may forbid what this one allows"}
		}
	}
}
