package modelserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, scripts map[string][][]Use) *Server {
	t.Helper()
	s, err := Start(scripts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, s *Server, body any) *http.Response {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// ask sends a conversation without streaming and returns the content blocks of the answer.
func ask(t *testing.T, s *Server, messages ...map[string]any) []block {
	t.Helper()
	res := post(t, s, map[string]any{"model": "m", "messages": messages, "tools": []any{map[string]any{"name": "Bash"}}})
	var msg struct {
		Content content `json:"content"`
	}
	if err := json.NewDecoder(res.Body).Decode(&msg); err != nil {
		t.Fatal(err)
	}
	return msg.Content
}

func user(content any) map[string]any { return map[string]any{"role": "user", "content": content} }

func result(id, text string) map[string]any {
	return map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true}
}

func TestScriptTurnByTurn(t *testing.T) {
	s := start(t, nil)
	prompt := user(Prompt(
		[]Use{{Name: "Bash", Input: map[string]any{"command": "true"}}, {Name: "Read", Input: map[string]any{}}},
		[]Use{{Name: "Write", Input: map[string]any{"n": 1}}},
	))

	first := ask(t, s, prompt)
	if len(first) != 3 || first[1].Name != "Bash" || first[2].Name != "Read" || first[1].ID == first[2].ID {
		t.Fatalf("first turn = %+v", first)
	}
	assistant := map[string]any{"role": "assistant", "content": []any{
		map[string]any{"type": "tool_use", "id": "a", "name": "Bash", "input": map[string]any{}},
		map[string]any{"type": "tool_use", "id": "b", "name": "Read", "input": map[string]any{}},
	}}
	results := user([]any{result("a", "not on a Friday"), map[string]any{"type": "tool_result", "tool_use_id": "b",
		"content": []any{map[string]any{"type": "text", "text": "one"}, map[string]any{"type": "text", "text": "two"}}}})
	second := ask(t, s, prompt, assistant, results)
	if len(second) != 2 || second[1].Name != "Write" {
		t.Fatalf("second turn = %+v", second)
	}
	more := map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": "c", "name": "Write", "input": map[string]any{}}}}
	third := ask(t, s, prompt, assistant, results, more, user([]any{result("c", "x")}), user("a reminder"))
	if len(third) != 1 || third[0].Text != Done {
		t.Fatalf("third turn = %+v", third)
	}

	again := ask(t, s, user([]any{result("z", "stopped"), map[string]any{"type": "text", "text": Prompt([]Use{{Name: "Edit", Input: map[string]any{}}})}}))
	if len(again) != 2 || again[1].Name != "Edit" {
		t.Fatalf("a prompt that comes with old results = %+v", again)
	}

	want := []Result{{"Bash", "not on a Friday", true}, {"Read", "one\ntwo", false}, {"Write", "x", true}, {"", "stopped", true}}
	if got := s.Results(); !reflect.DeepEqual(got, want) {
		t.Errorf("Results = %+v, want %+v", got, want)
	}
	calls := s.Calls()
	if len(calls) != 4 || calls[0].Turn != 0 || calls[1].Turn != 1 || !calls[2].Done || calls[1].Done {
		t.Errorf("Calls = %+v", calls)
	}
}

func TestScriptChoice(t *testing.T) {
	s := start(t, map[string][][]Use{"Touch": {{{Name: "Bash", Input: map[string]any{"command": "touch x"}}}}})
	for name, tc := range map[string]struct {
		text, want string
	}{
		"by name":        {"please TOOL=Touch now", "Bash"},
		"the last wins":  {"TOOL=None then TOOL=Touch", "Bash"},
		"unknown name":   {"TOOL=Nope", "MODEL-ERROR no script is named Nope"},
		"broken base64":  {"STEPS64=AA=A", "MODEL-ERROR the script in STEPS64 is unreadable"},
		"no script":      {"hello", "MODEL-ERROR the conversation holds no script"},
		"steps not JSON": {"STEPS64=bm90IGpzb24=", "MODEL-ERROR the script in STEPS64 is unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, s, user(tc.text))
			last := got[len(got)-1]
			if last.Name != tc.want && !strings.HasPrefix(last.Text, tc.want) {
				t.Errorf("answer = %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestStream(t *testing.T) {
	s := start(t, nil)
	res := post(t, s, map[string]any{
		"stream": true, "tools": []any{map[string]any{"name": "Bash"}},
		"messages": []any{user(Prompt([]Use{{Name: "Bash", Input: map[string]any{"command": "é\n"}}}))},
	})
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("Content-Type = %q", ct)
	}
	var kinds []string
	var input, stop string
	sc := bufio.NewScanner(res.Body)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Delta struct {
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		kinds = append(kinds, e.Type)
		input += e.Delta.PartialJSON
		stop += e.Delta.StopReason
	}
	want := "message_start content_block_start content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events = %s\nwant %s", got, want)
	}
	if input != `{"command":"é\n"}` || stop != "tool_use" {
		t.Errorf("input = %s, stop = %s", input, stop)
	}
}

func TestPlanFile(t *testing.T) {
	s := start(t, nil)
	use := Use{Name: "Write", Input: map[string]any{"file_path": "{{planFile}}", "deep": []any{"{{planFile}}"}}}
	ask(t, s, user(Prompt([]Use{use})+" the plan file is /home/u/.claude/plans/a-b.md, write it"))
	res := post(t, s, map[string]any{"tools": []any{map[string]any{"name": "Write"}},
		"messages": []any{user("the plan file is /home/u/.claude/plans/a-b.md"), user(Prompt([]Use{use}))}})
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "/home/u/.claude/plans/a-b.md"); n != 2 {
		t.Errorf("the plan file stands %d times in %s", n, b)
	}
}

func TestSideQuestionsAreAnswered(t *testing.T) {
	s := start(t, nil)
	for name, body := range map[string]map[string]any{
		"title":    {"messages": []any{user("TOOL=X")}, "tools": []any{map[string]any{"name": "Bash"}}, "output_config": map[string]any{"format": map[string]any{}}},
		"no tools": {"messages": []any{user("TOOL=X")}},
	} {
		res := post(t, s, body)
		b, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK || strings.Contains(string(b), "MODEL-ERROR") {
			t.Errorf("%s: %d %s", name, res.StatusCode, b)
		}
	}
	if got := s.Calls(); got[0].Turn != -1 || got[0].Done {
		t.Errorf("a side question counts as a turn: %+v", got)
	}
}

func TestBadRequest(t *testing.T) {
	s := start(t, nil)
	res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader("not json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusBadRequest || len(s.Calls()) != 0 {
		t.Errorf("status %d, calls %v", res.StatusCode, s.Calls())
	}
}

func TestProxyRefuses(t *testing.T) {
	s := start(t, nil)
	proxy, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(proxy)}
	t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr}
	if _, err := c.Get("https://example.com/a"); err == nil {
		t.Error("a request through the proxy went out")
	}
	res, err := c.Get("http://example.org/b")
	if err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("plain request: %v %v", res, err)
	}
	if got, want := s.Refused(), []string{"example.com:443", "http://example.org/b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Refused = %v, want %v", got, want)
	}
}

func TestWait(t *testing.T) {
	s := start(t, nil)
	got := make(chan Call, 1)
	go func() {
		c, _ := s.Wait(t.Context(), func(c Call) bool { return c.Done })
		got <- c
	}()
	ask(t, s, user(Prompt([]Use{{Name: "Bash", Input: map[string]any{}}})))
	ask(t, s, user(Prompt()))
	if c := <-got; !c.Done {
		t.Errorf("Wait returned %+v", c)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Wait(ctx, func(Call) bool { return false }); err == nil {
		t.Error("Wait did not tell that its time was over")
	}
}
