package hook

// Reading is a shell command as the rules read it, for a person to look at. Places are in the
// command as it is shown, in UTF-16 code units, which is how pages count.
type Reading struct {
	Units  []Unit  `json:"units,omitempty"`
	Doubts []Doubt `json:"doubts,omitempty"`
	// MoreUnits is how many units were left out.
	MoreUnits int `json:"moreUnits,omitempty"`
}

// Unit is one thing that a command does (schema Unit).
type Unit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"` // command, write, read, assign, opaque
	// Program is the program's name; empty where it is known only when it runs.
	Program string `json:"program,omitempty"`
	// Text is the unit as the rules read it: words separated by spaces, a path, a variable. It is
	// safe to look at and may be cut.
	Text string `json:"text"`
	// Via says how it was reached, outermost first: timeout, xargs, $(), bash -c.
	Via []string `json:"via,omitempty"`
	// Dir is where it runs, if that is not where the agent works. DirUnknown says that this is
	// known only when it runs.
	Dir        string `json:"dir,omitempty"`
	DirUnknown bool   `json:"dirUnknown,omitempty"`
	// Guessed marks what was reached through a program whose effect is not followed.
	Guessed bool `json:"guessed,omitempty"`
	// Inner says that it stands in a script within a word, which Start and End are the places of.
	Inner bool   `json:"inner,omitempty"`
	Words []Word `json:"words,omitempty"`
}

// Word is a part of a unit that a page colours.
type Word struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"` // program, flag, expansion, path
}

// Doubt says why a command may do other things than its units say.
type Doubt struct {
	Code  string `json:"code"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Why   string `json:"why"`
}
