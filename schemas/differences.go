package schemas

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Difference is one place in which a document is not what its schema describes.
type Difference struct {
	// Pointer is the JSON pointer (RFC 6901) to it; of a member that is missing, to where it
	// belongs. It is empty for the document itself. Names in it may be foreign.
	Pointer string
	Problem string
}

// Differences returns where v, which encoding/json decoded with UseNumber, is not as the schema of
// that name describes it: sorted by pointer, each pointer once, at most 20. Of alternatives it
// tells what keeps v from the one that it comes nearest to. The error matches ErrUnknown where
// there is no such schema.
func Differences(name string, v any) ([]Difference, error) {
	schema, err := compiled(name)
	if err != nil {
		return nil, err
	}
	err = schema.Validate(v)
	if err == nil {
		return nil, nil
	}
	invalid, ok := err.(*jsonschema.ValidationError) // Validate wraps none
	if !ok {
		return nil, fmt.Errorf("validate against %s: %w", name, err)
	}
	var all []Difference
	for _, leaf := range leaves(invalid) {
		all = append(all, differences(leaf)...)
	}
	slices.SortStableFunc(all, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Problem, b.Problem))
	})
	all = slices.CompactFunc(all, func(a, b Difference) bool { return a.Pointer == b.Pointer })
	const enough = 20
	return all[:min(len(all), enough)], nil
}

// leaves returns what e rests on. All parts of a document count, but of alternatives one only.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	if strings.HasSuffix(e.KeywordLocation, "Of") && !strings.HasSuffix(e.KeywordLocation, "/allOf") {
		return []*jsonschema.ValidationError{deepest(e)}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

// The library names members in its words only.
var (
	missing = regexp.MustCompile(`^missing properties: (.*)$`)
	extra   = regexp.MustCompile(`^additionalProperties (.*) not allowed$`)
	format  = regexp.MustCompile(`(?s)^.* is not valid '([^']*)'$`) // with the value, which may be long or secret
	quoted  = regexp.MustCompile(`'((?:[^'\\]|\\.)*)'`)
)

// differences is a leaf in our words: one for each member that is missing, or too much.
func differences(leaf *jsonschema.ValidationError) []Difference {
	at := pointer(leaf)
	for _, form := range []struct {
		words   *regexp.Regexp
		problem string
	}{{missing, "missing"}, {extra, "unknown"}} {
		m := form.words.FindStringSubmatch(leaf.Message)
		if m == nil {
			continue
		}
		var out []Difference
		for _, name := range quoted.FindAllStringSubmatch(m[1], -1) {
			out = append(out, Difference{at + "/" + step(name[1]), form.problem})
		}
		return out
	}
	if m := format.FindStringSubmatch(leaf.Message); m != nil {
		return []Difference{{at, "not a valid " + m[1]}}
	}
	return []Difference{{at, leaf.Message}}
}

// step writes a name that the library quoted as a step of a JSON pointer.
func step(quoted string) string {
	name := strings.NewReplacer(`\'`, `'`, `\\`, `\\`, `"`, `\"`).Replace(quoted)
	if plain, err := strconv.Unquote(`"` + name + `"`); err == nil {
		name = plain
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
