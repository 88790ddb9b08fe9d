package install

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Edits of one list of things between brackets: the members of an object, the elements of an
// array. What stands between them (white space and, where something is taken out, comments)
// belongs to the nodes of the tree, so that is what must be looked after.

// gap is the text around one thing in a list.
type gap struct{ before, after *hujson.Extra }

// list is an object or an array, as far as its gaps go.
type list struct {
	gaps []gap
	end  *hujson.Extra // before the closing bracket
}

func members(o *hujson.Object) list {
	l := list{end: &o.AfterExtra}
	for i := range o.Members {
		l.gaps = append(l.gaps, gap{&o.Members[i].Name.BeforeExtra, &o.Members[i].Value.AfterExtra})
	}
	return l
}

func elements(a *hujson.Array) list {
	l := list{end: &a.AfterExtra}
	for i := range a.Elements {
		l.gaps = append(l.gaps, gap{&a.Elements[i].BeforeExtra, &a.Elements[i].AfterExtra})
	}
	return l
}

// addMember appends name: text to an object that stands indented by indent.
func (d *document) addMember(o *hujson.Object, indent, name, text string) *hujson.Value {
	before := d.openLine(members(o), indent)
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value(text)},
	}
	o.Members = append(o.Members, m)
	return &o.Members[len(o.Members)-1].Value
}

// addElement appends text to an array that stands indented by indent.
func (d *document) addElement(a *hujson.Array, indent, text string) {
	before := d.openLine(elements(a), indent)
	a.Elements = append(a.Elements, hujson.Value{BeforeExtra: before, Value: value(text)})
}

// openLine makes room at the end of a list and returns what stands before the newcomer. Everything
// gets a line of its own, also in a file that was written on one.
func (d *document) openLine(l list, indent string) hujson.Extra {
	if !bytes.ContainsRune(*l.end, '\n') {
		if n := len(l.gaps); n > 0 && len(*l.end) > 0 {
			// Kept where cut finds it again.
			*l.gaps[n-1].after = *l.end
		}
		*l.end = hujson.Extra(d.newline + indent)
	}
	// As its neighbour, where that has a line of its own.
	if n := len(l.gaps); n > 0 {
		if b := *l.gaps[n-1].before; bytes.ContainsRune(b, '\n') && b.IsStandard() {
			return hujson.Extra(d.newline + lastLine(b))
		}
	}
	return hujson.Extra(d.newline + indent + d.step)
}

func lastLine(b []byte) string { return string(b[bytes.LastIndexByte(b, '\n')+1:]) }

// cutMember and cutElement take the i-th thing out of a list.
func cutMember(o *hujson.Object, i int) {
	members(o).cut(i)
	o.Members = slices.Delete(o.Members, i, i+1)
}

func cutElement(a *hujson.Array, i int) {
	elements(a).cut(i)
	a.Elements = slices.Delete(a.Elements, i, i+1)
}

// cut prepares the list for the loss of its i-th thing: comments stay, and the line breaks are as
// they were before room made its own.
func (l list) cut(i int) {
	n := len(l.gaps)
	gone := l.gaps[i]
	next := l.end
	if i+1 < n {
		next = l.gaps[i+1].before
	}
	final := i+1 == n
	trailing := final && *gone.after != nil
	if final && !trailing && i > 0 {
		// The one before becomes the last, and what stood before its comma the end.
		prev := l.gaps[i-1]
		switch {
		case *prev.after != nil && prev.after.IsStandard() && l.end.IsStandard():
			*l.end = *prev.after
		case *prev.after != nil:
			*l.end = slices.Concat(*prev.after, *l.end)
		case !broken(*l.gaps[0].before) && l.end.IsStandard():
			*l.end = nil
		}
		*prev.after = nil
	}
	if trailing && i > 0 && *l.gaps[i-1].after == nil {
		*l.gaps[i-1].after = hujson.Extra{}
	}
	if n == 1 && l.end.IsStandard() {
		*l.end = nil
	}
	if !gone.before.IsStandard() {
		// A comment there belongs to what stands above it as often as not.
		*next = slices.Concat(*gone.before, *next)
	}
	if trailing && !gone.after.IsStandard() {
		*l.end = slices.Concat(*gone.after, *l.end)
	}
}

func broken(e hujson.Extra) bool { return bytes.ContainsRune(e, '\n') }

// value is the tree of text that this package wrote itself.
func value(text string) hujson.ValueTrimmed {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic("install: wrote bad JSON: " + err.Error()) // a bug here, not bad input
	}
	return v.Value
}

// indent is the white space that the line begins with on which v's parent opened, as far as
// known: that of the thing at depth steps.
func (d *document) indent(depth int) string { return strings.Repeat(d.step, depth) }
