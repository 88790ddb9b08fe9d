package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/internal/feed"
	"assent/internal/hook"
)

// The states of a session after each of an agent's events, in the order in which its real program sends them.
// "idle" is that the turn is over; "waits" that it has been for a minute.
func TestStatesOfSequences(t *testing.T) {
	const (
		starting, working, blocked = string(feed.StateStarting), string(feed.StateWorking), string(feed.StateBlocked)
		ask, exited                = string(feed.StateAskUser), string(feed.StateExited)
		idle, waits                = "idle", string(feed.StateWaiting)
	)
	for name, steps := range map[string][][2]string{
		"codex": {
			{"SessionStart", starting}, {"UserPromptSubmit", working}, {"PreToolUse-shell", working}, {"PermissionRequest-shell", blocked},
			{"allowed", working}, {"PostToolUse-shell", working}, {"Stop", idle}, {"minute", waits},
			{"UserPromptSubmit", working}, {"PreToolUse-apply_patch", working}, {"PermissionRequest-apply_patch", blocked}, {"withdrawn", idle}, {"Interrupt", idle}, {"minute", waits},
			{"UserPromptSubmit", working}, {"PreToolUse-spawn_agent", working}, {"SubagentStart", working}, {"PermissionRequest-subagent", blocked},
			{"handed_back", blocked}, {"SubagentStop", working}, {"Stop", idle}, {"SessionEnd", exited},
		},
		"opencode": {
			{"UserPromptSubmit-shell", working}, {"PreToolUse-shell", working}, {"PermissionRequest-shell", blocked}, {"allowed", working},
			{"PostToolUse-shell", working}, {"Stop-shell", idle}, {"minute", waits},
			{"UserPromptSubmit-shell", working}, {"PermissionRequest-question", ask}, {"allowed", working},
			{"SubagentStart-subagent", working}, {"PermissionRequest-subagent", blocked}, {"allowed", working}, {"SubagentStop-subagent", working}, {"Stop-shell", idle},
		},
		"kilo": {
			{"UserPromptSubmit-shell", working}, {"PermissionRequest-write", blocked}, {"withdrawn", working}, {"PreToolUse-shell", working},
			{"SubagentStart-subagent", working}, {"PermissionRequest-subagent", blocked}, {"denied", working}, {"SubagentStop-subagent", working}, {"Stop-shell", idle}, {"minute", waits},
		},
		"copilot": {
			{"sessionStart", starting}, {"userPromptSubmitted", working}, {"preToolUse-shell", working}, {"permissionRequest-shell", blocked}, {"allowed", working},
			{"postToolUse-shell", working}, {"agentStop", idle}, {"minute", waits},
			{"userPromptSubmitted", working}, {"preToolUse-edit", working}, {"permissionRequest-edit", blocked}, {"handed_back", blocked}, {"notification-permission_prompt", blocked},
			{"postToolUse-edit", working}, {"subagentStart", working}, {"permissionRequest-subagent", blocked}, {"allowed", working}, {"subagentStop", working},
			{"agentStop", idle}, {"sessionEnd", exited},
		},
		"qwen": {
			{"SessionStart", starting}, {"prompt", working}, {"PermissionRequest-shell", blocked}, {"allowed", working}, {"PreToolUse-shell", working}, {"PostToolUse-shell", working},
			{"UserPromptSubmit", working}, {"PermissionRequest-webfetch", blocked}, {"allowed", working}, {"PreToolUse-webfetch", working}, {"PostToolUseFailure-webfetch", working},
			{"UserPromptSubmit", working}, {"Stop", idle}, {"Notification-idle_prompt", waits}, {"minute", waits},
			{"prompt", working}, {"Stop", idle}, {"SessionEnd", exited},
		},
		"droid": {
			{"SessionStart", starting}, {"prompt", working}, {"PreToolUse-shell", blocked}, {"allowed", working}, {"PostToolUse-shell", working},
			{"PreToolUse-edit", blocked}, {"allowed", working}, {"PostToolUse-edit", working}, {"PreToolUse-mcp", blocked}, {"denied", working}, {"Stop", idle}, {"minute", waits}, {"SessionEnd", exited},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := Reader(name)
			s, seq, now := feed.New("s"), uint64(0), time.Unix(1.8e9, 0).UTC()
			asked, runs := "", 0
			for i, step := range steps {
				seq++
				now = now.Add(time.Second)
				var out []feed.Event
				switch outcome := hook.Outcome(step[0]); outcome {
				case "minute":
					now = now.Add(time.Minute)
				case hook.Allowed, hook.Denied, hook.HandedBack, hook.Withdrawn:
					r := hook.Record{ID: fmt.Sprint("r", seq), RequestID: asked, Step: hook.StepEnded, Outcome: outcome, Time: now, Seq: seq}
					if outcome == hook.Withdrawn {
						r.Reason = hook.ReasonHangup
					}
					if outcome == hook.Allowed || outcome == hook.Denied {
						behavior := map[hook.Outcome]hook.Behavior{hook.Allowed: hook.BehaviorAllow, hook.Denied: hook.BehaviorDeny}[outcome]
						r.Step, r.Decision, r.By = hook.StepDecided, &hook.Decision{Behavior: behavior}, &hook.Approver{Kind: "device", Name: "phone"}
					}
					out = s.Record(r)
				default:
					file, native := step[0], ""
					if file == "prompt" { // the first of a turn, which was not kept
						file = "SessionStart"
					}
					raw, err := os.ReadFile(filepath.Join("testdata", name, file+".json"))
					if err != nil {
						t.Fatal(err)
					}
					if step[0] == "prompt" {
						raw = []byte(strings.ReplaceAll(strings.Replace(string(raw), "{", `{"prompt":"please run it",`, 1), `"SessionStart"`, `"UserPromptSubmit"`))
					}
					if !strings.Contains(string(raw), "hook_event_name") {
						native, _, _ = strings.Cut(file, "-")
					}
					p, err := a.Decode(native, raw)
					if err != nil {
						t.Fatal(err)
					}
					// As a reader of the stream has it: with the type in assent's words.
					if p, err = a.Decode(p.Type, raw); err != nil {
						t.Fatal(err)
					}
					p.SessionID = "s"
					e := hook.Event{ID: fmt.Sprint("e", seq), Type: p.Type, Agent: name, Seq: seq, Time: now, Raw: raw}
					out = s.Event(e, p, a.Detail(p.Type, raw))
					if p.Type == hook.EventPermissionRequest {
						asked = e.ID
						out = append(out, s.Record(hook.Record{ID: fmt.Sprint("r", seq), RequestID: asked, Step: hook.StepAsked, Time: now, Seq: seq, Request: &hook.Request{
							ID: asked, SessionID: "s", Agent: name, AgentID: p.AgentID, ToolName: p.ToolName, ToolInput: p.ToolInput, CreatedAt: now,
						}})...)
					}
				}
				for _, x := range out {
					if len(x.Marks) > 0 {
						t.Errorf("%d %s: %s is marked %v", i, step[0], x.Title, x.Marks)
					}
					if x.Kind == feed.KindRunStart {
						runs++
					}
				}
				info := s.Info(now)
				got := string(info.State)
				if info.TurnOver && got != waits {
					got = idle
				}
				if got != step[1] {
					t.Errorf("%d %s: %s, want %s", i, step[0], got, step[1])
				}
			}
			prompts := 0
			for _, step := range steps {
				if step[0] == "prompt" || strings.HasPrefix(step[0], "userPromptSubmitted") || name != "qwen" && strings.HasPrefix(step[0], "UserPromptSubmit") {
					prompts++
				}
			}
			if slices.ContainsFunc(steps, func(s [2]string) bool { return strings.EqualFold(s[0], "sessionStart") }) {
				prompts++ // the start of the session is a run, too
			}
			if runs != prompts {
				t.Errorf("%d runs, want %d", runs, prompts)
			}
			if title := s.Info(now).Title; strings.Contains(title, "empty") || title == "" {
				t.Errorf("the title %q", title)
			}
		})
	}
}
