package history

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

func TestSettled(t *testing.T) {
	r := newRig(t)
	h := r.start()
	r.event("one", "UserPromptSubmit", `"prompt":"mend the bicycle"`)
	ask := func(session, root, tool, input string) (string, uint64) {
		id := uuid.Must(uuid.NewV7()).String() // in order, as what is settled in one millisecond is listed by its id
		raw := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s}`, session, tool, input)
		seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
		return id, r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
			ID: id, SessionID: session, CWD: "/home/dev", ToolName: tool, ToolInput: hook.JSON(input), Agent: "claude", Raw: raw,
			CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(), Origin: hook.Origin{Repo: hook.Repo{Root: root}},
		}}, 0)
	}
	by := func(id string, at uint64, o hook.Outcome, who hook.Approver, message string) uint64 {
		b := hook.BehaviorAllow
		if o == hook.Denied {
			b = hook.BehaviorDeny
		}
		return r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: o, Decision: &hook.Decision{Behavior: b, Message: message}, By: &who}, at)
	}
	phone := hook.Approver{Kind: "device", ID: "d", Name: "phone"}
	rule := hook.Approver{Kind: hook.KindRule, ID: "go-test", Name: "go-test", File: "/rules.yaml"}

	bell, at := ask("one", "/src/bicycle", "Bash", `{"command":"ring the Bell \u202e\n`+"--loud"+`"}`)
	at = by(bell, at, hook.Denied, phone, "too loud")
	r.append(hook.Record{RequestID: bell, Step: hook.StepOverruled}, at)
	tested, at := ask("one", "/src/bicycle", "Bash", `{"command":"go test ./..."}`)
	at = by(tested, at, hook.Allowed, rule, "")
	r.append(hook.Record{RequestID: tested, Step: hook.StepDelivered}, at)
	late, at := ask("two", "", "Edit", `{"file_path":"/home/dev/Größe.go","old_string":"a","new_string":"b"}`)
	r.append(hook.Record{RequestID: late, Step: hook.StepEnded, Outcome: hook.Expired, Reason: hook.ReasonDeadline}, at)
	ask("two", "", "Bash", `{"command":"still waits"}`)
	r.catchUp()

	ids := func(q hook.SettledQuery) (ids []string) {
		t.Helper()
		list, err := h.Settled(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			ids = append(ids, x.ID)
		}
		return ids
	}
	for name, c := range map[string]struct {
		q    hook.SettledQuery
		want []string
	}{
		"all":        {hook.SettledQuery{}, []string{late, tested, bell}},
		"page":       {hook.SettledQuery{Limit: 2}, []string{late, tested}},
		"next page":  {hook.SettledQuery{After: tested}, []string{bell}},
		"outcome":    {hook.SettledQuery{Outcome: hook.Expired}, []string{late}},
		"kind":       {hook.SettledQuery{Kind: "rule"}, []string{tested}},
		"who":        {hook.SettledQuery{By: "phone"}, []string{bell}},
		"which rule": {hook.SettledQuery{By: `rule "go-test" in /rules.yaml`}, []string{tested}},
		"session":    {hook.SettledQuery{Session: "two"}, []string{late}},
		"tool":       {hook.SettledQuery{Tool: "Edit"}, []string{late}},
		"repository": {hook.SettledQuery{Repo: "/src/bicycle"}, []string{tested, bell}},
		"no repo":    {hook.SettledQuery{Repo: "/home/dev"}, []string{late}},
		"words":      {hook.SettledQuery{Words: "BELL bash"}, []string{bell}},
		"one amiss":  {hook.SettledQuery{Words: "bell edit"}, nil},
		"umlauts":    {hook.SettledQuery{Words: "GRÖßE"}, []string{late}},
		"by whom":    {hook.SettledQuery{Words: "Phone"}, []string{bell}},
		"no pattern": {hook.SettledQuery{Words: "%"}, nil},
		"later":      {hook.SettledQuery{Since: time.Now().Add(time.Hour)}, nil},
		"earlier":    {hook.SettledQuery{Until: time.Now().Add(-time.Hour)}, nil},
		"today":      {hook.SettledQuery{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}, []string{late, tested, bell}},
	} {
		if got := ids(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if _, err := h.Settled(t.Context(), hook.SettledQuery{After: "nothing"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("behind what there is not: %v", err)
	}

	list, err := h.Settled(t.Context(), hook.SettledQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if x := list[2]; x.Summary != "ring the Bell ⟦U+202E⟧⏎--loud" || x.Title != "mend the bicycle" || x.Message != "too loud" || x.Delivery != hook.StepOverruled ||
		x.By == nil || *x.By != (hook.Decider{Kind: "device", Name: "phone"}) || x.SettledAt.Before(x.CreatedAt) {
		t.Errorf("%+v", x)
	}
	if x := list[0]; x.By != nil || x.Reason != hook.ReasonDeadline || x.Summary != "/home/dev/Größe.go" || x.Delivery != "" {
		t.Errorf("%+v", x)
	}

	stats, err := h.Stats(t.Context(), time.Now().Add(-time.Hour), StepHour, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var sum hook.StatsBucket
	for _, b := range stats.Buckets {
		sum.AllowedRule += b.AllowedRule
		sum.DeniedPerson += b.DeniedPerson
		sum.Expired += b.Expired
		sum.AllowedPerson += b.AllowedPerson
	}
	if sum != (hook.StatsBucket{AllowedRule: 1, DeniedPerson: 1, Expired: 1}) || len(stats.By) != 2 {
		t.Errorf("%+v of %+v", sum, stats)
	}
	if _, err := h.Stats(t.Context(), time.Now().AddDate(-3, 0, 0), StepDay, time.UTC); !errors.Is(err, ErrQuery) {
		t.Errorf("three years of days: %v", err)
	}
	if _, err := h.Stats(t.Context(), time.Now().AddDate(0, 0, 2), StepDay, time.UTC); !errors.Is(err, ErrQuery) {
		t.Errorf("from the day after tomorrow on: %v", err)
	}
}

// Days begin where the reader lives, and some have 23 or 25 hours.
func TestBucketStarts(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		x, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return x.In(berlin)
	}
	var days []string
	for _, s := range bucketStarts(at("2026-10-24T23:30:00Z"), at("2026-10-26T12:00:00Z"), StepDay) {
		days = append(days, s.UTC().Format(time.RFC3339))
	}
	if want := []string{"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}; !slices.Equal(days, want) {
		t.Errorf("%q, want %q", days, want)
	}
	if n := len(bucketStarts(at("2026-10-24T22:10:00Z"), at("2026-10-25T22:50:00Z"), StepHour)); n != 25 {
		t.Errorf("%d hours", n)
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		of      []int64
		percent int
		want    int64
	}{{nil, 50, 0}, {[]int64{7}, 50, 7}, {[]int64{7}, 90, 7}, {[]int64{1, 2}, 50, 1}, {[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 90, 9}} {
		if got := quantile(c.of, c.percent); got != c.want {
			t.Errorf("%d%% of %v is %d, want %d", c.percent, c.of, got, c.want)
		}
	}
}

// undo leads from a layout back to the one before, as its program would have left the file.
var undo = map[int]string{
	11: `DROP INDEX messages_sent; ALTER TABLE messages DROP COLUMN sent`,
	10: `DROP TABLE messages`,
	9: `ALTER TABLE cursor DROP COLUMN event_stream; ALTER TABLE cursor DROP COLUMN record_stream;
		ALTER TABLE cursor DROP COLUMN former`,
	8: `ALTER TABLE requests DROP COLUMN verified`,
	7: `ALTER TABLE raw DROP COLUMN submitter`,
	6: `ALTER TABLE requests DROP COLUMN input`,
	5: `ALTER TABLE requests DROP COLUMN changes`,
	4: `ALTER TABLE requests RENAME COLUMN summary TO gist; ALTER TABLE cursor RENAME TO place;
		CREATE TABLE runs (session INTEGER NOT NULL, run TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0,
			status TEXT NOT NULL, trigger BLOB NOT NULL, counters BLOB, PRIMARY KEY (session, run)) WITHOUT ROWID;
		INSERT INTO runs VALUES (1, 'a run', 1, 2, 'completed', x'7b7d', x'7b7d')`,
	3: `ALTER TABLE requests DROP COLUMN edited; ALTER TABLE requests DROP COLUMN wanted;
		ALTER TABLE requests DROP COLUMN answers; ALTER TABLE requests DROP COLUMN unattended`,
	2: `DROP INDEX requests_settled;
		ALTER TABLE requests DROP COLUMN repo; ALTER TABLE requests DROP COLUMN gist; ALTER TABLE requests DROP COLUMN text;
		ALTER TABLE requests DROP COLUMN by_kind; ALTER TABLE requests DROP COLUMN by_name; ALTER TABLE requests DROP COLUMN reason`,
}

// A file of each former layout keeps its rows, with what can be told of them.
func TestFormerLayouts(t *testing.T) {
	for former := layout - 1; former > 0; former-- {
		t.Run(fmt.Sprint(former), func(t *testing.T) { testFormerLayout(t, former) })
	}
}

func testFormerLayout(t *testing.T, former int) {
	r := newRig(t)
	r.start()
	id, at := r.request("one", "make bicycle")
	r.decide(id, at, "no wheels")
	r.catchUp()
	want := r.dump()
	r.halt()
	d, err := openDB(r.cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for have := layout; have > former; have-- {
		if err := d.exec(undo[have]); err != nil {
			t.Fatalf("back to layout %d: %v", have-1, err)
		}
	}
	if err := d.exec(fmt.Sprintf("PRAGMA user_version=%d", former)); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	h := r.start()
	r.catchUp()
	list, err := h.Settled(t.Context(), hook.SettledQuery{Words: "bash"})
	if err != nil || len(list) != 1 || list[0].By == nil || list[0].By.Name != "phone" || list[0].Message != "no wheels" {
		t.Errorf("%+v, %v", list, err)
	}
	if got := r.dump(); len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if n := r.count("SELECT count(*) FROM sqlite_schema WHERE name IN ('place', 'runs')"); n != 0 {
		t.Errorf("%d tables of former layouts are still there", n)
	}
	if r.saidSo("moved to") {
		t.Error("the file was made anew instead of changed")
	}
}

// TestSettledContained: what was allowed contained is no edit, and its line is what was asked for.
func TestSettledContained(t *testing.T) {
	r := newRig(t)
	h := r.start()
	for i, contain := range []string{"", hook.ContainRead} {
		id := uuid.NewString()
		input := fmt.Sprintf(`{"command":"cat %d"}`, i)
		raw := fmt.Appendf(nil, `{"session_id":"one","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":%s}`, input)
		seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
		at := r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
			ID: id, SessionID: "one", ToolName: "Bash", ToolInput: hook.JSON(input), Agent: "claude", Raw: raw, CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(),
		}}, 0)
		r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: hook.JSON(`{"command":"echo"}`), Contain: contain}}, at)
	}
	r.catchUp()
	list, err := h.Settled(t.Context(), hook.SettledQuery{})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if x := list[0]; !x.Contained || x.Edited || x.Summary != "cat 1" || x.Asked != "" || x.Changes != "" {
		t.Errorf("contained: %+v", x)
	}
	if x := list[1]; x.Contained || !x.Edited {
		t.Errorf("edited: %+v", x)
	}
}

// What is kept of a request is what was allowed, with what was asked for beside it, what was
// answered, and how the tool fared.
func TestSettledAsEdited(t *testing.T) {
	r := newRig(t)
	h := r.start()
	settled := func(tool, input string, allowed hook.JSON, after ...hook.Record) string {
		id := uuid.Must(uuid.NewV7()).String() // in order, as in TestSettled
		raw := fmt.Appendf(nil, `{"session_id":"one","hook_event_name":"PermissionRequest","tool_name":%q,"tool_input":%s}`, tool, input)
		seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
		at := r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
			ID: id, SessionID: "one", ToolName: tool, ToolInput: hook.JSON(input), Agent: "claude", Raw: raw, CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(),
		}}, 0)
		at = r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: allowed}}, at)
		for _, rec := range after {
			rec.RequestID = id
			at = r.append(rec, at)
		}
		return id
	}
	settled("Bash", `{"command":"git commit && git push"}`, hook.JSON(`{"command":"git commit"}`),
		hook.Record{Step: hook.StepConfirmed, Reason: hook.ReasonFailed, Failure: "Exit code 1\nnothing to \u202ecommit"})
	settled("Bash", `{"command":"ls","timeout":5}`, hook.JSON(`{"timeout":5, "command":"ls"}`), hook.Record{Step: hook.StepConfirmed})
	settled("AskUserQuestion", `{"questions":[{"question":"Which?"},{"question":"When?"}]}`,
		hook.JSON(`{"questions":[{"question":"Which?"},{"question":"When?"}],"answers":{"When?":"now","Which?":"Blue"}}`), hook.Record{Step: hook.StepConfirmed})
	settled("Bash", `{"command":"make"}`, hook.JSON(`{"command":"make -n"}`), hook.Record{Step: hook.StepOverruled})
	r.catchUp()
	list, err := h.Settled(t.Context(), hook.SettledQuery{})
	if err != nil || len(list) != 4 {
		t.Fatal(list, err)
	}
	if x := list[3]; !x.Edited || x.Summary != "git commit" || x.Asked != "git commit && git push" || !x.Failed || x.Failure != "Exit code 1⏎nothing to ⟦U+202E⟧commit" {
		t.Errorf("edited and failed: %+v", x)
	}
	if x := list[3]; x.Changes != "command (changed)\n- git commit && git push\n+ git commit" {
		t.Errorf("the difference: %q", x.Changes)
	}
	if x := list[2]; x.Edited || x.Changes != "" || x.Asked != "" || x.Summary != "ls" || x.Failed {
		t.Errorf("written otherwise: %+v", x)
	}
	if x := list[1]; x.Edited || x.Answers != "Which? → Blue · When? → now" {
		t.Errorf("answered: %+v", x)
	}
	if x := list[0]; !x.Edited || x.Delivery != hook.StepOverruled {
		t.Errorf("edited and overruled: %+v", x)
	}
	for words, want := range map[string]int{"make -n": 1, "blue": 1, "push": 1} {
		if found, err := h.Settled(t.Context(), hook.SettledQuery{Words: words}); err != nil || len(found) != want {
			t.Errorf("%q finds %d, want %d (%v)", words, len(found), want, err)
		}
	}
}

// What its approver's device verified is told apart from what it did not.
func TestSettledSaysWhoWasVerified(t *testing.T) {
	r := newRig(t)
	h := r.start()
	for _, verified := range []bool{false, true} {
		id, at := r.request("one", "true")
		r.append(hook.Record{RequestID: id, Step: hook.StepDecided, Outcome: hook.Allowed, Decision: &hook.Decision{Behavior: hook.BehaviorAllow},
			By: &hook.Approver{Kind: "device", Name: "phone", Verified: verified}}, at)
	}
	r.catchUp()
	list, err := h.Settled(t.Context(), hook.SettledQuery{By: "phone"})
	if err != nil || len(list) != 2 || list[0].By.Verified == list[1].By.Verified {
		t.Errorf("%+v, %v", list, err)
	}
}

// What sessions in work trees of a project did belongs to the project.
func TestSettledInWorkTrees(t *testing.T) {
	r := newRig(t)
	h := r.start()
	ids := map[string]string{}
	for _, root := range []string{"/src/bicycle", "/src/bicycle/.claude/worktrees/assent-01234567", "/src/bicycles", "/home/src/bicycle/.claude/worktrees/x"} {
		id := uuid.Must(uuid.NewV7()).String()
		ids[id] = root
		raw := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make"}}`, root)
		seq := r.publish(hook.Event{ID: id, Type: "PermissionRequest", Raw: raw})
		at := r.append(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{
			ID: id, SessionID: root, ToolName: "Bash", ToolInput: hook.JSON(`{"command":"make"}`), Agent: "claude", Raw: raw,
			CreatedAt: time.Now(), EventSeq: seq, EventTime: time.Now(), Origin: hook.Origin{Repo: hook.Repo{Root: root}},
		}}, 0)
		r.append(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.Expired, Reason: hook.ReasonDeadline}, at)
	}
	r.catchUp()
	for repo, want := range map[string][]string{
		"/src/bicycle": {"/src/bicycle", "/src/bicycle/.claude/worktrees/assent-01234567"},
		"/src/bicycle/.claude/worktrees/assent-01234567": {"/src/bicycle/.claude/worktrees/assent-01234567"},
		"/src/bicycles": {"/src/bicycles"},
	} {
		list, err := h.Settled(t.Context(), hook.SettledQuery{Repo: repo})
		var got []string
		for _, x := range list {
			got = append(got, ids[x.ID])
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", repo, got, err, want)
		}
	}
}
