package rig

import "testing"

func TestWord(t *testing.T) {
	for _, row := range []struct {
		name  string
		texts []string
		want  string // "": it panics
	}{
		{"answer.allow", nil, "Allow"},
		{"card.editLines", []string{"2", "{0}.go"}, "Edit 2 lines in {0}.go"},
		{"answer.none", nil, ""},
		{"answer.allow", []string{"too many"}, ""},
		{"card.editLines", []string{"too few"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			defer func() {
				if err := recover(); (err != nil) != (row.want == "") {
					t.Errorf("it panics with %v", err)
				}
			}()
			if got := Word(row.name, row.texts...); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
