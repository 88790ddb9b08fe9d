package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
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

func (s *Stream) infoPath() string {
	return filepath.Join(s.cfg.Dir, ".runtime", "nats-info.json")
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
	return writeFileAtomic(path, append(text, '\n'))
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

// writeFileAtomic replaces path by a file that only the owner can read: a reader sees the old
// content or the new.
func writeFileAtomic(path string, text []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if _, err = tmp.Write(text); err != nil {
		_ = tmp.Close()
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
