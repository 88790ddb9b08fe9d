package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assent/internal/host/regular"
	"assent/internal/text/digest"
)

// memory is what install keeps of one settings file, to undo what it did.
type memory struct {
	Path    string       `json:"path"`
	Created bool         `json:"created,omitempty"` // there was no file
	MadeDir bool         `json:"madeDir,omitempty"` // nor the directory
	Made    []string     `json:"made,omitempty"`    // of a file that is assent's alone: nor these directories, the innermost first
	Before  []byte       `json:"before,omitempty"`  // the file without anything of assent's
	After   string       `json:"after"`             // digest of the file as install left it
	Ask     []string     `json:"ask,omitempty"`     // rules that install added
	Mode    *changedMode `json:"mode,omitempty"`
	Only    bool         `json:"only,omitempty"` // install switched other hooks off
}

// maxMemory bounds a memory file: a settings file in base64, and the rest.
const maxMemory = 2 * maxSettings

// key names the files of a settings file in the directory of memories.
func key(target string) string { return digest.Of([]byte(target))[:16] }

func (o Options) memoryDir() string { return filepath.Join(o.StateDir, "install") }

// readMemory reads the memory of a settings file. None, or one that cannot be read, is no error:
// uninstall then takes out what it knows by sight. So it does with one that others could have
// written, for uninstall writes what a memory says.
func readMemory(dir, target string) memory {
	b, err := regular.Read(filepath.Join(dir, key(target)+".json"), maxMemory, regular.Mine|regular.NoWriter)
	var m memory
	if err != nil || json.Unmarshal(b, &m) != nil || m.Path != target {
		return memory{}
	}
	return m
}

// keep writes the memory, or removes it if m is nil.
func keep(dir, target string, m *memory) error {
	path := filepath.Join(dir, key(target)+".json")
	if m == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget the install of %s: %w", target, err)
		}
		return nil
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = write(path, b, attributes{mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("remember what is done to %s: %w", target, err)
	}
	return nil
}

// cleaned returns the file as it would be without assent; ok is false if there would be none.
func (m memory) cleaned(agent, path string, now []byte) (b []byte, ok bool, err error) {
	if now == nil {
		return nil, false, nil
	}
	if m.After != "" && digest.Of(now) == m.After {
		return append([]byte{}, m.Before...), !m.Created, nil
	}
	d, err := parseFor(agent, path, now)
	if err != nil {
		return nil, false, err
	}
	d.unhook()
	d.unask(m.Ask)
	d.unmode(m.Mode)
	d.unonly(m.Only)
	if len(bytes.TrimSpace(d.text)) == 0 {
		return now, true, nil
	}
	return d.bytes(), true, nil
}
