package terminal

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// sitting is a board with a person before it, in the time of a synctest bubble.
type sitting struct {
	t       *testing.T
	b       *board
	msgs    chan tea.Msg
	done    context.Context
	answers []string // "allow ID words input"
	fails   error    // of the next answers
	wholes  map[string]*api.Request
	lost    error // of the next fetch
}

// sit runs a test with a board of 80 columns and 24 rows on which these requests wait.
func sit(t *testing.T, requests []*api.Request, with func(*sitting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &sitting{t: t, msgs: make(chan tea.Msg), done: ctx, wholes: map[string]*api.Request{}}
		s.b = newBoard(ctx, BoardConfig{
			Decide: func(_ context.Context, r *api.Request, d hook.Decision) (string, error) {
				s.answers = append(s.answers, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", d.Behavior, r.ID, d.Message, d.UpdatedInput)))
				return "delivered", s.fails
			},
			Whole: func(_ context.Context, id string) (*api.Request, error) { return s.wholes[id], s.lost },
			Answered: func(_ hook.JSON, answers []string) (hook.JSON, error) {
				return hook.JSON(fmt.Sprintf("%q", answers)), nil
			},
			Effects: func(r *hook.Request) *hook.Effects {
				e := &hook.Effects{Risk: hook.Calm, Sentence: "Only reads"}
				if strings.Contains(string(r.ToolInput), "rm") {
					e = &hook.Effects{Risk: hook.Danger, Sentence: "Deletes /"}
				}
				return e
			},
			Note:  func(*hook.Verdict) string { return "" },
			State: func(r *api.Request) string { return string(r.Outcome) + " elsewhere" },
			Rules: func(*api.Message) string { return "" }, Showed: func(*api.Request) {},
			Halt: func(*api.Halt, time.Time) string { return "Everything is stopped" },
		})
		s.run(s.b.Init())
		s.update(BoardEvent{Message: &api.Message{Type: api.MessageSnapshot, Requests: requests}})
		s.wait(0)
		with(s)
		cancel()
		time.Sleep(2 * time.Second) // ticks end
	})
}

func (s *sitting) update(m tea.Msg) {
	_, cmd := s.b.Update(m)
	s.run(cmd)
}

func (s *sitting) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		m := cmd()
		select {
		case s.msgs <- m:
		case <-s.done.Done():
		}
	}()
}

// wait lets time pass.
func (s *sitting) wait(d time.Duration) {
	end := time.After(d)
	for {
		synctest.Wait()
		select {
		case m := <-s.msgs:
			if all, ok := m.(tea.BatchMsg); ok {
				for _, cmd := range all {
					s.run(cmd)
				}
			} else if m != nil {
				s.update(m)
			}
			continue
		default:
		}
		select {
		case <-end:
			return
		case m := <-s.msgs:
			if all, ok := m.(tea.BatchMsg); ok {
				for _, cmd := range all {
					s.run(cmd)
				}
			} else if m != nil {
				s.update(m)
			}
		}
	}
}

// keys types keys, a tenth of a second after each.
func (s *sitting) keys(names ...string) {
	for _, name := range names {
		k := tea.KeyPressMsg{Text: name, Code: []rune(name)[0]}
		switch name {
		case "enter":
			k = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			k = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "space":
			k = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
		}
		s.update(k)
		s.wait(100 * time.Millisecond)
	}
}

// types types a text.
func (s *sitting) types(text string) {
	for _, r := range text {
		s.keys(string(r))
	}
}

// hold holds a key for a while: it repeats after a delay, thirty times a second.
func (s *sitting) hold(name string, delay, d time.Duration) {
	s.update(tea.KeyPressMsg{Text: name, Code: []rune(name)[0]})
	s.wait(delay)
	for range int(d / (33 * time.Millisecond)) {
		s.update(tea.KeyPressMsg{Text: name, Code: []rune(name)[0]})
		s.wait(33 * time.Millisecond)
	}
}

// ends tells the board that a request is over.
func (s *sitting) ends(r *api.Request, outcome hook.Outcome) {
	over := *r
	over.State, over.Outcome = "ended", outcome
	s.comes(&over)
}

func (s *sitting) comes(r *api.Request) {
	s.update(BoardEvent{Message: &api.Message{Type: api.MessageChanges, Changes: []api.Change{{Request: r}}}})
	s.wait(0)
}

// answered wants the answers so far.
func (s *sitting) answered(want ...string) {
	s.t.Helper()
	if strings.Join(s.answers, "|") != strings.Join(want, "|") {
		s.t.Errorf("answered: %q, want %q", s.answers, want)
	}
}

func (s *sitting) screen() string { return ours.ReplaceAllString(s.b.View().Content, "") }

func (s *sitting) sees(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(s.screen(), w) {
			s.t.Errorf("no %q on\n%s", w, s.screen())
		}
	}
}

func risky(id string, risk hook.Risk, command string) *api.Request {
	r := request(command)
	r.ID, r.ToolInput = id, hook.JSON(fmt.Sprintf(`{"command":%q}`, command))
	r.Effects = &hook.Effects{Risk: risk, Sentence: "Does " + id, RiskReason: "Because."}
	return r
}

// A key answers what was on the screen for half a second, and nothing that has just come up.
func TestBoardArms(t *testing.T) {
	one, two, three := risky("one", hook.Calm, "ls"), risky("two", hook.Normal, "touch x"), risky("three", hook.Calm, "ls")
	sit(t, []*api.Request{one, two, three}, func(s *sitting) {
		s.sees("3 wait", "Does one", "command: ls", "a allow")
		s.keys("a", "d")
		s.answered()
		s.wait(armAfter)
		s.keys("a")
		s.answered("allow one")
		s.ends(one, hook.Allowed)
		s.sees("2 wait", "#417 allowed, delivered", "command: touch x")
		s.keys("a", "d")
		s.answered("allow one")
		s.wait(armAfter)
		s.keys("d")
		s.answered("allow one", "deny two")
		// What is answered elsewhere leaves, and the next one arms anew.
		s.ends(two, hook.Denied)
		s.wait(armAfter)
		s.ends(three, hook.Withdrawn)
		s.sees("Nothing waits", "withdrawn elsewhere")
		s.comes(one)
		s.keys("a")
		s.answered("allow one", "deny two")
	})
}

// A key that is held answers one request, whatever the delay of the keyboard.
func TestBoardHeldKey(t *testing.T) {
	for _, delay := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 660 * time.Millisecond} {
		var all []*api.Request
		for i := range 6 {
			all = append(all, risky(fmt.Sprint("r", i), hook.Calm, "ls"))
		}
		sit(t, all, func(s *sitting) {
			s.wait(armAfter)
			s.update(tea.KeyPressMsg{Text: "a", Code: 'a'})
			s.wait(20 * time.Millisecond)
			s.ends(all[0], hook.Allowed)
			s.wait(delay - 20*time.Millisecond)
			for range 100 {
				s.update(tea.KeyPressMsg{Text: "a", Code: 'a'})
				s.wait(33 * time.Millisecond)
			}
			s.answered("allow r0")
			// One who presses anew is heard.
			s.wait(200 * time.Millisecond)
			s.keys("a")
			s.answered("allow r0", "allow r1")
		})
	}
}

// What is dangerous wants its key twice, pressed and not held, and no other between.
func TestBoardDanger(t *testing.T) {
	bad := risky("bad", hook.Danger, "rm -rf ~/")
	press := func(s *sitting) { s.keys("a"); s.wait(armAfter) }
	for _, c := range []struct {
		name string
		do   func(*sitting)
		want []string
	}{
		{"once", press, nil},
		{"twice", func(s *sitting) { press(s); press(s) }, []string{"allow bad"}},
		{"twice at once", func(s *sitting) { s.keys("a", "a"); s.wait(time.Second) }, nil},
		{"another between", func(s *sitting) { press(s); s.keys("k"); press(s) }, nil},
		{"held", func(s *sitting) { s.hold("a", 250*time.Millisecond, 5*time.Second); s.wait(time.Second) }, nil},
		{"held after a long delay", func(s *sitting) { s.hold("a", 660*time.Millisecond, 5*time.Second); s.wait(time.Second) }, nil},
		{"two long presses", func(s *sitting) {
			for range 2 {
				s.hold("a", 600*time.Millisecond, time.Second)
				s.wait(time.Second)
			}
		}, []string{"allow bad"}},
		{"denied", func(s *sitting) { s.keys("d") }, []string{"deny bad"}},
		{"settled after the second", func(s *sitting) {
			press(s)
			s.update(tea.KeyPressMsg{Text: "a", Code: 'a'})
			s.ends(bad, hook.Withdrawn)
			s.wait(time.Second)
		}, nil},
		{"resized between", func(s *sitting) { press(s); s.update(tea.WindowSizeMsg{Width: 60, Height: 24}); press(s) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sit(t, []*api.Request{bad}, func(s *sitting) {
				s.wait(armAfter)
				s.sees("!! Danger: Because.", "a twice: allow")
				c.do(s)
				s.answered(c.want...)
			})
		})
	}
}

// Rows that were not on the screen are looked at first: all of them where it is dangerous.
func TestBoardUnseenRows(t *testing.T) {
	long := "ls\n" + numberedLines(60)
	for _, c := range []struct {
		risk hook.Risk
		keys []string
		want []string
	}{
		{hook.Calm, []string{"a"}, nil},
		{hook.Calm, []string{"a", "a"}, []string{"allow x"}},
		{hook.Danger, []string{"a", "a", "a"}, nil},
		{hook.Danger, []string{"space", "a", "a"}, nil},
		{hook.Danger, []string{"G", "a", "a"}, nil}, // over what is between
		{hook.Danger, []string{"space", "space", "space", "space", "a", "a"}, []string{"allow x"}},
	} {
		sit(t, []*api.Request{risky("x", c.risk, long)}, func(s *sitting) {
			s.wait(armAfter)
			s.sees("rows below (space)")
			for _, k := range c.keys {
				s.keys(k)
				s.wait(armAfter)
			}
			s.answered(c.want...)
		})
	}
}

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "# %d\n", i)
	}
	return b.String()
}

func TestBoardPrompts(t *testing.T) {
	ask := risky("ask", hook.Calm, "")
	ask.ToolName, ask.ToolInput = "AskUserQuestion", hook.JSON(`{"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"Why?"}]}`)
	sit(t, []*api.Request{risky("x", hook.Calm, "npm i"), ask}, func(s *sitting) {
		s.wait(armAfter)
		s.update(tea.PasteMsg{Content: "a\nd\nq"}) // no key
		s.keys("m")
		s.types("use pnpm")
		s.keys("esc")
		s.answered()
		s.keys("m", "enter") // nothing to say is no answer
		s.types("use pnp")
		s.update(tea.PasteMsg{Content: "m,\nnot npm\x1b[31m"})
		s.sees("> use pnpm, not npm[31m")
		s.keys("enter")
		s.answered("deny x use pnpm, not npm[31m")
		s.ends(risky("x", hook.Calm, ""), hook.Denied)
		s.sees("The agent is told: use pnpm, not npm")
		s.wait(armAfter)
		s.keys("a")
		s.sees("Which?  1 Red  2 Blue")
		s.types("2,1")
		s.keys("enter")
		s.sees("Why?")
		s.types("So")
		s.keys("enter")
		s.answered("deny x use pnpm, not npm[31m", `allow ask  ["Blue, Red" "So"]`)
	})
	// The request is settled while somebody types: nothing is answered in its place.
	x := risky("x", hook.Calm, "ls")
	sit(t, []*api.Request{x, risky("y", hook.Calm, "ls")}, func(s *sitting) {
		s.wait(armAfter)
		s.keys("m")
		s.types("no")
		s.ends(x, hook.Withdrawn)
		s.keys("enter")
		s.answered()
	})
}

func TestBoardRefusals(t *testing.T) {
	strange, large := risky("strange", hook.Calm, "ls"), risky("large", hook.Calm, "ls")
	strange.Uninspectable = "repeated member"
	sit(t, []*api.Request{strange}, func(s *sitting) {
		s.wait(armAfter)
		s.keys("a")
		s.answered()
		s.sees("cannot be shown faithfully")
	})
	// What a list left out is fetched, and shown for half a second, first.
	part := *large
	part.Partial, part.Shown, part.ToolInput = true, nil, nil
	sit(t, []*api.Request{&part}, func(s *sitting) {
		s.keys("a")
		s.answered()
	})
	synctestWhole := func(s *sitting) {
		s.wholes["large"] = large
		s.comes(&part)
		s.wait(armAfter)
		s.sees("command: ls")
		s.keys("a")
		s.answered("allow large")
	}
	sit(t, nil, synctestWhole)
	// One that could not be fetched is fetched again.
	sit(t, nil, func(s *sitting) {
		s.lost = errors.New("connection refused")
		s.comes(&part)
		s.wait(armAfter)
		s.sees("connection refused")
		s.keys("a")
		s.answered()
		s.lost, s.wholes["large"] = nil, large
		s.wait(reloadAfter + 2*time.Second)
		s.sees("command: ls")
		s.keys("a")
		s.answered("allow large")
	})
	// Without a connection nothing is answered.
	sit(t, []*api.Request{risky("x", hook.Calm, "ls")}, func(s *sitting) {
		s.wait(armAfter)
		s.update(BoardEvent{Lost: "EOF"})
		s.sees("not connected")
		s.keys("a", "d")
		s.answered()
		s.update(BoardEvent{Message: &api.Message{Type: api.MessageSnapshot}})
		s.sees("nothing waits", "ended while the connection was lost")
	})
	sit(t, []*api.Request{risky("x", hook.Calm, "ls")}, func(s *sitting) {
		s.fails = errors.New("already allowed by \x1bphone")
		s.wait(armAfter)
		s.keys("a")
		s.sees("#417: already allowed by ⟦U+001B⟧phone")
	})
}

func TestBoardEdits(t *testing.T) {
	x := risky("x", hook.Calm, "git push")
	x.ToolInput = hook.JSON(`{"command":"git push","timeout":5}`)
	sit(t, []*api.Request{x}, func(s *sitting) {
		s.update(editedMsg{id: "x", text: []byte("git push --dry-run\n")})
		s.sees("Edited", "Only reads", "− git push", "+ git push --dry-run", "It was asked for:")
		s.keys("a")
		s.answered() // it came up just now
		s.wait(armAfter)
		s.keys("a")
		s.answered(`allow x  {"command":"git push --dry-run","timeout":5}`)
	})
	// What was made dangerous takes what danger takes.
	sit(t, []*api.Request{x}, func(s *sitting) {
		s.update(editedMsg{id: "x", text: []byte("rm -rf /\n")})
		s.sees("Deletes /", "!! Danger", "a twice: allow")
		s.wait(armAfter)
		s.keys("a")
		s.answered()
		s.sees("Press a again to allow: Deletes /")
		s.wait(armAfter)
		s.keys("a")
		s.wait(repeatEvery)
		s.answered(`allow x  {"command":"rm -rf /","timeout":5}`)
	})
	for _, c := range []struct{ tool, input, text, want string }{
		{"Bash", `{"command":"a","x":1}`, "b\nc\n", `{"command":"b\nc","x":1}`},
		{"Read", `{"file_path":"a"}`, `{ "file_path": "b" }`, `{"file_path":"b"}`},
		{"Read", `{"file_path":"a"}`, `["b"]`, ""},
		{"Read", `{"file_path":"a"}`, ``, ""},
	} {
		got, err := withEdit(c.tool, hook.JSON(c.input), []byte(c.text))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %q: %s, %v", c.tool, c.text, got, err)
		}
	}
}

var colour = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3|4|9|10)[0-9]m`)

// The screen is as large as the terminal, whatever that is, and holds no byte of a stranger that a
// terminal obeys.
func TestBoardFitsEveryTerminal(t *testing.T) {
	hostile := "x\x1b]0;title\x07\u009b2J\u202e漢字\ue003\t\nend" + strings.Repeat("y", 300)
	r := risky("x", hook.Danger, hostile)
	r.Sentence, r.RiskReason, r.CWD, r.Detached = hostile, hostile, "/home/"+hostile, true
	r.Effects.Effects = []hook.Effect{{Text: hostile}, {Text: hostile}}
	r.Context = &hook.Context{Prompt: show.Text(hostile), PromptFrom: hook.PromptSession, PromptSender: hostile, Said: show.Text(hostile)}
	calm := risky("y", hook.Calm, "ls")
	calm.Context = &hook.Context{Prompt: "fix it", PromptFrom: hook.PromptYou, Said: "it passes", SaidBy: hook.SaidByAgent}
	sit(t, []*api.Request{r, calm}, func(s *sitting) {
		s.b.rules = "rules: broken"
		s.update(BoardEvent{Message: &api.Message{Type: api.MessageHalt, Halt: &api.Halt{}}})
		s.sees("! rules: broken", "! Everything is stopped")
		for _, size := range [][2]int{{80, 24}, {40, 12}, {40, 24}, {200, 60}, {10, 5}, {20, 8}, {1, 1}} {
			s.update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for _, keys := range [][]string{nil, {"enter"}, {"space"}, {"enter", "m"}, {"esc"}} {
				s.keys(keys...)
				rows := strings.Split(s.screen(), "\n")
				if len(rows) != max(size[1], 5) {
					t.Errorf("%v: %d rows", size, len(rows))
				}
				for _, row := range rows {
					if width(row) > max(size[0], 10) {
						t.Errorf("%v: a row of %d columns: %q", size, width(row), row)
					}
					if strings.ContainsFunc(row, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) }) {
						t.Errorf("%v: %q", size, row)
					}
				}
			}
		}
		s.update(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.keys("j")
		s.sees("you: fix it", "the agent says: it passes")
		if !colour.MatchString(s.b.View().Content) {
			t.Error("no colour")
		}
		s.b.palette = newPalette(false)
		if c := colour.FindString(s.b.View().Content); c != "" {
			t.Errorf("a colour: %q", c)
		}
	})
}
