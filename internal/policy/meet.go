package policy

// maxMeet bounds the work of meet; what is larger is taken to meet.
const maxMeet = 1 << 20

// meet says whether some text matches both patterns. It is asked about words whose text is
// known at run time only.
func meet(a, b []token) bool {
	met, _ := meeting(a, b)
	return met
}

// meeting is meet, and says how many steps it took.
func meeting(a, b []token) (met bool, steps int) {
	alphabet := letters(a, b)
	if len(a)*len(b)*len(alphabet) > maxMeet {
		return true, 0
	}
	same := 0 // characters that both begin with: there is one way through them
	for same < len(a) && same < len(b) && a[same].kind == literal && b[same].kind == literal {
		steps += len(alphabet)
		if a[same].char != b[same].char {
			return false, steps
		}
		same++
	}
	width := len(b) + 1
	seen := make([]bool, (len(a)+1)*width)
	var todo []int
	visit := func(i, j int) {
		if k := i*width + j; !seen[k] {
			seen[k] = true
			todo = append(todo, k)
		}
	}
	visit(same, same)
	for len(todo) > 0 {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i, j := k/width, k%width
		if i == len(a) && j == len(b) {
			return true, steps
		}
		if i < len(a) {
			free(a, i, func(i int) { visit(i, j) })
		}
		if j < len(b) {
			free(b, j, func(j int) { visit(i, j) })
		}
		if i == len(a) || j == len(b) {
			continue
		}
		steps += len(alphabet)
		tried := alphabet
		switch { // no other character leads on
		case a[i].kind == literal:
			tried = []byte{a[i].char}
		case b[j].kind == literal:
			tried = []byte{b[j].char}
		}
		for _, c := range tried {
			step(a, i, c, func(i int) { step(b, j, c, func(j int) { visit(i, j) }) })
		}
	}
	return false, steps
}

// letters returns the characters that the patterns tell apart, and one for all others.
func letters(ps ...[]token) []byte {
	var seen [256]bool
	seen['/'] = true
	for _, p := range ps {
		for _, t := range p {
			if t.kind == literal {
				seen[t.char] = true
			}
			for i := range len(t.class) {
				seen[t.class[i]] = true
			}
		}
	}
	all := make([]byte, 0, 64)
	other := false
	for c := range 256 {
		if seen[c] {
			all = append(all, byte(c))
		} else if !other && c > ' ' {
			other = true
			all = append(all, byte(c))
		}
	}
	return all
}
