package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"assent/internal/agent/claude/tools"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// mostEdited bounds what comes back from an editor, in bytes.
const mostEdited = 4 << 20

// editKey opens the command, or the input as JSON, in the user's editor.
func (b *board) editKey(r *api.Request) tea.Cmd {
	if len(b.cfg.Editor) == 0 || len(r.ToolInput) == 0 || r.Uninspectable != "" || r.Event != "" {
		b.say(Attention.On("It cannot be edited here."))
		return nil
	}
	from := r.ToolInput
	if e := b.edits[r.ID]; e != nil {
		from = e.input
	}
	text, suffix, err := editable(r.ToolName, from)
	if err != nil {
		b.say(Danger.On(show.OneRow(show.Readable(err.Error()))))
		return nil
	}
	dir, err := os.MkdirTemp("", "assent-edit-")
	if err != nil {
		b.say(Danger.On(show.OneRow(show.Readable(err.Error()))))
		return nil
	}
	path := filepath.Join(dir, "input"+suffix)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		_ = os.RemoveAll(dir)
		b.say(Danger.On(show.OneRow(show.Readable(err.Error()))))
		return nil
	}
	cmd := exec.Command(b.cfg.Editor[0], append(b.cfg.Editor[1:len(b.cfg.Editor):len(b.cfg.Editor)], path)...)
	id := r.ID
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		defer os.RemoveAll(dir)
		if err != nil {
			return editedMsg{id: id, err: fmt.Errorf("the editor: %w", err)}
		}
		fi, err := os.Stat(path)
		if err == nil && fi.Size() > mostEdited {
			err = fmt.Errorf("what was edited has %d bytes; at most %d", fi.Size(), mostEdited)
		}
		if err != nil {
			return editedMsg{id: id, err: err}
		}
		text, err := os.ReadFile(path)
		return editedMsg{id, text, err}
	})
}

// editable is what of an input is edited: the command of a shell, else all of it as JSON.
func editable(name string, input hook.JSON) (text []byte, suffix string, err error) {
	if member := tools.Of(name).Command; member != "" {
		var in map[string]json.RawMessage
		var line string
		if err := json.Unmarshal(input, &in); err == nil && json.Unmarshal(in[member], &line) == nil {
			return []byte(line + "\n"), ".sh", nil
		}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, input, "", "  "); err != nil {
		return nil, "", fmt.Errorf("its input cannot be edited: %w", err)
	}
	return append(b.Bytes(), '\n'), ".json", nil
}

// withEdit is the input that the edited text stands for.
func withEdit(tool string, input hook.JSON, text []byte) (hook.JSON, error) {
	_, suffix, err := editable(tool, input)
	if err != nil {
		return nil, err
	}
	if suffix != ".sh" {
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
			return nil, fmt.Errorf("what was edited is no JSON object; nothing is changed")
		}
		return hook.JSON(b.Bytes()), nil
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	line, err := json.Marshal(string(bytes.TrimSuffix(text, []byte("\n"))))
	if err != nil {
		return nil, err
	}
	in[tools.Of(tool).Command] = line
	return json.Marshal(in)
}

// edited takes in what came back from the editor. It answers nothing: it is shown first.
func (b *board) edited(m editedMsg) {
	r := b.current()
	if r == nil || r.ID != m.id {
		b.say(Attention.On("The request is over; the edit is dropped."))
		return
	}
	if m.err != nil {
		b.say(Danger.On(show.OneRow(show.Readable(m.err.Error()))))
		return
	}
	input, err := withEdit(r.ToolName, r.ToolInput, m.text)
	if err != nil {
		b.say(Danger.On(show.OneRow(show.Readable(err.Error()))))
		return
	}
	before, _, errBefore := editable(r.ToolName, r.ToolInput)
	after, _, errAfter := editable(r.ToolName, input)
	if errBefore != nil || errAfter != nil || bytes.Equal(before, after) {
		delete(b.edits, r.ID)
		b.say(Dim.On("Nothing was changed."))
	} else {
		asked := *r
		asked.ToolInput, asked.Request.ToolInput = input, input
		asked.Effects = b.cfg.Effects(&asked.Request)
		b.edits[r.ID] = &edit{input, Difference(show.Text(string(before)), show.Text(string(after))), &asked}
		b.say(Attention.On("Edited. a allows it as you wrote it, esc drops the edit."))
	}
	b.comeUp()
}
