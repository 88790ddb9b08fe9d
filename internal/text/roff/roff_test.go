package roff

import "testing"

func TestPage(t *testing.T) {
	p := New("assent-x", "does \"it\"", "2026-02-06", "assent 1.2", "assent")
	p.Section("DESCRIPTION")
	p.Text("\nOne.\n.not a macro\n\n  assent --x\n\nTwo.\n")
	p.Item(Escape("--flag"), "what\nit does")
	want := `.TH "ASSENT\-X" "1" "2026-02-06" "assent 1.2" "assent"
.nh
.ad l
.SH NAME
assent\-x \- does \(dqit\(dq
.SH DESCRIPTION
One.
\&.not a macro
.PP
.PP
.nf
  assent \-\-x
.fi
.PP
.PP
Two.
.TP
\fB\-\-flag\fR
what it does
`
	if p.String() != want {
		t.Errorf("%s", p.String())
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{`a\b`: `a\eb`, "--x": `\-\-x`, "ü…": `\[u00FC]\[u2026]`, "a\nb": "a b", `"`: `\(dq`} {
		if got := Escape(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
