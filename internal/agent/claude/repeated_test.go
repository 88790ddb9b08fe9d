package claude

import (
	"strings"
	"testing"

	"assent/internal/text/digest"
)

// A member that stands twice at the top is marked, whichever it is and wherever it stands: another
// reader may take the one that we do not show. The digest is then the whole payload's where it is
// the input that is in doubt.
func TestRepeatedMembersAreMarked(t *testing.T) {
	members := map[string][2]string{
		"tool_input": {`{"command":"rm -rf ~"}`, `{"command":"ls"}`}, "tool_name": {`"Bash"`, `"Read"`}, "session_id": {`"s"`, `"t"`},
		"cwd": {`"/a"`, `"/b"`}, "permission_mode": {`"default"`, `"plan"`}, "agent_id": {`"a"`, `"b"`}, "hook_event_name": {`"PermissionRequest"`, `"PermissionRequest"`},
	}
	base := []string{"session_id", "hook_event_name", "tool_name", "tool_input"}
	for name, values := range members {
		for _, first := range []bool{true, false} {
			for _, same := range []bool{true, false} {
				var parts []string
				for _, k := range base {
					if k != name {
						parts = append(parts, `"`+k+`":`+members[k][0])
					}
				}
				second := values[1]
				if same {
					second = values[0]
				}
				one, two := `"`+name+`":`+values[0], `"`+name+`":`+second
				if first {
					parts = append([]string{one, two}, parts...)
				} else {
					parts = append([]string{one}, append(parts, two)...)
				}
				raw := "{" + strings.Join(parts, ",") + "}"
				p, err := codec.Decode("", []byte(raw))
				if err != nil || !strings.Contains(p.Uninspectable, "repeated member "+name) {
					t.Errorf("%s: %v, %q", raw, err, p.Uninspectable)
				}
				if name == "tool_input" && p.InputSHA256 != digest.Of([]byte(raw)) {
					t.Errorf("%s: the digest is not the whole payload's", raw)
				}
			}
		}
	}
}
