// Package shell reads a shell command as bash would run it, and says what it would do as a flat
// list of units: programs with their arguments, files written and read, variables set.
//
// It exists so that rules can decide about each unit. Its one promise: a Script without Doubts
// holds every command that bash would run, with the arguments that bash would hand over.
// Whatever it cannot promise that for gets a Doubt, and no rule may allow a script with a
// Doubt. Units of such a script are still worth showing to rules that deny or ask.
//
// Reading never fails, starts no process and touches no file. All functions may be called
// at the same time.
package shell

// Options say where the command would run.
type Options struct {
	Dir     string // the agent's working directory, absolute; "" is unknown
	Home    string // what ~ means, absolute; "" leaves ~ unread
	Project string // the project's top directory; "" is unknown
	Zsh     bool   // the agent's shell is zsh, or nobody knows: what zsh reads differently is doubted
}

// Script is what Read found in one command text.
type Script struct {
	Text   string
	Units  []Unit  // in the order in which they stand in Text
	Doubts []Doubt // any: no rule may allow
	Cut    bool    // of a text with doubts: not even all that may be a command is among the units
	reader *reader // of a borrowed script: whose units they are
}

// Doubt is a reason why the script may do other things than its units say.
type Doubt struct {
	Code       string // a stable word, one of the Doubt constants
	Start, End int    // bytes of Script.Text
	Why        string // a short sentence for a person
}

// Kind says what a Unit does.
type Kind uint8

const (
	Command  Kind = iota // runs Argv
	Write                // writes, creates or deletes Path
	ReadFile             // reads Path
	Assign               // sets the variable Name for the script or for one command
	Opaque               // something whose text could not be read; always with a Doubt
)

// Unit is one thing that the script does.
type Unit struct {
	Kind       Kind
	Start, End int // bytes of Script.Text; of a script within a word, those of the word

	// Program is the name that a rule which allows may match: the word as written when it holds
	// no slash, or the last element when it lies in one of the system's program directories.
	// Otherwise (./git, /tmp/git, $x) it is empty and nothing may allow the unit by name.
	Program string
	// Base is the last path element of the program word, for rules that deny or ask.
	Base string
	// Argv is the command with its program word. Programs that only start another (timeout,
	// nice, env, xargs …) are taken off and named in Via. Git's -C DIR and --no-pager, and the
	// commands of find's -exec, are taken out too: the one moves Dir, the others are units.
	Argv []Word
	// Alt are other readings of the same command, each with its program word: as it stood, or
	// without git's global options. Rules that deny or ask are tried on them too; rules that
	// allow are not.
	Alt [][]Word

	Path  Word   // Write and ReadFile
	Name  string // Assign: the variable, known to be harmless unless there is a Doubt
	Value Word   // Assign

	Dir      string // where it runs or what Path is relative to, absolute
	DirKnown bool   // Dir is certain; false after a cd that may have failed or cannot be read
	// Dirs are all directories that Dir may be, where that is known and there are several: after
	// cd x; it is x or what it was. A rule that allows must hold in each.
	Dirs []string

	Stdin, Stdout Stream
	// StdinVaries says that standard input is text of the script with values in it that are
	// known only when it runs: <<< "$x".
	StdinVaries bool
	// Out is the index in Units of the Write that Stdout goes to when Stdout is File, else -1.
	Out int
	// Of is the index in Units of the command that a Write or ReadFile redirects, -1 when it
	// redirects several (a loop, a group) or none.
	Of int

	// Via says how it was reached, outermost first: "timeout", "xargs", "find -exec", "$()",
	// "bash -c", "sudo".
	Via []string
	// Inner is the script it was found in when that stood in a word (bash -c TEXT), else "".
	Inner string
	// DenyOnly marks a unit that was reached through a program whose effect on it is not
	// followed (sudo, npx, docker exec), or that was guessed. It counts for rules that deny
	// or ask and can never help to allow anything: what holds it must be covered itself.
	// Where allowing the holder by name would be wrong too, there is also a Doubt.
	DenyOnly bool
}

// Word is one argument. Its zero value is an empty static word.
type Word struct {
	// Text is the argument as the program gets it when Static. Otherwise quotes are taken off
	// and expansions stand as they are written.
	Text string
	// Prefix is what the argument certainly begins with; Text when Static.
	Prefix string
	// Static says that the program gets exactly one argument, Text.
	Static bool
	// Glob says that it may become any number of arguments: *, braces, unquoted $x, "$@".
	Glob bool
	// MaybeFlag says that the word is not static and may become, or bring, an argument that
	// begins with a dash.
	MaybeFlag bool
	// Unknown says where what is not known of the word comes from; 0 when nobody said.
	Unknown Source
	// Expanded says that a variable stood in it, which the script or the system sets to a known value.
	Expanded   bool
	tilde      bool
	Start, End int // bytes of Script.Text; of a script within a word, those of the word
}

// Source says where the parts of a word come from that are known only when it runs.
type Source uint8

const (
	FileNames    Source = 1 << iota // a pattern for names of files
	Output                          // what a command of the script prints, or a variable such as PWD
	Number                          // $?, $#, the length of what the script has set
	Substitution                    // the name of what a command writes: <(command)
	Other                           // anything
)

// Only says whether all that is not known of the word comes from some of the sources.
func (w *Word) Only(s Source) bool { return w.Static || w.Unknown != 0 && w.Unknown&^s == 0 }

// Stream says where standard input or output is connected.
type Stream uint8

const (
	Inherit Stream = iota // as the agent has it
	Pipe                  // another command of the script, or a substitution
	DevNull               // /dev/null
	File                  // a file; a Write or ReadFile unit names it
	Heredoc               // text of the script: << or <<<
	OtherFD               // a copy of another descriptor, or closed
)

// String is the word that rules and people use.
func (s Stream) String() string {
	switch s {
	case Inherit:
		return "none"
	case Pipe:
		return "pipe"
	case DevNull:
		return "devnull"
	case File:
		return "file"
	case Heredoc:
		return "heredoc"
	default:
		return "fd"
	}
}

// String is the word that rules and people use.
func (k Kind) String() string {
	switch k {
	case Command:
		return "command"
	case Write:
		return "write"
	case ReadFile:
		return "read"
	case Assign:
		return "assign"
	default:
		return "opaque"
	}
}
