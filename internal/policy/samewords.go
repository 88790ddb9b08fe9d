package policy

import (
	"slices"
	"strings"

	"assent/internal/policy/shell"
)

// A rule that denies or asks says rm -rf and means rm --recursive --force, or npm install and means
// npm i. What is not in these lists is what the rule spells.

// flagNames are flags of one meaning, by the program and perhaps its first argument.
var flagNames = map[string][]string{ // read-only
	"rm":           {"-r -R --recursive", "-f --force", "-d --dir"},
	"cp":           {"-r -R --recursive -a --archive", "-f --force"},
	"mv":           {"-f --force"},
	"ln":           {"-f --force", "-s --symbolic"},
	"chmod":        {"-R --recursive"},
	"chown":        {"-R --recursive"},
	"chgrp":        {"-R --recursive"},
	"sed":          {"-i --in-place"},
	"curl":         {"-o --output", "-O --remote-name", "-X --request", "-d --data", "-T --upload-file", "-k --insecure", "-F --form"},
	"wget":         {"-O --output-document"},
	"git push":     {"-f --force", "-d --delete"},
	"git commit":   {"-n --no-verify", "-a --all"},
	"git merge":    {"-n --no-verify"},
	"git clean":    {"-f --force"},
	"git checkout": {"-f --force"},
	"git switch":   {"-f --force --discard-changes", "-C --force-create"},
	"git add":      {"-A --all --no-ignore-removal", "-f --force"},
	"git rm":       {"-f --force"},
	"git mv":       {"-f --force"},
	"git fetch":    {"-f --force"},
	"git rebase":   {"-i --interactive"},
	"git tag":      {"-d --delete", "-f --force"},
	"git branch":   {"-d --delete", "-f --force", "-m --move"},
	"docker rm":    {"-f --force"},
	"docker rmi":   {"-f --force"},
	"docker run":   {"-v --volume"},
	"podman rm":    {"-f --force"},
	"podman rmi":   {"-f --force"},
	"podman run":   {"-v --volume"},
	"npm install":  {"-g --global", "-f --force"},
	"kubectl":      {"-n --namespace", "-A --all-namespaces"},
}

// verbNames are first arguments of one meaning.
var verbNames = map[string][]string{ // read-only
	"npm": {
		"install i in ins inst insta instal isnt isnta isntal isntall add", "uninstall un unlink remove rm r", "publish pub publ publi publis", "unpublish unp unpu unpub unpubl unpubli unpublis",
		"run run-script rum urn", "exec x", "test t tst", "ci clean-install ic install-clean isntall-clean", "update up upgrade udpate", "init create innit",
	},
	"git":   {"push send-pack http-push remote-http remote-https remote-ftp remote-ftps remote-ext remote-fd", "fetch fetch-pack http-fetch remote-http remote-https remote-ftp remote-ftps remote-ext remote-fd"},
	"pnpm":  {"install i", "remove rm un uninstall", "update up upgrade", "test t"},
	"bun":   {"install i", "add a", "remove rm"},
	"cargo": {"build b", "run r", "test t", "check c", "doc d", "remove rm"},
	"brew":  {"uninstall remove rm"},
	"svn":   {"commit ci", "checkout co", "delete del remove rm", "update up", "switch sw", "move mv rename ren", "copy cp"},
	"hg":    {"commit ci", "update up checkout co", "remove rm", "rename mv move"},
	"helm":  {"uninstall un del delete"},
}

// oneOrTwoDashes are programs whose long flags may have one dash or two.
var oneOrTwoDashes = []string{"go", "gofmt", "terraform", "tofu", "vault", "consul", "nomad", "packer"} // read-only

// sameFlags are the other names of a flag of a rule.
func (m *commandMatch) sameFlags(program, flag string) []string {
	lists := flagNames[program]
	if len(m.args) > 0 && m.args[0][0].exact {
		lists = append(slices.Clip(lists), flagNames[program+" "+m.args[0][0].src]...)
	}
	all := sameWords(lists, flag)
	if name := strings.TrimLeft(flag, "-"); len(name) > 1 && slices.Contains(oneOrTwoDashes, program) {
		all = append(all, "-"+name, "--"+name)
	}
	return all
}

// sameVerbs are the other names of the first argument of a rule.
func sameVerbs(program, verb string) []string { return sameWords(verbNames[program], verb) }

func sameWords(lists []string, word string) []string {
	for _, list := range lists {
		if words := strings.Fields(list); slices.Contains(words, word) {
			return words
		}
	}
	return nil
}

// withoutGroup are the arguments of a command without a word that changes little of what it does: docker
// container rm is docker rm, cargo +nightly publish is cargo publish, and git lfs push pushes. nil without one.
func withoutGroup(argv []shell.Word) []shell.Word {
	is := func(w shell.Word) bool { return w.Text == "container" }
	switch argv[0].Text[strings.LastIndexByte(argv[0].Text, '/')+1:] {
	case "docker", "podman":
	case "git":
		is = func(w shell.Word) bool { return w.Text == "subtree" || w.Text == "lfs" }
	case "cargo":
		is = func(w shell.Word) bool { return strings.HasPrefix(w.Prefix, "+") }
	default:
		return nil
	}
	if i := slices.IndexFunc(argv[1:], is); i >= 0 {
		return slices.Concat(argv[1:1+i], argv[2+i:])
	}
	return nil
}
