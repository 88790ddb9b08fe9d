package rig

import "testing"

func TestWord(t *testing.T) {
	for _, row := range []struct {
		name  string
		texts []string
		want  string // "": it panics
	}{
		{"answer.allow", nil, "Allow"},
		{"outcome.by", []string{"Denied", "{0}'s phone"}, "Denied by {0}'s phone"},
		{"answer.none", nil, ""},
		{"answer.allow", []string{"too many"}, ""},
		{"outcome.by", []string{"too few"}, ""},
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
