package describe

import "testing"

func TestMember(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"l\u0073"}`: "ls", `{"Command":"ls"}`: "-", `{"command":1}`: "-",
		`{"command":"ls","COMMAND":"rm"}`: "-", `["command"]`: "-", `{"command":`: "-", ``: "-",
	} {
		got, ok := Member([]byte(in), "command")
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("Member(%s) = %q, want %q", in, got, want)
		}
	}
}
