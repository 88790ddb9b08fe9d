package effects

import (
	"strings"

	"assent/internal/hook"
)

// reason is why an effect is of its risk, in a sentence. The headline begins with what the effect does,
// so the reason does not say it again.
func (f *effect) reason() string {
	if f.risk == hook.Danger {
		return f.danger()
	}
	switch {
	case f.doubt:
		return f.text + "."
	case f.news != "":
		return f.news
	case f.unknown:
		return "Which files is known only when it runs."
	case f.token:
		return tokenReason
	case f.mcp && f.kind == "sends":
		return "assent does not know what it does; others may see it."
	case f.phrase == addsInstall || f.phrase == changesInstall:
		return "It runs whenever somebody installs."
	case f.outside:
		return "It lies outside the project."
	}
	switch f.kind {
	case "publishes":
		if isPackage(f.phrase) {
			return "A published version is hard to take back."
		}
		return "Others will see it."
	case "sends", "downloads":
		return "It uses the network."
	case "installs":
		return "Packages can run code when they are installed."
	case "plants":
		return "It runs later, when somebody builds or tests."
	case "deletes":
		return "It may not be undone."
	case "overwrites":
		return "What was there before may be lost."
	case "writes", "moves":
		if f.phrase != "Edits" {
			return "It may overwrite files."
		}
		return "It changes files in place, and assent does not see what they become."
	case "reads":
		return "What it shows goes to the agent."
	case "reads-secrets":
		return "It may show keys, passwords or tokens to the agent."
	case "permissions":
		return "It changes who may read, write or run files."
	case "kills":
		return "Unsaved work of what it stops is lost."
	case "database":
		if strings.HasPrefix(f.phrase, "Copies out") {
			return "What it copies may be private."
		}
		return "It may change data, and assent does not know the database."
	case "agent-settings", "assent":
		return "Settings decide what may run."
	case "escalates":
		return "It reaches beyond this project."
	case "runs-project", "runs-downloaded":
		return "assent does not look into the code that runs."
	case "unknown":
		return f.notKnown()
	}
	return "It may change more than this project's files."
}

// danger is the reason of an effect of the highest risk.
func (f *effect) danger() string {
	switch {
	case f.token:
		return tokenReason
	case f.mcp && f.kind == "deletes":
		return "By its name it deletes, and that may not be undone."
	case f.mcp:
		return "By its name it runs or changes much."
	}
	switch f.kind {
	case "reads-secrets":
		return "Keys, passwords or tokens could leak."
	case "deletes", "moves":
		return "This can't be undone."
	case "overwrites":
		if strings.HasPrefix(f.text, "Force-pushes") || strings.HasPrefix(f.phrase, "Force-pushes") {
			return "Commits of others may be lost."
		}
		return "What was there before is lost."
	case "database":
		return "The data can't be brought back without a backup."
	case "runs-downloaded":
		return "Nobody here has read that code."
	case "escalates":
		return "It gets more rights than the agent has."
	case "assent":
		return "It changes what guards you."
	case "agent-settings":
		return "It changes what the agent may do."
	case "plants":
		return "It runs later, without asking."
	case "sends":
		return "What is sent cannot be taken back."
	case "publishes":
		return "Others see it at once, and it is hard to take back."
	case "permissions":
		return "Others may get at these files, or you may lose them."
	case "kills":
		return "Others may depend on what it stops."
	case "installs":
		return "Other programs may depend on it, or its source is not known."
	}
	if f.class == ofSystem {
		return "It changes files of the system."
	}
	if f.secret {
		return "Keys, passwords or tokens could leak."
	}
	return "It changes more than this project."
}

// notKnown says what of an effect is not known.
func (f *effect) notKnown() string {
	switch {
	case f.text == "" && f.phrase == "":
		return "assent does not know what it does."
	case strings.Contains(f.verb(), "option"):
		return "What it does with this option is not known."
	case strings.Contains(f.verb(), "only when it runs"), strings.Contains(f.text, "only when it runs"):
		return "Nobody can tell before it runs."
	case f.phrase == "Sets":
		return "The variable may change what runs."
	case strings.Contains(f.verb(), "tool"), f.phrase == "Calls":
		return "assent does not know what this tool does."
	case strings.Contains(f.verb(), "code"), strings.Contains(f.verb(), "commands"), strings.Contains(f.verb(), "input"):
		return "assent does not read the code that runs."
	}
	return "assent cannot tell all that it does."
}

// action is what a button names that allows an effect of risk attention.
func (f *effect) action() string {
	switch {
	case f.mcp:
		return "call"
	case strings.HasPrefix(f.phrase, "Deploys"):
		return "deploy"
	case f.phrase == "Starts containers:":
		return "start"
	}
	switch f.kind {
	case "publishes":
		return "publish"
	case "sends", "downloads":
		return "network access"
	case "runs-downloaded", "runs-project":
		return "running it"
	case "installs":
		return "install"
	case "permissions":
		return "permissions"
	case "kills":
		return "kill"
	case "database":
		return "change"
	case "plants":
		return "change"
	case "deletes":
		return "delete"
	case "overwrites":
		return "overwrite"
	case "moves":
		return "move"
	case "agent-settings", "assent", "escalates", "reads-secrets":
		return "this"
	}
	if f.outside {
		if f.kind == "reads" {
			return "read outside"
		}
		return "write outside"
	}
	switch f.kind {
	case "reads":
		return "read"
	case "writes":
		return "write"
	}
	return "anyway"
}
