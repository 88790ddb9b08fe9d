package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"assent/internal/policy"
)

// Codex's files of rules are Starlark. They are only parsed, never run: a call of prefix_rule with
// literal arguments is a rule, and everything else is named. The bounds keep a parser that descends
// by nesting small.
const (
	maxCodexRules   = 256 << 10
	maxCodexNesting = 200
	maxCodexChoices = 256 // rule strings that one pattern with alternatives may become
)

// plainToken is a word of a command that stands for itself in a rule string, in a shell and in YAML.
var plainToken = regexp.MustCompile(`^[A-Za-z0-9_./@%+,:=-]+$`)

// ReadCodex reads Codex's files of rules (*.rules below ~/.codex/rules). c.Settings names them as a
// whole, c.UserDir is Codex's own directory: rules in the .codex of another one are a project's. An
// error says which file cannot be read, with line and column where it is no Starlark.
func ReadCodex(c Config, paths []string) (*Import, error) {
	m := &Import{Config: c}
	unread := ""
	for _, path := range paths {
		in, err := os.Stat(path)
		if err == nil && (!in.Mode().IsRegular() || in.Size() > maxCodexRules) {
			err = fmt.Errorf("it is no regular file of at most %d bytes", maxCodexRules)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, fmt.Errorf("read rules %s: %w", path, policy.WithoutPath(err))
		}
		at, err := m.codexFile(path, text)
		if err != nil {
			return nil, err
		}
		if unread == "" {
			unread = at
		}
	}
	if unread != "" {
		// What is not understood may forbid or ask about what a rule beside it allows.
		for i, e := range m.Entries {
			if e.Action == "allow" && e.State != Left {
				m.Entries[i] = Entry{Action: e.Action, Text: e.Text, State: Left,
					Why: unread + " is no rule with literal words, and may deny what this one allows"}
			}
		}
	}
	order := []string{"deny", "ask", "allow"}
	rank := func(e Entry) int {
		if i := slices.Index(order, e.Action); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(m.Entries, func(a, b Entry) int { return rank(a) - rank(b) })
	return m, nil
}

// codexFile adds an entry for each statement of a file, and returns where the first stands that
// may deny or ask but cannot be read.
func (m *Import) codexFile(path string, text []byte) (unread string, err error) {
	depth := 0
	for _, b := range text {
		switch b {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxCodexNesting {
			return "", fmt.Errorf("read rules %s: brackets are nested more than %d deep", path, maxCodexNesting)
		}
	}
	f, err := syntax.LegacyFileOptions().Parse(path, text, 0)
	if err != nil {
		var at syntax.Error
		if errors.As(err, &at) {
			return "", fmt.Errorf("read rules %s:%d:%d: %s", path, at.Pos.Line, at.Pos.Col, at.Msg)
		}
		return "", fmt.Errorf("read rules %s: %w", path, err)
	}
	project := projectOfCodex(path, m.UserDir)
	for _, stmt := range f.Stmts {
		if len(m.Entries) >= maxSettingsEntries {
			return "", fmt.Errorf("read rules %s: more than %d rules", path, maxSettingsEntries)
		}
		start, end := stmt.Span()
		source := sourceBetween(text, start, end)
		name, args := literalCall(stmt)
		switch name {
		case "prefix_rule":
			if e, ok := m.codexRule(args, project); ok {
				m.Entries = append(m.Entries, e)
				continue
			}
		case "host_executable":
			m.Entries = append(m.Entries, Entry{Action: name, Text: source, State: Left, Why: "which file a program's name stands for is no rule"})
			continue
		case "network_rule":
			m.Entries = append(m.Entries, Entry{Action: name, Text: source, State: Left, Why: "it is about hosts that Codex's own sandbox lets through; no rule stands for it"})
			continue
		}
		at := fmt.Sprintf("%s:%d:%d", path, start.Line, start.Col)
		m.Entries = append(m.Entries, Entry{Action: "statement", Text: source, State: Left, Why: at + " is no call of prefix_rule with literal words; files of rules are not run"})
		if unread == "" {
			unread = at
		}
	}
	return unread, nil
}

// codexRule is the entry of one prefix_rule, and whether its arguments are literal and known.
func (m *Import) codexRule(args map[string]syntax.Expr, project string) (Entry, bool) {
	e := Entry{Action: "allow", State: Carried}
	said := ""
	for name, value := range args {
		text, isText := literalText(value)
		switch name {
		case "pattern", "match", "not_match": // the last two are examples that Codex tests a rule with
		case "justification":
			if !isText {
				return e, false
			}
			said = text
		case "decision":
			action, ok := map[string]string{"allow": "allow", "prompt": "ask", "forbidden": "deny"}[text]
			if !isText || !ok {
				return e, false
			}
			e.Action = action
		default:
			return e, false
		}
	}
	pattern, ok := literalPattern(args["pattern"])
	if !ok {
		return e, false
	}
	e.Text = patternText(pattern)
	guard := e.Action != "allow"
	if !guard && project != "" && !m.Everywhere {
		e.State = Left
		e.Why = "it holds in " + project + " only, and here it would hold everywhere; --everywhere says that you mean that"
		return e, true
	}
	e.Under = e.Action
	var exact bool
	e.As, exact = ruleStrings(pattern)
	problem := ""
	for _, text := range e.As {
		if problem = ruleStringProblem(e.Action, text); problem != "" {
			break
		}
		if !guard {
			if why := policy.NeverMatches(text); why != "" {
				problem = "it would never match here: " + why
				break
			}
		}
	}
	switch {
	case exact && problem == "":
	case !guard:
		e.State, e.As, e.Under, e.Why = Left, nil, "", problem
		if !exact {
			e.Why = "a word of it is not plain, or it has too many alternatives for rule strings"
		}
		return e, true
	default:
		e.State, e.Under = Changed, "ask"
		e.Why = "no rule string stands for these words; all that begins like them is asked about instead"
		if problem != "" {
			e.As = []string{"Bash"}
			e.Why = problem + "; every command is asked about instead"
		}
		return e, true
	}
	if !guard {
		for _, text := range e.As {
			if e.Meaning = WideMeaning(text); e.Meaning != "" {
				break
			}
		}
	} else if said != "" {
		e.State, e.Why = Changed, "the rule is carried over, its justification is not: "+said
	}
	return e, true
}

// ruleStrings are the rule strings for a pattern, one for each choice of its alternatives. Where a
// word cannot stand in one they are wider: they hold the words before it, or no word at all.
func ruleStrings(pattern [][]string) (list []string, exact bool) {
	list = []string{""}
	for i, words := range pattern {
		var longer []string
		plain := len(list)*len(words) <= maxCodexChoices
		for _, word := range words {
			plain = plain && plainToken.MatchString(word) && !strings.HasSuffix(word, ":") && (i > 0 || !strings.Contains(word, "="))
		}
		if !plain {
			if i == 0 {
				return []string{"Bash"}, false
			}
			return closed(list), false
		}
		for _, before := range list {
			for _, word := range words {
				longer = append(longer, strings.TrimSpace(before+" "+word))
			}
		}
		list = longer
	}
	return closed(list), true
}

func closed(prefixes []string) []string {
	var list []string
	for _, p := range prefixes {
		list = append(list, "Bash("+p+":*)")
	}
	return list
}

// literalCall is the name and the arguments of a statement that calls a function by name, with
// named arguments and each of them once.
func literalCall(stmt syntax.Stmt) (name string, args map[string]syntax.Expr) {
	expr, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return "", nil
	}
	call, ok := expr.X.(*syntax.CallExpr)
	if !ok {
		return "", nil
	}
	fn, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return "", nil
	}
	args = map[string]syntax.Expr{}
	for _, arg := range call.Args {
		named, ok := arg.(*syntax.BinaryExpr)
		if !ok || named.Op != syntax.EQ {
			return "", nil
		}
		key, ok := named.X.(*syntax.Ident)
		if !ok || args[key.Name] != nil {
			return "", nil
		}
		args[key.Name] = named.Y
	}
	return fn.Name, args
}

func literalText(e syntax.Expr) (string, bool) {
	lit, ok := e.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return "", false
	}
	text, ok := lit.Value.(string)
	return text, ok
}

// literalPattern is a pattern: of each word of a command the texts that it may be.
func literalPattern(e syntax.Expr) ([][]string, bool) {
	list, ok := e.(*syntax.ListExpr)
	if !ok || len(list.List) == 0 {
		return nil, false
	}
	var pattern [][]string
	for _, item := range list.List {
		choice := []syntax.Expr{item}
		if inner, ok := item.(*syntax.ListExpr); ok {
			choice = inner.List
		}
		var words []string
		for _, c := range choice {
			word, ok := literalText(c)
			if !ok {
				return nil, false
			}
			words = append(words, word)
		}
		if len(words) == 0 {
			return nil, false
		}
		pattern = append(pattern, words)
	}
	return pattern, true
}

// patternText shows a pattern on one line.
func patternText(pattern [][]string) string {
	var parts []string
	for _, words := range pattern {
		parts = append(parts, strings.Join(words, "|"))
	}
	return strings.Join(parts, " ")
}

// sourceBetween is the text of a statement, cut to what a line can show.
func sourceBetween(text []byte, start, end syntax.Position) string {
	lines := strings.SplitAfter(string(text), "\n")
	from, to := int(start.Line)-1, int(end.Line)
	if from < 0 || from >= len(lines) {
		return ""
	}
	source := strings.Join(strings.Fields(strings.Join(lines[from:min(max(to, from+1), len(lines))], "")), " ")
	if r := []rune(source); len(r) > 200 {
		source = string(r[:200]) + "…"
	}
	return source
}

// projectOfCodex is the project whose rules stand in a file, "" for the user's own and for a copy.
func projectOfCodex(path, userDir string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(filepath.Dir(abs))
	if filepath.Base(dir) != ".codex" || dir == filepath.Clean(userDir) {
		return ""
	}
	return filepath.Dir(dir)
}
