package strictjson

// Ambiguity is why two readers may take a text for two things.
type Ambiguity struct {
	// Key stands twice in one object, or once more in a spelling that some reader takes for it.
	Key string
	// TooDeep says that the text nests deeper than was asked for: readers differ in where they give
	// up.
	TooDeep bool
}

// Ambiguous looks at every object in text, which is known to be JSON, and returns the first
// ambiguity, nil if there is none. depth is how deep the text may nest.
func Ambiguous(text []byte, depth int) *Ambiguity {
	r := open(text)
	objects := []keys{} // of the levels that are open; none for an array
	for {
		kind := r.PeekKind()
		level, n := r.StackIndex(r.StackDepth())
		switch {
		case kind == '{' || kind == '[':
			if len(objects) == depth {
				return &Ambiguity{TooDeep: true}
			}
			if len(objects) < cap(objects) {
				objects = objects[:len(objects)+1]
				objects[len(objects)-1].clear()
			} else {
				objects = append(objects, keys{})
			}
			if _, err := r.ReadToken(); err != nil {
				return nil
			}
		case kind == '}' || kind == ']':
			if _, err := r.ReadToken(); err != nil {
				return nil
			}
			objects = objects[:len(objects)-1]
		case kind == '"' && level == '{' && n%2 == 0:
			name, err := r.value()
			if err != nil {
				return nil
			}
			key := Text(name)
			if !objects[len(objects)-1].add(Fold(key)) {
				return &Ambiguity{Key: key}
			}
		default:
			if err := r.SkipValue(); err != nil {
				return nil // the end
			}
		}
	}
}
