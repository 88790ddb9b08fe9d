package patch

import (
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Patch
	}{
		{"two files", "*** Begin Patch\n*** Add File: /p/new.txt\n+hello\n*** Update File: /p/old.txt\n@@\n-one\n+two\n*** End Patch\n",
			Patch{[]File{{Add, "/p/new.txt", true}, {Update, "/p/old.txt", true}}, true}},
		{"moved and deleted", "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ func\n x\n-y\n\n*** End of File\n*** Delete File: c\n*** End Patch",
			Patch{[]File{{Update, "a", true}, {Move, "b", true}, {Delete, "c", true}}, true}},
		{"a header in a new file's text", "*** Begin Patch\n*** Add File: a\n+*** Delete File: b\n*** End Patch", Patch{[]File{{Add, "a", true}}, true}},
		{"a header that may be context", "*** Begin Patch\n*** Update File: a\n *** Delete File: b\n+x\n*** End Patch",
			Patch{[]File{{Update, "a", true}, {Delete, "b", false}}, true}},
		{"an indented header behind a new file", "*** Begin Patch\n*** Add File: a\n+x\n  *** Delete File: /etc/passwd\n*** End Patch",
			Patch{[]File{{Add, "a", true}, {Delete, "/etc/passwd", false}}, false}},
		{"white space around a path", "*** Begin Patch\n*** Add File:  /p/a \t\n+x\n*** End Patch", Patch{[]File{{Add, "/p/a", true}}, true}},
		{"CRLF", "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch", Patch{[]File{{Add, "a", true}}, false}},
		{"no patch", "rm -rf /", Patch{}},
		{"empty", "", Patch{}},
		{"no file", "*** Begin Patch\n*** End Patch", Patch{}},
		{"wrapped for a shell", "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF", Patch{[]File{{Add, "a", true}}, false}},
		{"lines of neither", "*** Begin Patch\n*** Add File: a\nx\n*** End Patch", Patch{[]File{{Add, "a", true}}, false}},
		{"a move of nothing", "*** Begin Patch\n*** Move to: b\n*** End Patch", Patch{[]File{{Move, "b", true}}, false}},
		{"an environment of its own", "*** Begin Patch\n*** Environment ID: x\n*** Add File: a\n+x\n*** End Patch", Patch{[]File{{Add, "a", true}}, false}},
		{"content of a deleted file", "*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch", Patch{[]File{{Delete, "a", true}}, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Read(c.text); got.Whole != c.want.Whole || !slices.Equal(got.Files, c.want.Files) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	if got := Read(begin + strings.Repeat("\n*** Delete File: a", MaxFiles+1) + "\n" + end); got.Whole || len(got.Files) != MaxFiles {
		t.Errorf("%d files, whole %v", len(got.Files), got.Whole)
	}
}

// Every line that names a file, wherever it stands, is found: what Codex may take for a file is never
// passed over.
func FuzzRead(f *testing.F) {
	f.Add("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch")
	f.Add("\u2028*** Delete File: b\n\t*** Move to: c\n*** End Patch")
	f.Fuzz(func(t *testing.T, text string) {
		p := Read(text)
		n := 0
		for l := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			for _, h := range headers {
				if strings.HasPrefix(strings.TrimSpace(l), h.text) {
					n++
				}
			}
		}
		if len(p.Files) != min(n, MaxFiles) || n > MaxFiles && p.Whole {
			t.Errorf("%d of %d files, whole %v", len(p.Files), n, p.Whole)
		}
	})
}
