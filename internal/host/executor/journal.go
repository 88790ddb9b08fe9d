package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"assent/internal/api"
	"assent/internal/host/regular"
)

// maxJournal bounds the journal of one session, in bytes. When it is full the session takes nothing more.
const maxJournal = 16 << 20

// entry is a line of the journal: one thing that happened, on disk before anybody is told of it.
type entry struct {
	At time.Time `json:"at"`
	// Order is a message that the host wants to take.
	Order *Order `json:"order,omitempty"`
	// Message is whose State it is; Outcome, Code, Why, Result and Output go with ended and lost.
	Message string `json:"message,omitempty"`
	State   state  `json:"state,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Code    string `json:"code,omitempty"`
	Why     string `json:"why,omitempty"`
	Result  string `json:"result,omitempty"`
	Output  string `json:"output,omitempty"`  // what the agent said in the turn, where that is more than Result
	Command string `json:"command,omitempty"` // of a handover
	Cancels int    `json:"cancels,omitempty"` // of the message so far
	By      string `json:"by,omitempty"`      // id of the message that cancelled it, of a turn that was
	// Control is a control request that the process is about to be written, Answered one that it has answered.
	Control  string `json:"control,omitempty"`
	Answered string `json:"answered,omitempty"`
	// Opening is the call of a command that may open a pull request, or of a server's tool (ByTool). PR is one that was
	// opened.
	Opening string       `json:"opening,omitempty"`
	ByTool  bool         `json:"byTool,omitempty"`
	PR      *api.AgentPR `json:"pr,omitempty"`
	// Acked is a frame that the broker has; of a claim, with the Message and the State that follow.
	Acked string `json:"acked,omitempty"`
	// Base says that Cost is what the process begins with. Unmetered are the calls of the model since it said
	// last what it had spent.
	Base      bool `json:"base,omitempty"`
	Unmetered int  `json:"unmetered,omitempty"`
	// Process is one that is about to be started, and then the one that was.
	Process *began `json:"process,omitempty"`
	// Exit is the end of the process.
	Exit *exit `json:"exit,omitempty"`
	// Offset is up to where its output was read when this happened, Cost what it had spent by its own
	// estimate, Active how long turns of the session have worked, Waited how long the last one has waited for a person.
	Offset int64         `json:"offset,omitempty"`
	Cost   *float64      `json:"cost,omitempty"`
	Active time.Duration `json:"active,omitempty"`
	Waited time.Duration `json:"waited,omitempty"`
}

// began is a process. PID is 0 where it is about to be started.
type began struct {
	PID     int    `json:"pid,omitempty"`
	ID      string `json:"id,omitempty"` // process.ID
	Version string `json:"version,omitempty"`
	// Budget is what the session may spend in all before it ends, in USD; 0: not known.
	Budget float64 `json:"budget,omitempty"`
	// Mode, CLI and Timeout are what agents.yaml said of the agent when it was started.
	Mode    string        `json:"mode,omitempty"`
	CLI     string        `json:"cli,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// exit is how a process ended. Saved says that it had time to save what it had spent.
type exit struct {
	Saved bool `json:"saved,omitempty"`
}

// journal is the file of one session's entries.
type journal struct {
	path string
	f    *os.File
	size int64
}

var errFull = errors.New("the journal of the session is full; start another session")

// makeJournal makes the empty file of a new session.
func makeJournal(path string) error {
	f, err := makeFile(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// openJournal reads what stands in the file at path. What follows the last whole line was never said to anybody, and
// goes. A journal that is not there any more is damaged: what it said was done is not done again.
func openJournal(path string, each func(entry)) (*journal, error) {
	f, err := openRegular(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is gone: %w", path, errDamaged)
	}
	if err != nil {
		return nil, err
	}
	text, err := regular.All(f, maxJournal+maxEntry)
	if errors.Is(err, regular.ErrLarge) { // no end of it may be cut off: what it says was done is not done again
		err = errDamaged
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	for i, line := range bytes.Split(text[:max(end-1, 0)], []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s:%d: %w: %w", path, i+1, err, errDamaged)
		}
		each(e)
	}
	if err := f.Truncate(int64(end)); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(int64(end), io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return &journal{path, f, int64(end)}, nil
}

// maxEntry bounds one entry, in bytes: a prompt of 64 KiB in which each byte takes six.
const maxEntry = 1 << 20

// add writes an entry, and returns when it is on disk.
func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if j.size+int64(len(line)) > maxJournal {
		return errFull
	}
	if err := j.intact(); err != nil {
		return err
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		_ = j.f.Truncate(j.size) // half a line would hide the next one
		_, _ = j.f.Seek(j.size, io.SeekStart)
		return err
	}
	if err := j.f.Sync(); err != nil {
		_ = j.f.Truncate(j.size)
		_, _ = j.f.Seek(j.size, io.SeekStart)
		return err
	}
	j.size += int64(len(line)) + 1
	return nil
}

// intact says whether the file is still there, and as it was written here: the agent can do with it what it likes, and the
// next host would believe it.
func (j *journal) intact() error {
	there, err := os.Lstat(j.path)
	ours, err2 := j.f.Stat()
	if err != nil || err2 != nil || !os.SameFile(there, ours) || ours.Size() != j.size {
		return fmt.Errorf("%s was removed or written to by another program: %w", j.path, errDamaged)
	}
	return nil
}

func (j *journal) close() error { return j.f.Close() }
