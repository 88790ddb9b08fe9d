package rig

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed words.json
var wordsFile []byte

// pageWords are the page's words by name; web/scripts/words.mjs writes the file.
var pageWords = sync.OnceValue(func() map[string]string {
	var all map[string]string
	if err := json.Unmarshal(wordsFile, &all); err != nil {
		panic(fmt.Errorf("words.json: %w", err))
	}
	return all
})

// Word is what the page says, by its name in web/src/text/words, such as "answer.allow". The gaps
// {0}, {1} and so on are filled in with what follows. It panics on a name that there is not, and
// where gaps and texts are not as many: both are mistakes of a test.
func Word(name string, texts ...string) string {
	word, ok := pageWords()[name]
	if !ok {
		panic(fmt.Errorf("the page has no word %q; after a change of web/src/text/words run make web", name))
	}
	pairs := make([]string, 0, 2*len(texts))
	for i, text := range texts {
		gap := fmt.Sprintf("{%d}", i)
		if !strings.Contains(word, gap) {
			panic(fmt.Errorf("%s has no %s: %q", name, gap, word))
		}
		pairs = append(pairs, gap, text)
	}
	if gap := fmt.Sprintf("{%d}", len(texts)); strings.Contains(word, gap) {
		panic(fmt.Errorf("%s wants something for %s: %q", name, gap, word))
	}
	return strings.NewReplacer(pairs...).Replace(word)
}
