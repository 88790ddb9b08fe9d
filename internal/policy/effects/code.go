package effects

import (
	"regexp"
	"slices"
	"strings"

	"assent/internal/hook"
	"assent/internal/policy/shell"
)

// Words in program text that say what it may do. Program text is not read, only looked through: what
// is found makes the risk higher, and what is not found says nothing.
var (
	codeDeletes = regexp.MustCompile(`(?i)rmtree|\bunlink|\brmdir|\bos\.remove|\.rm\(|rmSync|removeSync|rimraf|\bfs\.(rm|promises\.rm)|FileUtils\.(rm|remove)|File\.delete|Dir\.delete|deleteRecursive|\btruncate\b|shutil\.move|\bdel\s+/|Remove-Item|rm -[a-z]*[rf]|drop\s+(table|database)|\bwipe|\.delete\(\)`)
	codeNetwork = regexp.MustCompile(`(?i)urllib|urlopen|requests\.|httpx|aiohttp|http\.client|https?://|\bsocket\b|\bfetch\(|axios|net\.connect|XMLHttp|http\.(get|request|post)|https\.(get|request)|LWP|Net::|IO::Socket|file_get_contents\s*\(\s*["']http|curl_|TCPSocket|open-uri|smtplib|ftplib|paramiko|Invoke-WebRequest|\biwr\b|DownloadString|WebClient|dns\.|/inet/tcp`)
	codeStarts  = regexp.MustCompile(`(?i)\bsystem\b|\bexec\w*\b|spawn|popen|fork\b|subprocess|child_process|\bpty\b|passthru|shell_exec|proc_open|\beval\b|compile\(|__import__|importlib|ctypes|Runtime|ProcessBuilder|Start-Process|Invoke-Expression|\biex\b|qx|%x|` + "`" + `|Open3|\bexec\b|-EncodedCommand|b64decode|fromCharCode|unhexlify|\|\s*getline|\bcoproc`)
	codeWrites  = regexp.MustCompile(`(?i)open\s*\([^)]*["'][wax+]|write_text|write_bytes|writeFile|appendFile|createWriteStream|copyFile|rename\(|os\.chmod|symlink|File\.write|file_put_contents|print\s*>|>\s*"|Set-Content|Out-File|shutil\.copy|makedirs|mkdir`)
	codeSecrets = regexp.MustCompile(`(?i)\.ssh\b|id_rsa|id_ed25519|\.aws/|\.env\b|\.netrc|\.npmrc|/etc/(shadow|passwd)|\.gnupg|credentials|private_key|\.kube/config|os\.environ|process\.env|ENV\[|getenv`)
	sqlDestroys = regexp.MustCompile(`(?i)(?:^|[\s'"])\.(?:shell|system|restore|import|save|clone|output|once|excel|archive)\b|\b(drop\s+(table|database|schema|user|role|index|view|collection|keyspace|owned)|truncate\b|delete\s+from\s+[^\s;'"]*|update\s+\S+\s+set\b|alter\s+(table|database|user|role|system)|grant\s|revoke\s|copy\s+[^;]*\b(to|from)\s+program|dropDatabase|\.drop\(|deleteMany|deleteOne|remove\(|updateMany|FLUSHALL|FLUSHDB|detach\s+delete|drop\s+constraint|shutdown\b|load_extension|into\s+outfile|\\!|pg_terminate_backend|xp_cmdshell|vacuum\s+full|replace\s+into|merge\s+into|reassign\s+owned)`)
	sqlWrites   = regexp.MustCompile(`(?i)\b(insert\s+into|create\s|insertOne|insertMany|set\s+(role|session)|copy\s|begin\b|call\s|exec\b|do\s|vacuum|reindex|refresh|comment\s+on|lock\s)`)
)

// code looks through program text that a command is given.
func (c *command) code() {
	for _, w := range c.u.Argv[1:] {
		if strings.ContainsAny(w.Text, " (\n\t;`{") {
			c.look(w.Text, w.Start, w.End)
		}
	}
	if c.u.Stdin == shell.Heredoc && !c.scannedAll {
		c.found.scannedAll = true
		c.look(c.command, -1, -1)
	}
}

// maxLook is how much of a program text is looked through.
const maxLook = 64 << 10

func (c *command) look(text string, start, end int) {
	if len(text) > maxLook {
		c.put(effect{kind: "unknown", text: "Runs a long program text, seen only in part", risk: hook.Attention})
		text = text[:maxLook]
	}
	note := func(re *regexp.Regexp, f effect) bool {
		at := re.FindStringIndex(text)
		if at == nil {
			return false
		}
		c.put(f)
		if start < 0 {
			c.mark(at[0], at[1], f.risk)
		} else if i := strings.Index(c.command[min(start, len(c.command)):min(end, len(c.command))], text[at[0]:at[1]]); i >= 0 {
			c.mark(start+i, start+i+at[1]-at[0], f.risk)
		}
		return true
	}
	by := "inline code for " + c.u.Base
	note(codeDeletes, effect{kind: "deletes", phrase: "May delete files with", object: by, plain: true, risk: hook.Danger})
	sends := note(codeNetwork, effect{kind: "sends", phrase: "May use the network with", object: by, plain: true, risk: hook.Attention})
	starts := note(codeStarts, effect{kind: "unknown", phrase: "May run commands with", object: by, plain: true, risk: hook.Attention})
	if note(codeSecrets, effect{kind: "reads-secrets", phrase: "May read secrets with", object: by, plain: true, risk: hook.Danger}) || !sends {
		note(codeWrites, effect{kind: "writes", phrase: "May write files with", object: by, plain: true, risk: hook.Attention})
		return
	}
	if starts {
		c.put(effect{kind: "runs-downloaded", phrase: "May run code from the network with", object: by, plain: true, risk: hook.Danger})
	}
	note(codeWrites, effect{kind: "writes", phrase: "May write files with", object: by, plain: true, risk: hook.Attention})
}

// sql looks through statements for a database: all of the command, for they may come by a pipe, and
// once for all clients in it.
func (c *command) sql() {
	if c.sqlSeen != "" {
		c.seen(c.sqlSeen)
		return
	}
	c.found.sqlSeen = hook.Attention
	text := c.command[:min(len(c.command), maxLook)]
	for _, at := range sqlDestroys.FindAllStringIndex(text, maxStatements) {
		c.mark(at[0], at[1], hook.Danger)
		c.put(statement(c.holding(text, at)))
		c.found.sqlSeen = hook.Danger
	}
	if c.found.sqlSeen == hook.Danger {
		return
	}
	if at := sqlWrites.FindStringIndex(text); at != nil {
		c.mark(at[0], at[1], hook.Attention)
	}
}

// scriptOf is an interpreter with the script, or the module, that it runs.
func (c *command) scriptOf(l line) {
	words := c.u.Argv[1:]
	if m, ok := c.valueOf([]string{"-m"}); ok && strings.HasPrefix(c.u.Base, "py") || ok && c.u.Base == "python" {
		c.module(m)
		return
	}
	if len(c.operands) == 0 || words[c.operands[0]].Text == "-" {
		switch {
		case c.u.Stdin == shell.Pipe && (!c.u.DenyOnly || c.downloaded):
			c.marks(hook.Danger)
			c.put(effect{kind: "runs-downloaded", phrase: c.piped(), object: c.u.Base, row: c.source(), risk: hook.Danger})
		case !c.u.DenyOnly:
			c.marks(hook.Attention)
			c.put(effect{kind: "unknown", phrase: "Runs what it reads from its input, with", object: c.u.Base, risk: hook.Attention})
		}
		return
	}
	w := words[c.operands[0]]
	p := c.where.word(w, c.u.Dir, c.u.DirKnown || !c.lost)
	f := effect{object: p.shown, outside: p.outside, unknown: p.unknown, risk: l.risk}
	switch {
	case c.downloaded:
		c.marks(hook.Danger, c.operands[0])
		c.put(effect{kind: "runs-downloaded", phrase: ranFetched, object: p.shown, row: c.source(), risk: hook.Danger})
		return
	case w.Text == "{}": // of find -exec and its kin
		f.object, f.plain, f.unknown, f.risk = "files named at run time", true, true, hook.Attention
		c.marks(f.risk, c.operands[0])
	case p.outside || p.unknown || p.none || hostOf(w.Text) != "" && strings.Contains(w.Text, "://"):
		f.risk = hook.Attention
		c.marks(f.risk, c.operands[0])
	}
	c.ownCode(f)
}

// piped says what a pipe hands to an interpreter.
func (c *command) piped() string {
	if c.downloaded {
		return "Runs code from the network with"
	}
	return "Runs what another command writes, with"
}

// ranFetched is the phrase of a program that was fetched before.
const ranFetched = "Runs what it fetched:"

// source is the one host that something was fetched from, if it is known.
func (c *command) source() string {
	if all := c.found.sources; len(all) == 1 && all[0] != unknownHost {
		return all[0]
	}
	return ""
}

// module is python -m NAME: the program of that name, or a module of the project.
func (c *command) module(m object) {
	words := c.u.Argv[1:]
	if rows, skip, s := theTable().find(&c.memory, m.Text, words[min(m.at+2, len(words)):]); rows != nil && m.Static {
		u := *c.u
		u.Argv, u.Base = words[min(m.at+1, len(words)-1):], m.Text
		inner := &command{found: c.found, u: &u, f: &policyFacts, rows: rows, skip: skip, scanned: s}
		inner.tell()
		c.seen(inner.worst)
		return
	}
	// Of the standard library, of a package or of the project: nobody here knows which.
	c.marks(hook.Attention, m.at)
	f := effect{phrase: "Runs the module", object: m.Text, plain: plainName(m.Text), risk: hook.Attention}
	if tests(" " + m.Text) {
		f.phrase, f.object, f.risk = "", c.u.Base+" -m "+m.Text, ""
	}
	c.ownCode(f)
	c.task(c.operands)
}

// taskWords are names of tasks that say what they do to others. The project says what they really do.
var taskWords = map[string]effect{ // read-only
	"deploy": {kind: "publishes", phrase: "Deploys by"}, "publish": {kind: "publishes", phrase: "Publishes by"}, "release": {kind: "publishes", phrase: "Releases by"},
	"push": {kind: "publishes", phrase: "Pushes by"}, "upload": {kind: "publishes", phrase: "Uploads by"}, "ship": {kind: "publishes", phrase: "Releases by"}, "promote": {kind: "publishes", phrase: "Releases by"},
	"prod": {kind: "publishes", phrase: "Works on production by"}, "production": {kind: "publishes", phrase: "Works on production by"}, "rollout": {kind: "publishes", phrase: "Deploys by"}, "rollback": {kind: "publishes", phrase: "Deploys by"},
	"clean": {kind: "deletes", phrase: "Deletes by"}, "distclean": {kind: "deletes", phrase: "Deletes by"}, "clobber": {kind: "deletes", phrase: "Deletes by"}, "mrproper": {kind: "deletes", phrase: "Deletes by"}, "purge": {kind: "deletes", phrase: "Deletes by"},
	"destroy": {kind: "deletes", phrase: "Destroys by"}, "drop": {kind: "deletes", phrase: "Deletes by"}, "wipe": {kind: "deletes", phrase: "Deletes by"}, "reset": {kind: "deletes", phrase: "Resets by"}, "flush": {kind: "deletes", phrase: "Empties by"},
	"nuke": {kind: "deletes", phrase: "Destroys by"}, "delete": {kind: "deletes", phrase: "Deletes by"}, "remove": {kind: "deletes", phrase: "Deletes by"}, "teardown": {kind: "deletes", phrase: "Destroys by"}, "down": {kind: "deletes", phrase: "Takes down by"},
	"truncate": {kind: "deletes", phrase: "Empties by"}, "erase": {kind: "deletes", phrase: "Deletes by"}, "prune": {kind: "deletes", phrase: "Deletes by"}, "kill": {kind: "kills", phrase: "Kills by"}, "fresh": {kind: "deletes", phrase: "Resets by"},
	"jib": {kind: "publishes", phrase: "Publishes by"}, "archives": {kind: "publishes", phrase: "Uploads by"}, "submit": {kind: "publishes", phrase: "Publishes by"}, "live": {kind: "publishes", phrase: "Works on production by"},
	"clear": {kind: "deletes", phrase: "Deletes by"}, "unpublish": {kind: "deletes", phrase: "Deletes by"}, "undeploy": {kind: "deletes", phrase: "Takes down by"}, "terminate": {kind: "deletes", phrase: "Destroys by"}, "revoke": {kind: "deletes", phrase: "Takes away by"},
	"db": {kind: "database", phrase: "Works on a database by"}, "database": {kind: "database", phrase: "Works on a database by"}, "downgrade": {kind: "database", phrase: "Changes a database by"},
	"wrapper": {kind: "plants", phrase: "Changes the wrapper by"},
	"migrate": {kind: "database", phrase: "Changes a database by"}, "seed": {kind: "database", phrase: "Changes a database by"}, "migration": {kind: "database", phrase: "Changes a database by"}, "loaddata": {kind: "database", phrase: "Changes a database by"},
	"createsuperuser": {kind: "escalates", phrase: "Makes an administrator by"}, "changepassword": {kind: "escalates", phrase: "Changes a password by"},
	"install": {kind: "installs", phrase: "Installs by"}, "uninstall": {kind: "installs", phrase: "Removes by"}, "setup": {kind: "installs", phrase: "Installs by"}, "bootstrap": {kind: "installs", phrase: "Installs by"},
	"apply": {kind: "publishes", phrase: "Applies by"}, "provision": {kind: "publishes", phrase: "Changes machines by"}, "send": {kind: "sends", phrase: "Sends by"}, "email": {kind: "sends", phrase: "Sends by"}, "notify": {kind: "sends", phrase: "Sends by"}, "sync": {kind: "sends", phrase: "Copies by"}, "backup": {kind: "sends", phrase: "Copies by"}, "restore": {kind: "overwrites", phrase: "Restores by"}, "eject": {kind: "overwrites", phrase: "Changes the project by"}, "dbshell": {kind: "database", phrase: "Opens a database by"}, "shell": {kind: "unknown", phrase: "Opens a shell by"},
}

// tasks are those among the arguments, and what one of its letters may have taken for a value though it
// takes none: which those are, is another matter for each of the programs.
func (c *command) tasks() {
	at := c.operands
	for _, u := range c.flags {
		if u.value == "" || len(u.name) != 2 || strings.Contains("CfDIom", u.name[1:]) || u.at+1 >= len(c.words) || c.words[u.at+1].Text != u.value {
			continue
		}
		at = append(at[:len(at):len(at)], u.at+1)
	}
	c.task(at)
}

// task tells tasks of a project apart by the words in their names.
func (c *command) task(at []int) {
	for _, i := range at[:min(len(at), 20)] {
		w := c.u.Argv[1+i]
		if len(w.Text) > 200 || strings.ContainsAny(w.Text, " \n") {
			continue
		}
		text := strings.ToLower(w.Text)
		if !strings.HasPrefix(text, "-") {
			text = split(w.Text) // flywayClean
		}
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < 'a' || r > 'z' }) {
			f, is := taskWords[word]
			if !is {
				continue
			}
			f.object, f.risk = c.u.Base+" "+w.Text, hook.Attention
			if i < 0 {
				f.object = w.Text
			}
			if first := c.u.Argv[1+at[0]]; i > at[0] && at[0] >= 0 && strings.Contains(first.Text, ".") && len(first.Text) < 60 {
				f.object = c.u.Base + " " + first.Text + " " + w.Text // python manage.py migrate
			}
			if f.kind == "database" {
				f.row = strings.TrimPrefix(f.object, c.u.Base+" ")
			}
			f.plain = plainName(strings.ReplaceAll(f.object, " ", ""))
			f.phrase = strings.TrimSuffix(f.phrase, " by") + ":"
			c.marks(f.risk, slices.DeleteFunc([]int{i}, func(i int) bool { return i < 0 })...)
			c.put(f)
		}
	}
}
