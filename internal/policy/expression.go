package policy

import (
	"slices"
	"strings"
)

// The little languages that commands carry in one word are read here as far as an allow needs:
// every token must be known. What cannot be read is not harmless.

// exprToken is a token of jq, yq or a template.
type exprToken struct {
	kind byte // 'i' a name, '.' a field such as .a, '$' a variable, '"' a text, '0' a number, '@' a format, else the character itself
	text string
}

const (
	maxExpression = 8 << 10
	maxDepth      = 16
)

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func nameAt(s string, i int) int {
	for i < len(s) && (letter(s[i]) || digit(s[i])) {
		i++
	}
	return i
}

// jqTokens splits an expression of jq. The programs within texts, "\(.a)", are split too.
func jqTokens(s string, depth int) (all []exprToken, ok bool) {
	if len(s) > maxExpression || depth > maxDepth {
		return nil, false
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case c == '"':
			inner, end, ok := jqText(s, i, depth)
			if !ok {
				return nil, false
			}
			all = append(append(all, exprToken{'"', s[i:end]}), inner...)
			i = end
		case c == '.' && i+1 < len(s) && s[i+1] == '.':
			all = append(all, exprToken{c, ".."})
			i += 2
		case c == '.' && i+1 < len(s) && letter(s[i+1]):
			end := nameAt(s, i+1)
			all = append(all, exprToken{'.', s[i+1 : end]})
			i = end
		case c == '$' || c == '@':
			if i+1 == len(s) || !letter(s[i+1]) {
				return nil, false
			}
			end := nameAt(s, i+1)
			all = append(all, exprToken{c, s[i+1 : end]})
			i = end
		case letter(c):
			end := nameAt(s, i)
			all = append(all, exprToken{'i', s[i:end]})
			i = end
		case digit(c):
			end := i
			for end < len(s) && (digit(s[end]) || s[end] == '.' && end+1 < len(s) && digit(s[end+1])) {
				end++
			}
			if end < len(s) && (letter(s[end]) || s[end] == '.') { // 1.env is 1. and env
				return nil, false
			}
			all = append(all, exprToken{'0', s[i:end]})
			i = end
		case strings.IndexByte(".[](){}|,:;=<>!+-*/%?", c) >= 0:
			all = append(all, exprToken{c, s[i : i+1]})
			i++
		default: // # begins a comment, whose end is not read alike everywhere
			return nil, false
		}
	}
	return all, true
}

// jqText reads a text that begins at i, and returns the tokens of the programs in it.
func jqText(s string, i, depth int) (inner []exprToken, end int, ok bool) {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return inner, i + 1, true
		case '\\':
			if i++; i == len(s) {
				return nil, 0, false
			}
			if s[i] != '(' {
				continue
			}
			from, open := i+1, 1
			for i++; i < len(s) && open > 0; i++ {
				switch s[i] {
				case '(':
					open++
				case ')':
					open--
				case '"', '\\': // a text in a text: rare, and easily read in two ways
					return nil, 0, false
				}
			}
			if open > 0 {
				return nil, 0, false
			}
			i--
			more, fine := jqTokens(s[from:i], depth+1)
			if !fine {
				return nil, 0, false
			}
			// What stands before and after is another text: no name touches.
			inner = append(append(append(inner, exprToken{kind: '('}), more...), exprToken{kind: ')'})
		}
	}
	return nil, 0, false
}

// jqNames are jq's own words and functions that look at nothing but their input.
var jqNames = strings.Fields(`if then elif else end and or not as reduce foreach def try catch label break true false null empty error
	length utf8bytelength keys keys_unsorted values has in inside map map_values path paths leaf_paths del delpaths getpath setpath pick to_entries from_entries with_entries
	select recurse add any all flatten range floor ceil round sqrt pow log log2 log10 exp abs min max min_by max_by unique unique_by group_by sort sort_by reverse contains
	index indices rindex startswith endswith ltrimstr rtrimstr trim ltrim rtrim trimstr explode implode split splits join ascii ascii_downcase ascii_upcase tostring tonumber tojson fromjson
	type infinite nan isinfinite isnan isnormal isvalid numbers strings booleans arrays objects nulls iterables scalars test match capture scan sub gsub
	limit first last nth until while repeat inputs input transpose combinations walk bsearch splits todate fromdate now date dateadd datesub strftime strptime mktime gmtime localtime todateiso8601 fromdateiso8601 toarray have_literal_numbers
	limit skip tostream fromstream truncate_stream getpath  ascii isempty significand halt input_line_number abs have_decnum ltrimstr add`)

// harmlessJQ says whether a program of jq or gojq looks at nothing but its input: not at the
// environment, and at no other file.
func harmlessJQ(s string) bool {
	tokens, ok := jqTokens(s, 0)
	if !ok {
		return false
	}
	defined := map[string]bool{}
	for i, t := range tokens {
		next := byte(0)
		if i+1 < len(tokens) {
			next = tokens[i+1].kind
		}
		switch t.kind {
		case '$':
			if t.text == "ENV" || strings.HasPrefix(t.text, "__") {
				return false
			}
		case '@':
			if !slices.Contains([]string{"text", "json", "html", "uri", "csv", "tsv", "sh", "base64", "base64d"}, t.text) {
				return false
			}
		case 'i':
			switch {
			case i > 0 && tokens[i-1].text == "def":
				defined[t.text] = true
			case slices.Contains(jqNames, t.text), defined[t.text]:
			case outsideData(t.text):
				return false
			case next == ':' && i > 0 && (tokens[i-1].kind == '{' || tokens[i-1].kind == ','): // {name: …}
			case (next == ',' || next == '}') && i > 0 && (tokens[i-1].kind == '{' || tokens[i-1].kind == ','): // {name}
			default:
				return false
			}
			if outsideData(t.text) {
				return false
			}
		}
	}
	return true
}

// outsideData are the words of jq, gojq and yq that reach beyond the input. None may stand in a
// program anywhere but as a field, .env.
func outsideData(name string) bool {
	lower := strings.ToLower(name)
	for _, part := range []string{"env", "import", "include", "load", "eval", "system", "exec", "shell", "module", "filename", "input_file", "search_list", "debug", "stderr", "halt_error", "library", "split_doc", "prog_args"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// yqNames are the operators of yq that look at nothing but their input.
var yqNames = strings.Fields(`select map map_values keys length has to_entries from_entries with_entries sort sort_by sort_keys unique unique_by group_by reverse first
	contains test match join split tag type kind style line column path not and or true false null del any all any_c all_c flatten min max add to_json tojson from_json
	to_yaml from_yaml to_props upcase downcase trim sub tonumber tostring to_number to_string entries document_index di explode anchor alias documentIndex key parent pick omit is_key headComment lineComment footComment`)

// harmlessYQ is harmlessJQ for both programs of the name yq.
func harmlessYQ(s string) bool {
	if strings.HasSuffix(s, ".yq") || strings.Contains(s, `\`) || s == "" || s == "-" {
		return false // a file with a program
	}
	tokens, ok := jqTokens(s, 0)
	if !ok {
		return false
	}
	for _, t := range tokens {
		switch t.kind {
		case '$', '@', ';':
			return false
		case 'i':
			if !slices.Contains(yqNames, t.text) {
				return false
			}
		}
	}
	return true
}

// templateNames are the functions of Go's templates, and of the programs that use them, which
// look at nothing but the data.
var templateNames = strings.Fields(`if else end range with and or not eq ne lt le gt ge len index slice print printf println html js urlquery true false nil
	json join lower upper title split pad truncate table
	autocolor color pluck tablerow tablerender timeago timefmt hyperlink break continue`)

var (
	templateAction = lazily(`(?s)\{\{.*?\}\}`)
	templateToken  = lazily("^(\"[^\"\\\\\n]*(\\\\[nt\"][^\"\\\\\n]*)*\"|`[^`]*`|[$]?[.]?[A-Za-z_][A-Za-z0-9_]*|[$.]|[0-9]+|[()|,]|:?=|-| )")
)

// harmlessTemplate says whether a template of Go prints nothing but the data it is given.
func harmlessTemplate(s string) bool {
	if len(s) > maxExpression || !strings.Contains(s, "{{") || strings.HasPrefix(s, "@") {
		return false
	}
	rest := templateAction.ReplaceAllString(s, "")
	if strings.Contains(rest, "{{") || strings.Contains(rest, "}}") {
		return false
	}
	for _, action := range templateAction.FindAllString(s, -1) {
		inside := strings.Trim(action[2:len(action)-2], " ")
		for inside != "" {
			t := templateToken.FindString(inside)
			if t == "" || letter(t[0]) && !slices.Contains(templateNames, t) {
				return false
			}
			inside = inside[len(t):]
			if letter(t[0]) && inside != "" && (letter(inside[0]) || digit(inside[0])) {
				return false
			}
		}
	}
	return true
}

var (
	// No pipe, no > but >=, no @.
	awkText    = lazily(`^(?s:([^|>@\\]|\|\||>=|\\[^\n|>@])*)\z`)
	awkPattern = lazily(`^(?s:([^@\\]|\\[^\n@])*)\z`)
	awkCall    = lazily(`[A-Za-z_][A-Za-z0-9_]*\(`)
	awkFunc    = lazily(`(func|function)[ \t]+([A-Za-z_][A-Za-z0-9_]*)`)
)

var awkNames = strings.Fields(`length substr index split sub gsub gensub match sprintf printf print tolower toupper int sqrt exp log sin cos atan2 rand srand
	strftime systime mktime asort asorti patsplit strtonum and or xor lshift rshift compl isarray typeof if while for in return switch delete func`)

// harmlessAwk says whether a program of awk only prints.
func harmlessAwk(s string) bool {
	// In front of the first action there are only patterns, in which > compares and | stands in
	// regular expressions: what prints to a file or a program is an action.
	first := strings.IndexByte(s, '{')
	if first < 0 {
		first = len(s)
	}
	if len(s) > maxExpression || !awkPattern.MatchString(s[:first]) || !awkText.MatchString(s[first:]) {
		return false
	}
	for _, word := range []string{"system", "getline", "ENVIRON", "PROCINFO", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "close", "fflush", "extension", "/inet"} {
		if strings.Contains(s, word) {
			return false
		}
	}
	defined := []string{}
	for _, m := range awkFunc.FindAllStringSubmatch(s, -1) {
		defined = append(defined, m[2])
	}
	for _, call := range awkCall.FindAllString(s, -1) {
		if name := call[:len(call)-1]; !slices.Contains(awkNames, name) && !slices.Contains(defined, name) {
			return false
		}
	}
	return true
}
