package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assent/internal/host/regular"
	"assent/internal/host/wholefile"
)

// NATSInfo is what a reader of HOOK_EVENTS needs, the content of
// <state>/.runtime/nats-info.json. Its zero value means that there is no listener.
type NATSInfo struct {
	URL       string `json:"url"`
	Port      int    `json:"port"`
	Token     string `json:"token"`
	JetStream bool   `json:"jetstream"`
	Stream    string `json:"stream"`
	Subjects  string `json:"subjects"`
}

// Info returns how to reach the events listener. The token in it is a credential.
func (s *Stream) Info() NATSInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// InfoPath is where the info of the broker of a state directory stands.
func InfoPath(stateDir string) string { return filepath.Join(stateDir, ".runtime", "nats-info.json") }

func (s *Stream) infoPath() string { return InfoPath(s.cfg.Dir) }

// maxInfo bounds the file, in bytes.
const maxInfo = 1 << 20

// ReadInfo reads the info of the broker of a state directory. An error is fs.ErrNotExist where none listens.
func ReadInfo(stateDir string) (info NATSInfo, err error) {
	b, err := regular.Read(InfoPath(stateDir), maxInfo, 0)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	return info, err
}

// InfoAt is the info of a broker with this address, which says no token.
func InfoAt(address string) NATSInfo {
	return NATSInfo{URL: address, Port: portOf(address), JetStream: true, Stream: HookEvents, Subjects: "hooks.>"}
}

// portOf is the port of a NATS address, of the first one in a list.
func portOf(address string) int {
	first, _, _ := strings.Cut(address, ",")
	if u, err := url.Parse(strings.TrimSpace(first)); err == nil {
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil && n > 0 {
			return int(n)
		}
	}
	return 4222
}

// writeInfo writes nats-info.json if the events engine listens, and otherwise removes what a
// killed process may have left.
func (s *Stream) writeInfo() error {
	if s.cfg.Dir == "" {
		return nil
	}
	host, port := s.events.address()
	if port == 0 {
		return s.removeInfo()
	}
	info := NATSInfo{
		URL:       "nats://" + net.JoinHostPort(host, strconv.Itoa(port)),
		Port:      port,
		Token:     s.events.keys.readers,
		JetStream: true,
		Stream:    HookEvents,
		Subjects:  "hooks.>",
	}
	s.mu.Lock()
	s.info = info
	s.mu.Unlock()
	path := s.infoPath()
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	text, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := wholefile.WriteVolatile(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (s *Stream) removeInfo() error {
	if s.cfg.Dir == "" {
		return nil
	}
	if err := os.Remove(s.infoPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove nats-info.json: %w", err)
	}
	return nil
}
