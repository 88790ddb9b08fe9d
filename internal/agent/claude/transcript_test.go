package claude

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"assent/internal/hook"
)

// The lines of a transcript, as Claude Code 2.1.329 writes them, shortened.
const (
	lineOther  = `{"type":"attachment","attachment":{"type":"date"},"isSidechain":false}`
	linePrompt = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"fix the test"}}`
	lineBlocks = `{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image"}]}}`
	lineResult = `{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"[{\"type\":\"text\",\"text\":\"no words\"}]"}]}}`
	lineMeta   = `{"isMeta":true,"isSidechain":false,"type":"user","message":{"role":"user","content":"<local-command-caveat>"}}`
	lineThink  = `{"isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}}`
	lineUse    = `{"isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls","text":"no words"}}]}}`
)

func says(id, text string) string {
	b, _ := json.Marshal(text)
	return `{"isSidechain":false,"type":"assistant","message":{"id":"` + id + `","role":"assistant","content":[{"type":"text","text":` + string(b) + `}]}}`
}

func TestSaid(t *testing.T) {
	sub := strings.NewReplacer(`"isSidechain":false`, `"isSidechain":true`)
	for _, c := range []struct {
		name      string
		lines     []string
		subagent  bool
		said, why string
	}{
		{"before a call", []string{linePrompt, lineThink, says("m1", "I look."), lineUse, lineOther}, false, "I look.", ""},
		{"before an earlier call of the same turn", []string{linePrompt, says("m1", "I look."), lineUse, lineResult, strings.Replace(lineUse, "m1", "m2", 1)}, false, "I look.", ""},
		{"the newest of several", []string{linePrompt, says("m1", "One."), lineUse, lineResult, says("m2", "Two."), lineUse}, false, "Two.", ""},
		{"a message of two blocks", []string{linePrompt, says("m1", "One."), says("m1", "Two.\n"), lineUse}, false, "One.\n\nTwo.", ""},
		{"blocks on one line", []string{linePrompt, strings.Replace(says("m1", "One."), `}]}}`, `},{"type":"text","text":"Two."}]}}`, 1)}, false, "One.\n\nTwo.", ""},
		{"nothing since the prompt", []string{says("m0", "Before."), linePrompt, lineThink, lineUse}, false, "", hook.SaidNothing},
		{"nothing since a prompt of blocks", []string{says("m0", "Before."), lineBlocks, lineUse}, false, "", hook.SaidNothing},
		{"a note of the program is no prompt", []string{linePrompt, says("m1", "One."), lineMeta, lineUse}, false, "One.", ""},
		{"the prompt is not there", []string{lineResult, lineUse}, false, "", hook.SaidBeyond},
		{"nothing there", nil, false, "", hook.SaidBeyond},
		{"a subagent's words are not the agent's", []string{linePrompt, says("m1", "Mine."), sub.Replace(says("m2", "Its.")), lineUse}, false, "Mine.", ""},
		{"a subagent's own", []string{sub.Replace(linePrompt), sub.Replace(says("m2", "Its.")), sub.Replace(lineUse)}, true, "Its.", ""},
		{"the program's words", []string{linePrompt, strings.Replace(says("m1", "Error"), `"id"`, `"model":"<synthetic>","id"`, 1)}, false, "", hook.SaidNothing},
		{"an error of the API", []string{linePrompt, strings.Replace(says("m1", "Error"), `{"isS`, `{"isApiErrorMessage":true,"isS`, 1)}, false, "", hook.SaidNothing},
		{"a key twice", []string{linePrompt, says("m1", "One."), strings.Replace(says("m2", "Two."), `{"isS`, `{"type":"user","isS`, 1)}, false, "One.", ""},
		{"a key in another case", []string{linePrompt, says("m1", "One."), strings.Replace(says("m2", "Two."), `"type":"assistant"`, `"Type":"assistant"`, 1)}, false, "One.", ""},
		{"broken lines", []string{linePrompt, says("m1", "One."), "{", "null", "\xff\xfe", `{"type":"assistant","message":[]}`, `{"type":"assistant","message":{"content":{}}}`, `{"type":"assistant","message":{"content":[1,null,{"type":"text","text":1}]}}`}, false, "One.", ""},
		{"a line that is cut off", []string{linePrompt, says("m1", "One."), says("m2", "Two.")[:40]}, false, "One.", ""},
		{"hostile characters stay", []string{linePrompt, says("m1", "a\u202eb\x1b[2J")}, false, "a\u202eb\x1b[2J", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, why := Agent{}.Said([]byte(strings.Join(c.lines, "\n")+"\n"), c.subagent)
			if said != c.said || why != c.why {
				t.Errorf("%q, %q", said, why)
			}
		})
	}
	t.Run("many lines", func(t *testing.T) {
		if said, why := (Agent{}).Said(append([]byte(says("m1", "Far.")+"\n"), bytes.Repeat([]byte("{}\n"), maxTranscriptLines)...), false); said != "" || why != hook.SaidBeyond {
			t.Errorf("%q, %q", said, why)
		}
	})
}

// FuzzSaid: whatever stands in a transcript, there are words or a reason, and the words are no more than
// was there.
func FuzzSaid(f *testing.F) {
	for _, l := range []string{linePrompt, lineBlocks, lineResult, lineMeta, lineThink, lineUse, says("m1", "Words."), "{", ""} {
		f.Add([]byte(linePrompt+"\n"+says("m1", "Words.")+"\n"+l+"\n"), false)
		f.Add([]byte(l), true)
	}
	f.Fuzz(func(t *testing.T, tail []byte, subagent bool) {
		said, why := Agent{}.Said(tail, subagent)
		if (said == "") != (why == hook.SaidNothing || why == hook.SaidBeyond) || said != "" && why != "" {
			t.Errorf("%q, %q", said, why)
		}
		if len(said) > 4*len(tail) { // a broken byte becomes U+FFFD
			t.Errorf("%d bytes of %d", len(said), len(tail))
		}
	})
}

// BenchmarkSaid reads as much as a hook sends: the words far back, behind results of tools.
func BenchmarkSaid(b *testing.B) {
	tail := []byte(linePrompt + "\n" + says("m1", "Words.") + "\n" + strings.Repeat(strings.Replace(lineResult, "no words", strings.Repeat("x", 3000), 1)+"\n", 20))
	b.SetBytes(int64(len(tail)))
	for b.Loop() {
		if said, _ := (Agent{}).Said(tail, false); said == "" {
			b.Fatal("no words")
		}
	}
}
