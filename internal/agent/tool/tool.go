// Package tool says what is known of a coding agent's tools: what a call does, and which members
// of its input say on what. Rules, the feed and the page ask for that and not for names, which
// every agent has its own of.
//
// The tables are data and never change while a program runs.
package tool

import (
	"fmt"
	"slices"
)

// Kind is what a tool does, as far as assent treats its calls differently.
type Kind int

// The kinds. A tool of which nothing more is known than its name is of kind Other.
const (
	Other     Kind = iota
	Command        // runs a shell command
	Read           // reads a file
	ListDir        // lists the names in a directory
	Find           // finds files by their names
	Search         // searches in the contents of files
	Edit           // changes parts of a file
	Write          // makes or replaces a file
	Fetch          // reads a web page
	WebSearch      // asks a search engine
	Subagent       // starts another agent
	Skill          // follows a skill's instructions
	Todo           // keeps a list of tasks
	Question       // asks the person questions, and goes on with the answers
	Plan           // asks the person to approve a plan
	PlanMode       // asks the person whether to plan first
	Patch          // changes many files at once, by a patch in the member Title
)

// Tool is one tool.
type Tool struct {
	Name string
	Kind Kind
	// Same is another name of the same tool, "" for most: what is said of one holds for both.
	Same string

	// Path names the members of the input that may hold the file or directory; the first that is
	// there counts. Pattern is the member with a pattern of file names below it.
	Path    []string
	Pattern string
	// Command is the member with a shell command, URL the one with an address.
	Command, URL string
	// Title is the member that a person knows a call by: the command, the file, the address.
	Title string
	// Known are the members of which it is known what they mean. Others may name another file or
	// address, or change what runs: a tool without Known has no files, commands or addresses.
	Known []string
	// Lists are those of Known that may hold a list or an object; of List only with the members that it names.
	Lists []string
	// Runs says that a call runs a command, or code, that is no command of a shell which rules can read: a rule that
	// allows the tool by its name alone would allow every one.
	Runs bool
	// Server is the member with the name of an MCP server that a call is about.
	Server string
	// Specified says that a rule Name(specifier) has a meaning of its own for this tool.
	Specified bool

	// Members are shown first, in this order, where they are strings.
	Members []Member
	// List is a member that is shown element by element, or nil.
	List *List
	// Effect is what a call does where Kind says too little.
	Effect Effect
	// Unsure says that an input is not certain to be what runs, or what it means there: no rule allows it.
	Unsure bool
}

// Effect is what a call does: a kind of effect, its risk, and a sentence without its full stop.
type Effect struct{ Kind, Risk, Says string }

// Member is a string member of an input. Kind is that of a show.Field.
type Member struct{ Name, Kind string }

// List is a member whose value is a list of objects, with their string members.
type List struct {
	Name    string
	Members []Member
	List    *List    // a list within each element, or nil
	Known   []string // further members of an element of which it is known what they mean
}

// NeedsAnswer says that a plain yes is no answer to a call: a person has to say more.
func (t Tool) NeedsAnswer() bool { return t.Kind == Question || t.Kind == Plan }

// MayWrite says that a call may change files, one by one or by a command.
func (t Tool) MayWrite() bool {
	return t.Kind == Edit || t.Kind == Write || t.Kind == Command || t.Kind == Patch
}

// AboutFiles says that a rule Name(specifier) is about files, by a pattern of paths.
func (t Tool) AboutFiles() bool {
	switch t.Kind {
	case Read, ListDir, Find, Search, Edit, Write:
		return t.Specified
	}
	return false
}

// Table is the tools of one agent.
type Table struct {
	all    []Tool
	byName map[string]int
	names  []string
}

// NewTable returns the table of these tools. It panics where two have the same name.
func NewTable(all []Tool) *Table {
	t := &Table{all: all, byName: make(map[string]int, len(all))}
	for i, x := range all {
		if _, twice := t.byName[x.Name]; twice {
			panic(fmt.Sprintf("the tool %q stands twice in its table", x.Name))
		}
		t.byName[x.Name] = i
		t.names = append(t.names, x.Name)
	}
	slices.Sort(t.names)
	return t
}

// Of returns what is known of a tool, by its exact name: nothing but that for an unknown one.
func (t *Table) Of(name string) Tool {
	if i, ok := t.byName[name]; ok {
		return t.all[i]
	}
	return Tool{Name: name}
}

// Names returns the names of all tools, sorted.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Where returns the names of the tools for which is holds, in the order of the table.
func (t *Table) Where(is func(Tool) bool) (names []string) {
	for _, x := range t.all {
		if is(x) {
			names = append(names, x.Name)
		}
	}
	return names
}
