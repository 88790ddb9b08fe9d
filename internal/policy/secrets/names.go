package secrets

import (
	"path"
	"strings"
	"unicode"
)

// Fold makes names equal that a file system may take for one.
func Fold(s string) string {
	plain := true
	for i := range len(s) {
		plain = plain && (s[i] < 'A' || s[i] > 'Z')
		if s[i] >= 0x80 {
			return strings.ToLower(strings.ToUpper(strings.Map(func(r rune) rune {
				if Invisible(r) || unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, s)))
		}
	}
	if plain {
		return s
	}
	return strings.ToLower(s)
}

// Code says whether a name is that of a program's source, of documentation or of a picture, which
// may well have a word such as token in it.
func Code(name string) bool {
	switch path.Ext(name) {
	case ".go", ".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".rb", ".erb", ".java", ".kt", ".kts", ".scala", ".groovy",
		".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm", ".cs", ".fs", ".swift", ".rs", ".zig", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".ex", ".exs", ".erl", ".hrl", ".clj", ".cljs",
		".hs", ".ml", ".mli", ".dart", ".sol", ".proto", ".graphql", ".gql", ".sql", ".tmpl", ".tpl", ".html", ".htm", ".css", ".scss", ".sass", ".less", ".md", ".mdx", ".rst", ".adoc", ".tex",
		".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".woff", ".woff2", ".ttf", ".snap", ".golden", ".1", ".5", ".8", ".bats", ".feature", ".s", ".asm", ".nim", ".cr", ".d", ".v", ".vhd", ".rules", ".pub":
		return true
	}
	return false
}

// Data says whether a name is that of a file with data: one with an extension of such files,
// or without any.
func Data(name string) bool {
	switch ext := path.Ext(name); ext {
	case ".json", ".json5", ".jsonc", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".config", ".cnf", ".properties", ".xml", ".plist", ".txt", ".text", ".csv", ".tsv", ".env", ".vars",
		".db", ".sqlite", ".sqlite3", ".dat", ".data", ".bin", ".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".enc", ".key", ".hcl", ".tf", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".log", ".out", ".dump", ".cache", ".pickle", ".pkl", ".b64", ".hex", ".html~":
		return true
	default:
		return ext == "" || ext == name || strings.HasSuffix(name, "~")
	}
}

// Invisible says whether a character is one of those characters that make a text look like another one.
func Invisible(c rune) bool {
	switch {
	case c >= 0x80 && c < 0xa0, c == 0xad, c == 0x61c, c == 0x180e, c == 0xfeff,
		c >= 0x200b && c <= 0x200f, c >= 0x2028 && c <= 0x202e, c >= 0x2060 && c <= 0x206f,
		c >= 0xe0000 && c <= 0xe0fff:
		return true
	}
	return false
}
