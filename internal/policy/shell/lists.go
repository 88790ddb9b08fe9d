package shell

import (
	_ "embed"
	"strings"
	"sync"
)

// Names is a list of names, each perhaps with a value.
type Names map[string]string

// Has says whether a name stands in the list.
func (n Names) Has(name string) bool {
	_, has := n[name]
	return has
}

// Lists reads a file of lists of names. A line [NAME] begins a list; the lines below it hold names,
// separated by white space, each perhaps with a value behind a =. A line that begins with # is a
// comment. What stands above the first list belongs to the one without a name.
func Lists(text string) map[string]Names {
	lists := map[string]Names{}
	title := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case len(line) > 2 && line[0] == '[' && line[len(line)-1] == ']':
			title = line[1 : len(line)-1]
		default:
			if lists[title] == nil {
				lists[title] = Names{}
			}
			for word := range strings.FieldsSeq(line) {
				name, value, _ := strings.Cut(word, "=")
				lists[title][name] = value
			}
		}
	}
	return lists
}

//go:embed programs.txt
var programsText string

// programs are the lists of programs.txt, which says what they mean.
var programs = sync.OnceValue(func() *programLists {
	lists := Lists(programsText)
	return &programLists{
		handsOver: lists["hands over"], follows: lists["follows"], followsAfter: lists["follows after a word"], words: lists["words"],
		runsInput: lists["runs its input"],
	}
})

type programLists struct {
	handsOver, follows, followsAfter, words Names
	runsInput                               Names
}
