package contain

import (
	"slices"
	"strings"
)

// gitAny are keys whose values are never secrets: they say how git works, name who commits, or name branches
// and files of this machine. Those with a star stand below a subsection.
const gitAny = `
add.ignoreerrors
am.keepcr am.threeway
apply.ignorewhitespace apply.whitespace
author.email author.name
blame.coloring blame.date blame.ignorerevsfile blame.showemail
branch.autosetupmerge branch.autosetuprebase branch.sort
branch.*.description branch.*.github-pr-owner-number branch.*.gk-last-accessed branch.*.gk-last-modified branch.*.gk-merge-base branch.*.gk-merge-target
branch.*.base branch.*.merge branch.*.mergeoptions branch.*.rebase branch.*.vscode-merge-base branch.*.gh-merge-base
checkout.defaultremote checkout.guess checkout.workers
clean.requireforce
clone.defaultremotename
color.ui color.branch color.diff color.status color.interactive color.grep color.pager
column.branch column.status column.tag column.ui
commit.cleanup commit.gpgsign commit.status commit.template commit.verbose
commitgraph.generationversion commitgraph.readchangedpaths
committer.email committer.name
core.abbrev core.attributesfile core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar core.commitgraph
core.compression core.deltabasecachelimit core.eol core.excludesfile core.filemode core.fscache core.fsmonitorhookversion core.fsync
core.fsyncmethod core.fsyncobjectfiles core.hidedotfiles core.hookspath core.ignorecase core.ignorestat core.logallrefupdates
core.longpaths core.loosecompression core.multipackindex core.notesref core.packedgitlimit core.packedgitwindowsize
core.packedrefstimeout core.precomposeunicode core.preloadindex core.protecthfs core.protectntfs core.quotepath
core.repositoryformatversion core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex
core.symlinks core.trustctime core.untrackedcache core.usereplacerefs core.whitespace core.worktree
diff.algorithm diff.colormoved diff.colormovedws diff.context diff.guitool diff.ignoresubmodules diff.indentheuristic
diff.interhunkcontext diff.mnemonicprefix diff.noprefix diff.orderfile diff.renamelimit diff.renames diff.submodule diff.tool
diff.wserrorhighlight diff.*.binary diff.*.cachetextconv
difftool.prompt difftool.trustexitcode
extensions.compatobjectformat extensions.objectformat extensions.partialclone extensions.preciousobjects extensions.refstorage
extensions.relativeworktrees extensions.worktreeconfig
feature.experimental feature.manyfiles
fetch.fsckobjects fetch.negotiationalgorithm fetch.output fetch.parallel fetch.prune fetch.prunetags fetch.recursesubmodules
fetch.showforcedupdates fetch.unpacklimit fetch.writecommitgraph
filter.*.required
format.signoff format.thread format.useautobase
fsck.skiplist
gc.aggressivedepth gc.aggressivewindow gc.auto gc.autodetach gc.autopacklimit gc.bigpackthreshold gc.cruftpacks gc.logexpiry
gc.packrefs gc.pruneexpire gc.reflogexpire gc.reflogexpireunreachable gc.rerereresolved gc.rerereunresolved gc.worktreepruneexpire
gc.writecommitgraph gc.*.reflogexpire gc.*.reflogexpireunreachable
gitflow.*.develop gitflow.*.master gitflow.*.feature gitflow.*.bugfix gitflow.*.release gitflow.*.hotfix gitflow.*.support gitflow.*.versiontag gitflow.*.base
gpg.format gpg.mintrustlevel gpg.*.allowedsignersfile
grep.extendedregexp grep.linenumber grep.patterntype grep.threads
gui.encoding gui.wmstate gui.geometry
help.autocorrect
http.postbuffer http.sslverify http.version http.lowspeedlimit http.lowspeedtime http.maxrequests http.followredirects http.sslbackend
http.*.sslverify
i18n.commitencoding i18n.logoutputencoding
include.path includeif.*.path
index.recordendofindexentries index.recordoffsettable index.sparse index.threads index.version
init.defaultbranch
interactive.singlekey
lfs.repositoryformatversion lfs.allowincompletepush lfs.concurrenttransfers lfs.fetchexclude lfs.fetchinclude lfs.fetchrecentrefsdays lfs.locksverify
lfs.skipdownloaderrors lfs.standalonetransferagent lfs.storage lfs.*.access lfs.*.locksverify
log.abbrevcommit log.date log.decorate log.follow log.mailmap log.showroot log.showsignature
maintenance.auto maintenance.strategy maintenance.*.enabled maintenance.*.schedule maintenance.*.auto
merge.autostash merge.conflictstyle merge.defaulttoupstream merge.directoryrenames merge.ff merge.guitool merge.log merge.renamelimit
merge.renames merge.renormalize merge.stat merge.tool merge.verbosity merge.verifysignatures merge.*.name
mergetool.keepbackup mergetool.keeptemporaries mergetool.prompt mergetool.writetotemp mergetool.hideresolved mergetool.*.trustexitcode
notes.displayref notes.rewritemode notes.rewriteref
pack.compression pack.depth pack.packsizelimit pack.threads pack.usebitmaps pack.usesparse pack.window pack.windowmemory pack.writereverseindex
protocol.allow protocol.version protocol.*.allow
pull.ff pull.octopus pull.rebase pull.twohead
push.autosetupremote push.default push.followtags push.gpgsign push.negotiate push.recursesubmodules push.useforceifincludes
rebase.abbreviatecommands rebase.autosquash rebase.autostash rebase.backend rebase.forkpoint rebase.missingcommitscheck rebase.stat rebase.updaterefs
receive.denycurrentbranch receive.denydeletes receive.denynonfastforwards receive.autogc receive.fsckobjects receive.advertisepushoptions
remote.pushdefault
remote.*.fetch remote.*.push remote.*.mirror remote.*.prune remote.*.prunetags remote.*.promisor remote.*.partialclonefilter
remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.tagopt remote.*.gh-resolved remote.*.glab-resolved remote.*.followremotehead
rerere.autoupdate rerere.enabled
safe.barerepository safe.directory
sequence.commentchar
stash.showincludeuntracked stash.showpatch stash.showstat
status.branch status.relativepaths status.short status.showstash status.showuntrackedfiles status.submodulesummary
submodule.active submodule.alternateerrorstrategy submodule.alternatelocation submodule.fetchjobs submodule.propagatebranches submodule.recurse
submodule.*.active submodule.*.branch submodule.*.fetchrecursesubmodules submodule.*.ignore submodule.*.path submodule.*.shallow
tag.forcesignannotated tag.gpgsign tag.sort
transfer.fsckobjects transfer.hiderefs transfer.unpacklimit
uploadpack.allowanysha1inwant uploadpack.allowfilter uploadpack.allowreachablesha1inwant uploadpack.allowtipsha1inwant
user.email user.name user.signingkey user.useconfigonly
versionsort.suffix
worktree.guessremote worktree.userelativepaths
`

// gitKind is what a value of a key must be like, nil if the key is not known.
func gitKind(section, key string, sub bool) gitValue {
	name := section + "." + key
	if key == "" || strings.ContainsAny(name, " \t\n") {
		return nil
	}
	for _, before := range []string{" ", "\n"} {
		if strings.Contains(gitAny, before+name+" ") || strings.Contains(gitAny, before+name+"\n") {
			return gitPlain
		}
	}
	switch name {
	case "remote.*.url", "remote.*.pushurl", "submodule.*.url", "lfs.url", "lfs.pushurl", "remote.*.lfsurl", "url.*.insteadof", "url.*.pushinsteadof",
		"branch.*.remote", "branch.*.pushremote":
		return gitURL
	case "submodule.*.update":
		return gitCommand // a command may stand there
	case "core.editor", "core.pager", "sequence.editor", "core.fsmonitor", "gpg.program", "gpg.*.program", "pager.log", "pager.diff", "pager.show", "pager.branch", "interactive.difffilter",
		"diff.external", "diff.*.textconv", "mergetool.*.path", "difftool.*.path":
		return gitCommand
	case "core.sshcommand":
		return gitSSH
	case "filter.*.clean", "filter.*.smudge", "filter.*.process", "merge.*.driver":
		return gitFilter
	case "credential.helper", "credential.*.helper":
		return gitHelper
	case "credential.usehttppath", "credential.*.usehttppath", "credential.*.provider":
		return gitPlain
	}
	if section == "alias" && !sub {
		return gitAlias
	}
	return nil
}

// gitPlain is everything but an address that is not plain.
func gitPlain(value string) bool { return !strings.Contains(value, "://") || gitURL(value) }

// gitURL is an address without who enters, or a query, where a token may stand; a path; or a name. Over SSH
// it may have a user.
func gitURL(value string) bool {
	if len(value) > 1000 || strings.ContainsAny(value, " \t?#&;'\"`$!<>\\=") || strings.Contains(value, "::") || entered(value) {
		return false
	}
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok { // user@host:path, or a path
		before, path, _ := strings.Cut(value, ":")
		return strings.Count(before, "@") <= 1 && !strings.Contains(path, "@")
	}
	host, _, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "%") {
		return false
	}
	switch strings.ToLower(scheme) {
	case "https", "http", "file":
		return !strings.Contains(host, "@")
	case "ssh", "git", "git+ssh", "ssh+git":
		return strings.Count(host, "@") <= 1
	}
	return false
}

// gitWord is a word of a command that is the path of a program, the name of one, or a flag without a value.
func gitWord(word string) bool {
	return word != "" && len(word) <= 200 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./~+-") == ""
}

// gitCommand is a program, and flags without values.
func gitCommand(value string) bool {
	for i, w := range strings.Fields(value) {
		if !gitWord(w) || i > 0 && (w[0] != '-' || len(w) > 20 || strings.ContainsAny(w, "0123456789/.~_")) {
			return false
		}
	}
	return true
}

// gitSSH is ssh with a file of a key, a file of settings, a port, or one of some settings.
func gitSSH(value string) bool {
	words := strings.Fields(value)
	if len(words) == 0 || words[0] != "ssh" && words[0] != "/usr/bin/ssh" {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-4", "-6", "-v", "-T", "-q", "-a", "-x":
			continue
		case "-i", "-F", "-p":
			if i++; i < len(words) && gitWord(strings.Trim(words[i], `"'`)) {
				continue
			}
		case "-o":
			if i++; i < len(words) {
				name, to, _ := strings.Cut(words[i], "=")
				if gitWord(to) && slices.Contains([]string{"IdentitiesOnly", "IdentityFile", "StrictHostKeyChecking", "UserKnownHostsFile", "BatchMode", "ConnectTimeout", "ServerAliveInterval"}, name) {
					continue
				}
			}
		}
		return false
	}
	return true
}

// gitFilter is one of the filters that are usual.
func gitFilter(value string) bool {
	return slices.Contains([]string{"", "cat", "git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs filter-process", "git-lfs filter-process --skip", "git lfs clean %f", "git lfs smudge %f", "git lfs clean -- %f", "git lfs smudge -- %f",
		`"git-crypt" clean`, `"git-crypt" smudge`, `"git-crypt" diff`, "nbstripout", "npx npm-merge-driver merge %A %O %B %P"}, value)
}

// gitHelper is a program that keeps passwords; of a command line only those of two known programs.
func gitHelper(value string) bool {
	if line, ok := strings.CutPrefix(value, "!"); ok {
		for _, known := range []string{"gh", "glab"} {
			if program, ok := strings.CutSuffix(line, known+" auth git-credential"); ok && (program == "" || gitWord(program) && strings.HasSuffix(program, "/")) {
				return true
			}
		}
		return false
	}
	words := strings.Fields(value)
	for i, w := range words {
		flag, to, has := strings.Cut(w, "=")
		if !gitWord(flag) || has && (flag != "--timeout" && flag != "--file" || !gitWord(to)) || i > 0 && w[0] != '-' && words[i-1] != "--timeout" && words[i-1] != "--file" {
			return false
		}
	}
	return true
}

// gitAlias is other words for git: no command line, no setting that is given along, no address.
func gitAlias(value string) bool {
	if strings.HasPrefix(value, "!") || strings.Contains(value, "://") || len(value) > 1000 {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(value), func(w string) bool {
		return strings.HasPrefix(strings.Trim(w, `"'`), "-c") || strings.Contains(w, "--config")
	})
}
