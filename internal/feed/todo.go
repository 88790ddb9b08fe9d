package feed

import (
	"slices"
	"strconv"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/hook"
)

// task is an entry of a task list. Two kinds of lists exist: those whose tasks have ids, and
// those that are sent as a whole, each agent its own, where a task is known by its text.
type task struct {
	Task
	Owner     string   `json:"owner,omitempty"` // agent id, for a list sent as a whole
	Listed    bool     `json:"listed,omitempty"`
	BlockedBy []string `json:"blocked_by,omitempty"`
}

// maxBlockers is how many tasks one may wait for; of more the others are not known.
const maxBlockers = 16

// maxTags is how many tags of a task are kept.
const maxTags = 16

// tags are those of a task, in its own order; nil where none is said.
func tags(list []string) (out []string) {
	for _, t := range list {
		if t = clean(t, maxIDLen); t != "" && len(out) < maxTags && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// keepsTodos reports whether a tool only keeps a task list: the feed shows what became of the
// tasks instead.
func keepsTodos(name string) bool { return tools.Of(name).Kind == tool.Todo }

// todos adds what an event says about tasks. A late event says what is no longer so.
func (f *folding) todos(actor string, primary int) {
	t := f.d.Todos
	if t == nil || !f.drives {
		return
	}
	l := todoList{folding: f, actor: actor}
	l.parent = f.out[primary].EventID
	if t.Whole {
		l.replace(t.Items)
		return
	}
	for _, it := range t.Items {
		l.change(it)
	}
}

// todoList changes the session's tasks and tells of it.
type todoList struct {
	*folding
	actor string
}

// change is one task with an id.
func (l *todoList) change(it hook.Todo) {
	id := "task:" + key(it.ID)
	if it.ID == "" || id == "task:" {
		return
	}
	i := l.s.taskIndex(id)
	if i < 0 {
		if it.Status == hook.TodoRemoved || it.Text == "" && it.Status == hook.TodoDone {
			return // it is not known, and nothing is left of it
		}
		if i = l.addTask(task{Task: Task{TodoID: id, Text: preview(it.Text), Priority: clean(it.Priority, maxIDLen), AssignedActorID: preview(it.Owner), Tags: tags(it.Tags)}}, it); i < 0 {
			return
		}
	}
	l.update(i, it)
}

// replace takes a whole list of one agent: tasks are known by their text, equal ones by their
// order.
func (l *todoList) replace(items []hook.Todo) {
	s, owner := l.s, clean(l.p.AgentID, maxIDLen)
	var kept []string // todo ids
	for _, it := range items {
		text := preview(it.Text)
		i := slices.IndexFunc(s.Tasks, func(t task) bool {
			return t.Listed && t.Owner == owner && t.Text == text && !slices.Contains(kept, t.TodoID)
		})
		if i < 0 {
			s.TaskSeq++
			t := task{Task: Task{TodoID: "todo:" + strconv.Itoa(s.TaskSeq), Text: text, Priority: clean(it.Priority, maxIDLen), Tags: tags(it.Tags)}, Owner: owner, Listed: true}
			if i = l.addTask(t, it); i < 0 {
				continue
			}
		}
		kept = append(kept, s.Tasks[i].TodoID)
		l.update(i, it)
	}
	for i := 0; i < len(s.Tasks); {
		t := &s.Tasks[i]
		if !t.Listed || t.Owner != owner || slices.Contains(kept, t.TodoID) {
			i++
			continue
		}
		l.remove(i)
	}
}

// addTask tells of a new task and returns its index, -1 when there is no room for it.
func (l *todoList) addTask(t task, it hook.Todo) int {
	s := l.s
	if len(s.Tasks) == maxTasks {
		done := slices.IndexFunc(s.Tasks, func(t task) bool { return t.Status == hook.TodoDone })
		if done < 0 {
			return -1
		}
		s.Tasks = slices.Delete(s.Tasks, done, done+1)
	}
	t.Status = hook.TodoOpen
	s.Tasks = append(s.Tasks, t)
	l.emit(KindTodoAdd, &TodoAddData{
		TodoID: t.TodoID, Text: clean(it.Text, maxDataText), Details: clean(it.Details, maxDataText), Priority: t.Priority,
		LinkedEventID: l.parent, AssignedActorID: t.AssignedActorID, Tags: t.Tags,
	}, "＋ "+t.Text)
	return len(s.Tasks) - 1
}

// update takes what an event says about a task that is known.
func (l *todoList) update(i int, it hook.Todo) {
	s := l.s
	t := &s.Tasks[i]
	for _, b := range it.BlockedBy {
		if b = "task:" + key(b); len(t.BlockedBy) < maxBlockers && !slices.Contains(t.BlockedBy, b) && s.openTask(b) {
			t.BlockedBy = append(t.BlockedBy, b)
		}
	}
	status := it.Status
	if len(t.BlockedBy) > 0 && (status == hook.TodoOpen || status == "" && t.Status == hook.TodoOpen) {
		status = hook.TodoBlocked
	}
	if status == hook.TodoRemoved {
		l.remove(i)
		return
	}
	var p TodoPatch
	changed := func(field *string, value string, patch *string) {
		if value != "" && value != *field {
			*field, *patch = value, value
		}
	}
	changed(&t.Text, preview(it.Text), &p.Text)
	changed(&t.Priority, clean(it.Priority, maxIDLen), &p.Priority)
	changed(&t.AssignedActorID, preview(it.Owner), &p.AssignedActorID)
	if now := tags(it.Tags); now != nil && !slices.Equal(now, t.Tags) {
		t.Tags, p.Tags = now, now
	}
	if status == hook.TodoDone && t.Status != hook.TodoDone {
		if !p.empty() {
			l.emit(KindTodoUpdate, &TodoUpdateData{TodoID: t.TodoID, Patch: p}, "✎ "+t.Text)
		}
		t.Status = hook.TodoDone
		id := t.TodoID
		l.emit(KindTodoDone, &TodoDoneData{TodoID: id}, "☑ "+t.Text)
		l.unblock(id)
		return
	}
	changed(&t.Status, status, &p.Status)
	if p.empty() {
		return
	}
	title := "✎ " + t.Text
	switch p.Status {
	case hook.TodoDoing:
		title = "▷ " + t.Text
	case hook.TodoBlocked:
		title = "⊘ " + t.Text + " (waits for another task)"
	case hook.TodoOpen:
		title = "☐ " + t.Text
	}
	l.emit(KindTodoUpdate, &TodoUpdateData{TodoID: t.TodoID, Patch: p}, title)
}

// remove takes a task off the list: it is done, or no longer wanted.
func (l *todoList) remove(i int) {
	t := l.s.Tasks[i]
	l.s.Tasks = slices.Delete(l.s.Tasks, i, i+1)
	if t.Status != hook.TodoDone {
		l.emit(KindTodoDone, &TodoDoneData{TodoID: t.TodoID, Reason: "removed"}, "☒ "+t.Text+" (removed)")
	}
	l.unblock(t.TodoID)
}

// unblock frees the tasks that waited for this one only.
func (l *todoList) unblock(id string) {
	for i := range l.s.Tasks {
		t := &l.s.Tasks[i]
		j := slices.Index(t.BlockedBy, id)
		if j < 0 {
			continue
		}
		t.BlockedBy = slices.Delete(t.BlockedBy, j, j+1)
		if len(t.BlockedBy) == 0 {
			t.BlockedBy = nil // as it reads back
			if t.Status == hook.TodoBlocked {
				t.Status = hook.TodoOpen
				l.emit(KindTodoUpdate, &TodoUpdateData{TodoID: t.TodoID, Patch: TodoPatch{Status: hook.TodoOpen}}, "☐ "+t.Text)
			}
		}
	}
}

func (l *todoList) emit(k Kind, data any, title string) {
	l.add(k, LevelInfo, l.actor, content{data: data, title: title})
}

func (s *state) taskIndex(id string) int {
	return slices.IndexFunc(s.Tasks, func(t task) bool { return t.TodoID == id })
}

func (s *state) openTask(id string) bool {
	i := s.taskIndex(id)
	return i >= 0 && s.Tasks[i].Status != hook.TodoDone
}
