package schemas

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assent/internal/ci/report"
	"assent/internal/hook"
)

// TestGoTypes: what the system's own words look like in JSON is what the schemas say. The
// schemas are closed, so a field that is added here without being described fails.
func TestGoTypes(t *testing.T) {
	digest := strings.Repeat("0f", 32)
	now := time.Date(2026, 11, 20, 14, 0, 0, 123456789, time.UTC)
	req := hook.Request{
		ID: "id", SessionID: "s", CWD: "/", ToolName: "Bash", ToolInput: hook.JSON(`{"command":"ls"}`), InputSHA256: digest,
		Agent: "claude", AgentID: "a", AgentType: "Plan",
		Origin:    hook.Origin{Host: "h", PID: 1, AgentLabel: "l", ProjectDir: "/", Repo: hook.Repo{Root: "/", Branch: "b", Head: "00", Remote: "r"}},
		CreatedAt: now, Deadline: now, OnTimeout: hook.Abstain, PermissionMode: "default",
		Suggestions: hook.JSON(`[{"type":"toolAlwaysAllow","tool":"Bash"}]`), Uninspectable: "why", Raw: []byte("{}"),
		PayloadSHA256: digest, EventSeq: 7, EventTime: now, CallKey: "k", Channel: hook.ChannelSocket,
	}
	req.Verdict = &hook.Verdict{
		Action: hook.ActionAsk, Rule: "r", File: "/f", Saved: []string{"grant-1"}, Reason: "why", Note: "n", Message: "m", Timeout: time.Minute, OnTimeout: hook.Deny,
		Shadow: []hook.Shadow{{Action: hook.ActionAllow, Rule: "s", File: "/f"}},
	}
	decision := hook.Decision{
		Behavior: hook.BehaviorAllow, InputSHA256: digest, Message: "m", Interrupt: true,
		UpdatedInput: hook.JSON(`{}`), UpdatedPermissions: req.Suggestions, Signature: "sig",
		PublicKey: &hook.JWK{Kty: "EC", Crv: "P-256", X: "x", Y: "y"},
	}
	unit := hook.Unit{
		Start: 1, End: 9, Kind: "command", Program: "ls", Text: "ls -l", Via: []string{"env"}, Dir: "/", DirUnknown: true, Guessed: true, Inner: true,
		Words: []hook.Word{{Start: 1, End: 2, Kind: "program"}},
	}
	read := struct {
		ID string `json:"id"`
		*hook.Reading
	}{"id", &hook.Reading{Units: []hook.Unit{unit}, MoreUnits: 1, Doubts: []hook.Doubt{{Code: "syntax", Start: 0, End: 1, Why: "why"}}}}
	effect := hook.Effect{Effect: "deletes", Object: "o", Outside: true, Risk: hook.Danger, Text: "t"}
	told := struct {
		ID string `json:"id"`
		*hook.Effects
	}{"id", &hook.Effects{
		Risk: hook.Danger, Sentence: "s", RiskReason: "why", Action: "publish", Effects: []hook.Effect{effect}, MoreEffects: 1,
		Marks: []hook.RiskMark{{Start: 0, End: 1, Risk: hook.Attention}},
	}}
	text := "before"
	about := hook.Context{
		Prompt: "p", PromptCut: true, PromptAt: now, PromptFrom: hook.PromptSession, PromptSender: "phone", Said: "s", SaidCut: true, SaidBy: hook.SaidBySubagent,
		Before: &hook.Before{Text: &text}, At: &hook.Place{Line: 1, Above: []string{"a"}, Below: []string{"b"}},
	}
	by := hook.Approver{Kind: "device", ID: "d", Name: "phone", File: "/f"}
	problems := []hook.RuleProblem{{File: "/f", Line: 1, Column: 2, Message: "m"}, {File: "/g", Message: "m"}}
	inForce := hook.InForce{
		Problems: problems, Notices: problems, Files: []hook.RuleFile{{Path: "/f", Layer: "user", State: hook.FileInForce, LoadedAt: now, Signed: &hook.RulesSignature{SHA256: digest, SignedAt: now.Format(time.RFC3339), Signature: "s", PublicKey: *decision.PublicKey}, SignatureProblem: "over"}, {Path: "/g", Layer: "managed", State: hook.FileBroken}},
		Rules: []hook.RuleInForce{{ID: "r", File: "/f", Line: 3, Layer: "user", Action: hook.ActionDeny, Shadow: true, Text: "t", Matches: 1, LastMatch: now}},
	}
	proposals := hook.Proposals{RequestID: "id", Reason: "why", Proposals: []hook.Proposal{{
		Digest: digest, Sentence: "s", Warnings: []string{"w"}, Rule: "r",
		Past: hook.Past{Since: now, Examined: 2, Complete: true, Matched: 1, Denied: 1, Requests: []hook.PastRequest{{ID: "id", SessionID: "s", CreatedAt: now, ToolName: "Bash", Text: "ls", Outcome: hook.Denied}}},
	}}}
	record := hook.Record{
		ID: "r", RequestID: "id", Step: hook.StepDecided, Time: now, Seq: 9,
		Request: &req, Decision: &decision, By: &by, Outcome: hook.Allowed, Reason: "why", EventSeq: 8,
	}
	for name, v := range map[string]any{
		"PermissionRequest": req, "Decision": decision, "Approver": by, "JWK": decision.PublicKey, "Repo": req.Repo, "Record": record,
		"Verdict": req.Verdict, "Unit": unit, "Effect": effect, "Risk": effect.Risk, "Context": about, "Rules": inForce, "Proposals": proposals,
	} {
		check(t, name, v)
	}
	check(t, "PermissionRequest", read)
	check(t, "PermissionRequest", told)
	for _, from := range []string{hook.PromptYou, hook.PromptSession, hook.PromptProgram} {
		check(t, "Context", hook.Context{PromptFrom: from})
	}
	for _, why := range []string{hook.SaidNothing, hook.SaidBeyond, hook.SaidOff, hook.SaidRefused, hook.SaidLate, hook.SaidUnknown, hook.SaidLost, hook.SaidElsewhere, hook.SaidFull} {
		check(t, "Context", hook.Context{SaidWhy: why, SaidBy: hook.SaidByAgent})
	}
	for _, why := range []string{hook.BeforeSecret, hook.BeforeLarge, hook.BeforeBinary, hook.BeforeUnseen, hook.BeforeRemote, hook.BeforeFull, hook.BeforeLost, hook.BeforePartial} {
		check(t, "Context", hook.Context{Before: &hook.Before{Why: why}})
	}

	for _, s := range []hook.Step{hook.StepAsked, hook.StepDecided, hook.StepEnded, hook.StepDelivered, hook.StepConfirmed, hook.StepOverruled} {
		r := record
		r.Step = s
		check(t, "Record", r)
	}
	for _, o := range []hook.Outcome{hook.Allowed, hook.Denied, hook.Expired, hook.Withdrawn, hook.HandedBack} {
		r := record
		r.Outcome = o
		check(t, "Record", r)
	}
	for _, c := range []hook.Channel{hook.ChannelSocket, hook.ChannelRemote, hook.ChannelPlain} {
		r := req
		r.Channel, r.OnTimeout = c, hook.Deny
		check(t, "PermissionRequest", r)
	}

	path, ext, lines := "/src/a.go", "go", int64(3)
	check(t, "ToolMutationEvent", hook.Mutation{
		EventID: "e", EventType: "tool.mutation.write", HookType: hook.HookPostToolUse, ToolName: "write", AgentID: hook.UnknownAgent,
		SessionID: "s", ToolUseID: "t", Host: "h", Repo: hook.RepoContext{GitRoot: "/", Branch: "b", HeadSHA: "00", RemoteURL: &path},
		FilePath: &path, FileExt: &ext, LinesChanged: &lines, RawPayload: hook.JSON("{}"), Timestamp: now, SourcePID: 1,
	})

	check(t, "RecordedMessage", hook.RecordedMessage{ID: "msg-id", SessionID: "s", SentAt: now})
	check(t, "Settled", hook.Settled{
		ID: "id", SessionID: "s", Title: "t", ToolName: "Bash", Summary: "ls", Repo: "/", CreatedAt: now, SettledAt: now, Outcome: hook.Denied,
		Reason: "why", Message: "m", By: &hook.Decider{Kind: hook.KindRule, Name: "r"}, Delivery: hook.StepOverruled,
	})
	check(t, "Settled", hook.Settled{
		ID: "id", SettledAt: now, Outcome: hook.Allowed, Edited: true, Asked: "ls -a", Changes: "command (changed)\n- ls -a\n+ ls", Answers: "a → b",
		Failed: true, Failure: "Exit code 1", Unattended: true,
	})
	check(t, "Stats", hook.Stats{
		Since: now, Step: "day", Zone: "UTC", Buckets: []hook.StatsBucket{{Start: now, AllowedPerson: 1, DeniedPerson: 1, AllowedRule: 1, DeniedRule: 1, Expired: 1, Withdrawn: 1, HandedBack: 1, MedianMS: 1, P90MS: 1}},
		By: []hook.StatsDecider{{Decider: hook.Decider{Kind: "device", Name: "phone"}, Allowed: 1, Denied: 1, MedianMS: 1}},
	})

	code := 1
	ci := report.Run{
		Version: "v", ClientVersion: "2.1.329", Command: []string{"claude"}, Broker: "private", StartedAt: now, EndedAt: now, Timeout: 300, Exit: 86, AgentExit: &code,
		Problems: []report.Problem{{Key: "k", Text: "t", Error: true}}, Omitted: 1,
	}
	for _, v := range []report.Verdict{report.Allowed, report.Denied, report.Withdrawn} {
		for _, kind := range []string{report.Rule, report.Person, report.Timeout, report.Failure, report.Agent} {
			ci.Requests = append(ci.Requests, report.Request{
				ID: "id", SessionID: "s", Tool: "Bash", Summary: "s", Text: "t", CreatedAt: now, LatencyMS: 1, Verdict: v, By: report.By{Kind: kind, Name: "n", File: "/f"},
				Message: "m", Reason: "r", Proposals: []report.Proposal{{Sentence: "s", Warnings: []string{"w"}, Rule: "r"}}, NoProposal: "n",
			})
		}
	}
	for _, run := range []report.Run{ci, {Timeout: 1}} {
		b, err := report.JSON(run)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "CIReport", json.RawMessage(b))
	}

	// The least that is ever written.
	check(t, "Settled", hook.Settled{ID: "id", SettledAt: now, Outcome: hook.HandedBack})
	check(t, "ToolMutationEvent", hook.Mutation{
		EventID: "e", EventType: "tool.mutation.bash", HookType: hook.HookPreToolUse, ToolName: "bash", AgentID: hook.UnknownAgent, RawPayload: hook.JSON("{}"),
	})
	check(t, "Record", hook.Record{ID: "r", RequestID: "id", Step: hook.StepDelivered, Time: now})
	check(t, "Record", hook.Record{ID: "r", RequestID: hook.KeyEntry("k"), Step: hook.StepRevoked, Time: now, By: &by, Revoked: &hook.RevokedKey{DeviceID: "d", DeviceName: "phone", PublicKey: *decision.PublicKey, At: now}})
	for _, s := range []hook.MessageState{hook.MessageTaken, hook.MessageStarted, hook.MessageEnded, hook.MessageRefused, hook.MessageExpired, hook.MessageLost} {
		check(t, "Record", hook.Record{ID: "r", RequestID: hook.MessageRecord("m"), Step: s.RecordStep(), Time: now, Reason: "why", Message: &hook.MessageEntry{N: 1, At: now, Way: hook.WayHost, Outcome: hook.OutcomeFailed}})
	}
	check(t, "Record", hook.Record{ID: "r", RequestID: hook.MessageRecord("m"), Step: hook.MessageSent.RecordStep(), Time: now, By: &by, Message: &hook.MessageEntry{At: now, Sent: &hook.SentMessage{
		Agent: "a", SessionID: "s", HostID: "h", Kind: hook.MessagePrompt, PromptSHA256: digest, Options: &hook.MessageOptions{BudgetUSD: 1, TimeoutSeconds: 60, AutoPR: true}, ExpiresAt: now.Format(time.RFC3339),
		Signature: "s", PublicKey: decision.PublicKey,
	}}})
	check(t, "Record", hook.Record{ID: "r", RequestID: hook.ShownEntry("id"), Step: hook.StepShown, Time: now, By: &by, Key: "k"})
	check(t, "PermissionRequest", hook.Request{ID: "id", InputSHA256: digest, PayloadSHA256: digest, OnTimeout: hook.Abstain, Channel: hook.ChannelPlain})
}

func check(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(name, b); err != nil {
		t.Errorf("%v in\n%s", err, b)
	}
}
