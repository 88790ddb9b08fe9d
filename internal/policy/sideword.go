package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// hasSideWords says whether sideWord knows the program.
func hasSideWords(program string) bool {
	switch program {
	case "git", "make", "gmake", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "tar", "gtar", "bsdtar", "date", "gdate", "curl", "sqlite3", "duckdb", "psql", "mysql", "mariadb", "go", "gh", "jq", "gojq", "jaq", "yq", "xq", "tomlq", "uniq", "xxd", "ps", "redis-cli", "valkey-cli", "keydb-cli", "mongo", "mongosh":
		return true
	}
	return false
}

// sideWord finds what opens a side door by where it stands, or is no flag at all.
func sideWord(program string, words []shell.Word, mine []bool) string {
	find := func(is func(i int, w shell.Word) bool) string {
		for i, w := range words {
			if !mine[i] && is(i, w) {
				return shown(w)
			}
		}
		return ""
	}
	switch program {
	case "git":
		if w := diffOutside(words, mine); w != "" {
			return w
		}
		sub := ""
		return find(func(i int, w shell.Word) bool {
			t := w.Prefix
			if i > 0 && mine[i-1] && sub == "" && !strings.HasPrefix(words[i-1].Text, "-") {
				sub = words[i-1].Text
			}
			switch {
			case sub == "" && strings.HasPrefix(t, "-"):
				return !harmlessGlobal(t)
			case sub == "":
				sub = t
				return !w.Static || strings.Contains(t, "--") // git's own parts, as submodule--helper
			}
			return false
		})
	case "make", "gmake":
		return find(func(_ int, w shell.Word) bool { return makeOpens(w) })
	case "npm", "pnpm", "yarn": // without a script of that name they show the environment
		sub := ""
		return find(func(i int, w shell.Word) bool {
			if i > 0 && sub == "" && !strings.HasPrefix(words[i-1].Prefix, "-") {
				sub = words[i-1].Text
			}
			return w.Text == "env" && sub != "" && (i == 1 || strings.HasPrefix(words[i-1].Prefix, "-") || words[i-1].Text == sub)
		})
	case "sed", "gsed":
		return sedDoor(words, mine)
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk":
		return awkDoor(words, mine)
	case "go":
		return find(func(i int, w shell.Word) bool {
			if strings.HasPrefix(w.Text, "-test.") && strings.Contains(w.Text, "file") {
				return true
			}
			if i > 0 && words[0].Text == "run" && !strings.HasPrefix(w.Prefix, "-") && strings.Contains(w.Prefix, "@") && !slices.ContainsFunc(words[1:i], func(o shell.Word) bool { return !strings.HasPrefix(o.Prefix, "-") }) {
				return true // it fetches the program
			}
			return strings.Contains(w.Text, "extld") // the linker's linker, within -ldflags
		})
	case "tar", "gtar", "bsdtar":
		return find(func(i int, w shell.Word) bool {
			if i == 0 && w.Static && !strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "IFTPgs") {
				return true // letters may stand without a dash
			}
			host, _, is := strings.Cut(w.Prefix, ":")
			return is && !strings.HasPrefix(host, "-") && !strings.Contains(host, "/") // an archive of another machine
		})
	case "date", "gdate":
		return find(func(i int, w shell.Word) bool {
			if strings.HasPrefix(w.Prefix, "-") || strings.HasPrefix(w.Prefix, "+") {
				return false
			}
			if i > 0 && takesDate(words[i-1].Text) {
				return false
			}
			return true // it sets the clock
		})
	case "wc", "gwc": // a list of files; with every other flag it counts, so that a word that may become one is no doubt
		ended := false
		return find(func(_ int, w shell.Word) bool {
			ended = ended || w.Text == "--"
			return !ended && strings.HasPrefix(w.Prefix, "--f")
		})
	case "curl":
		return find(func(i int, w shell.Word) bool { return curlOpens(words, i) })
	case "gh":
		return find(func(i int, w shell.Word) bool { // OWNER/REPO may name a host
			if i > 1 && words[0].Text != "search" && strings.HasPrefix(w.Prefix, "-") && slices.ContainsFunc(words[:i], func(d shell.Word) bool { return d.Text == "--" }) {
				return true // gh hands it on, to git or ssh
			}
			if query := strings.HasPrefix(w.Text, "-q") || strings.HasPrefix(w.Text, "--jq") || i > 0 && (words[i-1].Text == "-q" || words[i-1].Text == "--jq"); query && (!w.Static || jqReads.MatchString(w.Text)) {
				return true
			}
			if i > 0 && otherHost(w.Text) || uploads(words, i) {
				return true
			}
			return i > 0 && !strings.HasPrefix(w.Prefix, "-") && strings.Count(w.Text, "/") == 2 && !strings.Contains(w.Text, "://") && hostLike.MatchString(w.Text)
		})
	case "jq", "gojq", "jaq", "yq", "xq", "tomlq": // one yq hands its words on to jq
		return find(func(_ int, w shell.Word) bool {
			if program == "yq" && yqFile.MatchString(w.Text) {
				return false
			}
			return jqReads.MatchString(w.Text) || program == "yq" && yqReads.MatchString(w.Text)
		})
	case "uniq", "xxd": // the second file is written
		files := 0
		return find(func(i int, w shell.Word) bool {
			if strings.HasPrefix(w.Prefix, "-") && len(w.Text) > 1 || i > 0 && slices.Contains([]string{"-f", "-s", "-w", "-c", "-l", "-g", "-o", "-n", "-R"}, words[i-1].Text) && digits(w.Text) && program == "xxd" || i > 0 && slices.Contains([]string{"-f", "-s", "-w"}, words[i-1].Text) && program == "uniq" {
				return false
			}
			files++
			return files > 1 || w.Glob
		})
	case "ps": // ps axe shows what stands in the environments of all programs
		return find(func(i int, w shell.Word) bool {
			return !strings.HasPrefix(w.Prefix, "-") && (i == 0 || !strings.HasPrefix(words[i-1].Text, "-")) && (strings.ContainsAny(w.Text, "eE") || !w.Static)
		})
	case "sqlite3":
		return find(func(_ int, w shell.Word) bool { return sqliteRuns.MatchString(w.Text) || !w.Static })
	case "duckdb": // the name of a file or an address stands for a table
		return find(func(_ int, w shell.Word) bool {
			return sqliteRuns.MatchString(w.Text) || duckdbReads.MatchString(w.Text) || !w.Static
		})
	case "redis-cli", "valkey-cli", "keydb-cli":
		return find(func(i int, w shell.Word) bool { return redisRuns.MatchString(w.Text) || elsewhereData(words, i) })
	case "psql":
		return find(func(i int, w shell.Word) bool {
			return psqlRuns.MatchString(w.Text) || !w.Static || elsewhereData(words, i)
		})
	case "mysql", "mariadb":
		return find(func(i int, w shell.Word) bool {
			return mysqlRuns.MatchString(w.Text) || !w.Static || elsewhereData(words, i)
		})
	case "mongo", "mongosh":
		return find(func(i int, w shell.Word) bool {
			return elsewhereData(words, i) || i == 0 && !strings.Contains(w.Text, "://") && strings.ContainsAny(w.Text, ".:/") && !strings.HasPrefix(w.Prefix, "-")
		})
	}
	return ""
}

var (
	curlCluster = lazily(`^-[^-HdwAXmeruyYzo]*[HdwAXeruz]@`)
	hostLike    = lazily(`^[^/]*[.:][^/]*/`)
	// A variable may stand apart from its $, and a line with a comment between them.
	jqReads     = lazily(`(^|[^.\w"])(env|ENV|input_filename|import|include|get_search_list|modulemeta|__prog\w*)\b`)
	yqReads     = lazily(`(^|[^.\w"])(\w*env\w*|eval|load\w*|system)\s*\(`)
	yqFile      = lazily(`^[A-Za-z0-9_/-]+\.(ya?ml|json|toml|xml|csv)$`)
	sqliteRuns  = lazily(`(?is)(^|\n)\s*\.|\b(edit|writefile|readfile|load_extension|attach|vacuum|zipfile|fsdir|fts3_tokenizer|pragma|install|load|copy|export|import|read_\w+|sniff_csv|glob|system|getenv)\b|_directory`)
	duckdbReads = lazily(`(?is)\b(from|join|describe|desc|summarize|pivot|unpivot|table|using)\s*\(?\s*['"]|['"][^'"]*(/|\.[a-z0-9]{2,8}['"])`)
	redisRuns   = lazily(`(?i)^(eval|evalsha|eval_ro|evalsha_ro|fcall|fcall_ro|function|config|module|debug|script|slaveof|replicaof|migrate|save|bgsave|bgrewriteaof|acl|shutdown|psync|sync|failover|cluster|sentinel)$`)
	psqlRuns    = lazily(`(?is)\\|\b(program|copy|lo_import|lo_export|dblink\w*|pg_read\w*|pg_ls\w*|pg_stat_file|pg_write\w*|pg_file\w*|load|language|do|server|extension|\w+_preload_libraries|archive_command|restore_command|dynamic_library_path)\b|\balter\s+system\b|service=|passfile|sslkey|sslcert|hostaddr`)
	mysqlRuns   = lazily(`(?is)\\|\b(system|source|outfile|dumpfile|load_file|load|tee|notee|pager|nopager|edit|delimiter|plugin|function|sys_exec|sys_eval|infile)\b`)
)

// otherHost says whether a word is an address that is not GitHub's own: gh asks the host that it names, with a token.
func otherHost(text string) bool {
	_, rest, is := strings.Cut(text, "://")
	if !is || strings.ContainsAny(text, " \n") { // a sentence
		return false
	}
	host, _, _ := strings.Cut(strings.ToLower(rest), "/")
	return host != "github.com" && host != "www.github.com" && host != "gist.github.com" && host != "api.github.com"
}

// uploads says whether a word of gh is a file that a new release gets.
func uploads(words []shell.Word, i int) bool {
	if i < 3 || words[0].Text != "release" || words[1].Text != "create" && words[1].Text != "new" || strings.HasPrefix(words[i].Prefix, "-") {
		return false
	}
	before := words[i-1].Text
	return !strings.HasPrefix(before, "-") || strings.Contains(before, "=") ||
		slices.Contains([]string{"-d", "-p", "--draft", "--prerelease", "--generate-notes", "--latest", "--verify-tag", "--notes-from-tag", "--fail-on-no-commits", "--"}, before)
}

// elsewhereData says whether a word has the client of a database talk to another machine, to which it may send a
// password.
func elsewhereData(words []shell.Word, i int) bool {
	t := words[i].Text
	here := func(host string) bool {
		host = strings.ToLower(host)
		return host == "" || host == "localhost" || host == "127.0.0.1" || host == "::1" || host[0] == '/'
	}
	if _, rest, is := strings.Cut(t, "://"); is && !strings.ContainsAny(t, " \n") {
		host, _, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		host, _, _ = strings.Cut(host, ":")
		return !here(host)
	}
	for word := range strings.FieldsSeq(t) {
		if host, is := strings.CutPrefix(word, "host="); is && !here(strings.Trim(host, "'")) {
			return true
		}
	}
	switch host, long := strings.CutPrefix(t, "--host="); {
	case long:
		return !words[i].Static || !here(host)
	case i > 0 && (words[i-1].Text == "-h" || words[i-1].Text == "--host"):
		return !words[i].Static || !here(t)
	case len(t) > 2 && t[:2] == "-h":
		return !words[i].Static || !here(t[2:])
	}
	return false
}

// harmlessGlobal knows the flags of git that may stand in front of its subcommand.
func harmlessGlobal(flag string) bool {
	switch flag {
	case "-p", "--paginate", "-P", "--no-pager", "--no-replace-objects", "--no-lazy-fetch", "--no-optional-locks", "--no-advice", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path", "--exec-path":
		return true
	}
	return false
}

func takesDate(flag string) bool {
	switch flag {
	case "-d", "--date", "-r", "--reference", "-v", "--rfc-3339", "-ud", "-Rd", "-ur":
		return true
	}
	return false
}

// curlOpens looks at the words of curl that are addresses: curl itself expands braces and brackets
// in them, and knows more than the web.
func curlOpens(words []shell.Word, i int) bool {
	t := words[i].Text
	if strings.HasPrefix(t, "-") { // -sd@FILE, -sw%output{FILE}
		return strings.Contains(t, "%output") || strings.Contains(t, "%{output") || !strings.HasPrefix(t, "--") && curlCluster.MatchString(t)
	}
	if i > 0 {
		switch words[i-1].Text {
		case "--data-urlencode", "--url-query":
			return strings.Contains(t, "@")
		case "-H", "--header", "-X", "--request", "-m", "--max-time", "-A", "--user-agent", "-e", "--referer", "-r", "--range", "-w", "--write-out", "-d", "--data", "--data-raw", "--data-binary", "--json", "-u", "--user",
			"--connect-timeout", "--retry", "--retry-delay", "--retry-max-time", "--max-redirs", "--limit-rate", "-y", "-Y", "-z":
			return strings.HasPrefix(t, "@") || strings.Contains(t, "%output") || !words[i].Static && strings.HasPrefix(words[i].Prefix, "@")
		}
	}
	lower := strings.ToLower(words[i].Prefix)
	scheme, _, is := strings.Cut(lower, ":")
	if is && scheme != "http" && scheme != "https" && !strings.Contains(scheme, ".") && scheme != "localhost" && !strings.Contains(scheme, "/") {
		return true
	}
	return strings.ContainsAny(t, "{}[]")
}
