package effects

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// findDeletes is what find -delete deletes, in words that lead to where. A name or path is said only
// where nothing but it and what narrows further stands before -delete: of alternatives and negations
// the words would promise too little.
func (e *found) findDeletes(u *shell.Unit) string {
	all, some := "Deletes all files in", "Deletes files that find matches in"
	var words []shell.Word
	for i := range e.script.Units {
		f := &e.script.Units[i]
		if f.Kind != shell.Command || f.Base != "find" || f.Start > u.Start || u.Start >= f.End || len(f.Via) != len(u.Via)-1 {
			continue
		}
		if words != nil {
			return some
		}
		words = f.Argv
	}
	end := slices.IndexFunc(words, func(w shell.Word) bool { return w.Text == "-delete" })
	if end < 1 || slices.ContainsFunc(words[end+1:], func(w shell.Word) bool { return w.Text == "-delete" }) {
		return some
	}
	tests, name := false, ""
	for i := 1; i < end; i++ {
		w := words[i]
		if !strings.HasPrefix(w.Prefix, "-") {
			if w.Text == "!" || w.Text == "," || strings.ContainsAny(w.Text, "()") || tests && !w.Static {
				return some
			}
			continue
		}
		value := shell.Word{}
		if i+1 < end {
			value = words[i+1]
		}
		switch w.Text {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
			if name != "" || !value.Static || value.Text == "" {
				return some
			}
			switch kind := quiet(value.Text, 40); {
			case strings.HasSuffix(w.Text, "name") && !strings.Contains(w.Text, "whole") && strings.HasPrefix(value.Text, "*."):
				name = "Deletes " + kind + " files in"
			case strings.HasSuffix(w.Text, "name") && !strings.Contains(w.Text, "whole"):
				name = "Deletes files named " + kind + " in"
			default:
				name = "Deletes files with the path " + kind + " in"
			}
			i++
		case "-type", "-maxdepth", "-mindepth":
			if w.Text != "-type" || value.Text != "f" {
				tests = true
			}
			i++
		case "-depth", "-xdev", "-print", "-H", "-L", "-P":
		case "-o", "-or", "-not":
			return some
		default:
			tests = true
		}
	}
	switch {
	case name != "":
		return name
	case tests:
		return some
	}
	return all
}

// Phrases of statements for a database.
const (
	changesDatabase = "Changes a database:"
	usesDatabase    = "Uses the database"
	maxStatements   = 8 // that are told of one command
	maxCondition    = 60
)

// holding is a statement from where it was found on: to the end of the word of the command that has
// it, or of the whole text.
func (c *command) holding(text string, at []int) (found, rest string) {
	found = text[at[0]:at[1]]
	for i := range c.script.Units {
		for _, w := range c.script.Units[i].Argv {
			if w.Start <= at[0] && at[1] <= w.End && w.Static {
				if strings.Count(w.Text, found) != strings.Count(text[w.Start:min(w.End, len(text))], found) {
					return found, ""
				}
				rest = w.Text
				for range strings.Count(text[w.Start:at[0]], found) {
					_, rest, _ = strings.Cut(rest, found)
				}
				if k := strings.Index(rest, found); k >= 0 {
					return found, rest[k:]
				}
			}
		}
	}
	return found, ""
}

var (
	sqlTable = regexp.MustCompile(`(?i)^(?:(delete)\s+from\s+(?:only\s+)?|(update)\s+(?:only\s+)?|(truncate)\s+(?:table\s+)?|(drop)\s+(table|database|schema|user|role|index|view|collection|keyspace)\s+(?:if\s+exists\s+)?)([\w."` + "`" + `]+)`)
	sqlPlain = regexp.MustCompile(`(?i)^[\w.]+ *(=|<|>|<=|>=|<>|!=) *('[\w.@-]*'|-?[\w.]+)$`)
)

// statement is what a statement does that destroys: to which table, and to which of its rows. rest is
// empty where its end is not certain.
func statement(what, rest string) effect {
	what = strings.Join(strings.Fields(what), " ")
	f := effect{kind: "database", phrase: changesDatabase, object: what, risk: hook.Danger}
	m := sqlTable.FindStringSubmatch(rest)
	if m == nil {
		return f
	}
	where, more, ok := condition(rest[len(m[0]):])
	if !ok {
		return f
	}
	f.object = strings.Trim(m[6], "\"`")
	switch {
	case m[1] != "" && where == "" && more == "":
		f.phrase = "Empties"
	case m[1] != "":
		f.phrase = "Deletes rows of"
	case m[2] != "" && where == "":
		f.phrase = "Changes all rows of"
	case m[2] != "":
		f.phrase = "Changes rows of"
	case more != "" && !slices.Contains([]string{"cascade", "restrict"}, strings.ToLower(more)):
		f.phrase, f.object = changesDatabase, what // several tables, or what is not known
	case m[3] != "":
		f.phrase = "Empties"
	case strings.EqualFold(m[5], "table"):
		f.phrase = "Drops"
	default:
		f.phrase = "Drops the " + strings.ToLower(m[5])
	}
	switch {
	case where == "":
	case utf8.RuneCountInString(where) > maxCondition:
		f.tail = "by a condition" // a part of it would promise too much
	case sqlPlain.MatchString(where):
		f.tail = "where " + where
	default:
		f.tail = "where " + quiet(where, maxCondition+2)
	}
	return f
}

// condition splits the rest of a statement at its own WHERE: not one in a text or in parentheses. It
// is not ok where comments, escapes or open quotes make the end uncertain.
func condition(s string) (where, more string, ok bool) {
	depth, end, at := 0, len(s), -1
	for i := 0; i < end; i++ {
		switch b := s[i]; {
		case b == '\\', strings.HasPrefix(s[i:], "--"), strings.HasPrefix(s[i:], "/*"), b == '#', b == '$':
			return "", "", false
		case b == '\'' || b == '"' || b == '`':
			k := strings.IndexByte(s[i+1:], b)
			if k < 0 {
				return "", "", false
			}
			i += k + 1
		case b == '(':
			depth++
		case b == ')':
			depth--
		case b == ';' && depth == 0:
			end = i
		case depth == 0 && at < 0 && i > 0 && (b == 'w' || b == 'W') && i+6 <= len(s) && strings.EqualFold(s[i:i+5], "where") && strings.IndexByte(" \t\n\r)", s[i-1]) >= 0 && strings.IndexByte(" \t\n\r(", s[i+5]) >= 0:
			at = i
		}
	}
	if depth != 0 {
		return "", "", false
	}
	one := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if at < 0 {
		return "", one(s[:end]), true
	}
	return one(s[at+len("where") : end]), one(s[:at]), true
}

// oneDatabase tells the database of the one client with the statements that it is given, not by itself.
func (e *found) oneDatabase() {
	if e.sqlSeen != hook.Danger {
		return
	}
	client := -1
	for i := range e.effects {
		if e.effects[i].kind == "database" && e.effects[i].phrase == usesDatabase {
			if client >= 0 {
				return
			}
			client = i
		}
	}
	if client < 0 {
		return
	}
	in := ""
	if name := e.effects[client].name(40); name != "" {
		in = "in " + name
	}
	for i := range e.effects {
		if f := &e.effects[i]; f.kind == "database" && f.risk == hook.Danger && i != client && in != "" {
			f.tail = strings.TrimSuffix(in+" "+f.tail, " ")
		}
	}
	e.effects = slices.Delete(e.effects, client, client+1)
}
