package claude

import (
	"encoding/json"

	"assent/internal/hook"
)

// Claude Code has two task lists, never both in one session: TodoWrite replaces the whole list
// and its tasks have no ids; TaskCreate and TaskUpdate change one task by its id. The events
// TaskCreated and TaskCompleted come before the result of the call that caused them.

// todosOfTool reads what a finished tool call did to the task list, nil if nothing.
func todosOfTool(tool string, input, response []byte) *hook.Todos {
	switch tool {
	case "TodoWrite":
		return todoList(fields(input)["todos"], true)
	case "TaskCreate":
		f := fields(fields(response)["task"])
		in := fields(input)
		if text(f["id"]) == "" {
			return nil
		}
		t := hook.Todo{ID: text(f["id"]), New: true, Text: text(f["subject"]), Details: text(in["description"]), Status: hook.TodoOpen, Tags: texts(in["tags"])}
		if t.Text == "" {
			t.Text = text(in["subject"])
		}
		return &hook.Todos{Items: []hook.Todo{t}}
	case "TaskUpdate":
		f := fields(input)
		t := hook.Todo{
			ID: text(f["taskId"]), Text: text(f["subject"]), Details: text(f["description"]),
			Status: todoStatus(text(f["status"])), Owner: text(f["owner"]), BlockedBy: texts(f["addBlockedBy"]), Tags: texts(f["tags"]),
		}
		if t.ID == "" || string(fields(response)["success"]) == "false" {
			return nil
		}
		return &hook.Todos{Items: []hook.Todo{t}}
	case "TaskList":
		return todoList(fields(response)["tasks"], false)
	}
	return nil
}

// todosOfTask reads the events TaskCreated and TaskCompleted.
func todosOfTask(event string, d *hook.Detail) *hook.Todos {
	if d.TaskID == "" {
		return nil
	}
	t := hook.Todo{ID: d.TaskID, Text: d.Subject, Details: d.Description, Owner: d.Name}
	if event == "TaskCreated" {
		t.New, t.Status = true, hook.TodoOpen
	} else {
		t.Status = hook.TodoDone
	}
	return &hook.Todos{Items: []hook.Todo{t}}
}

func todoList(v []byte, whole bool) *hook.Todos {
	var all []json.RawMessage
	if json.Unmarshal(v, &all) != nil {
		return nil
	}
	list := &hook.Todos{Whole: whole}
	for i, raw := range all {
		if i == hook.MaxTodos {
			list.More = len(all) - i
			break
		}
		f := fields(raw)
		t := hook.Todo{
			ID: text(f["id"]), Text: text(f["content"]), Status: todoStatus(text(f["status"])),
			Priority: todoPriority(text(f["priority"])), Owner: text(f["owner"]), Tags: texts(f["tags"]),
		}
		if t.Text == "" {
			t.Text = text(f["subject"])
		}
		list.Items = append(list.Items, t)
	}
	return list
}

func todoStatus(s string) string {
	switch s {
	case "pending":
		return hook.TodoOpen
	case "in_progress":
		return hook.TodoDoing
	case "completed":
		return hook.TodoDone
	case "deleted":
		return hook.TodoRemoved
	}
	return ""
}

// todoPriority reads the priorities that TodoWrite had until 2025.
func todoPriority(s string) string {
	switch s {
	case "high":
		return "p0"
	case "medium":
		return "p1"
	case "low":
		return "p2"
	}
	return ""
}

func texts(v []byte) []string {
	var all []string
	if json.Unmarshal(v, &all) != nil {
		return nil
	}
	return all
}
