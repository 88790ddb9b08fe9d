package hostlink

import (
	"fmt"
	"strings"
	"unicode"

	"assent/internal/api"
)

// Identity is what messages are signed for that are for this host (api.Agent.HostID): what the machine is called, and
// its own id, so that two machines of one name are two hosts.
func Identity(name, own string) (string, error) {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	tail := "#" + own
	id := strings.ToValidUTF8(name[:min(len(name), max(0, api.MaxHostID-len(tail)))], "") + tail
	if !api.IsHostID(id) {
		return "", fmt.Errorf("no host can be called %.200q, with the id %.40q: say --name, or remove the file host-id beside the sessions, and another id is made", name, own)
	}
	return id, nil
}
