package terminal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"assent/internal/agent/claude/tools"
	"assent/internal/agent/tool"
	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// key does what a key says.
func (b *board) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	if b.prompt != nil {
		b.last = press{key: name, at: time.Now()}
		return b.promptKey(k)
	}
	before := b.last
	b.last = press{key: name, at: time.Now()}
	if b.typing && b.last.at.Sub(before.at) < typingPause {
		return nil
	}
	b.typing = false
	held := k.IsRepeat || before.key == name && b.last.at.Sub(before.at) < repeatEvery
	if b.asked.at != (time.Time{}) && name != "a" {
		b.asked.at = time.Time{} // any other key takes the first press back
	}
	switch name {
	case "q":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "j", "down":
		b.move(1)
	case "k", "up":
		b.move(-1)
	case "enter":
		b.full = !b.full
	case "esc":
		b.full = false
		if r := b.current(); r != nil && b.edits[r.ID] != nil {
			delete(b.edits, r.ID)
			b.say(Dim.On("The edit is dropped."))
			b.comeUp()
		}
	case "space", "pgdown", "ctrl+d", "ctrl+f":
		b.scrollBy(b.detailHeight() - 1)
	case "pgup", "ctrl+u", "ctrl+b":
		b.scrollBy(1 - b.detailHeight())
	case "home", "g":
		b.scroll = 0
	case "end", "G":
		b.scrollBy(len(b.detail()))
	case "a", "d", "m", "e", "A":
		return b.answerKey(name, held)
	}
	return nil
}

// move selects another request.
func (b *board) move(by int) {
	if len(b.requests) == 0 {
		return
	}
	i := min(max(0, b.index()+by), len(b.requests)-1)
	if id := b.requests[i].ID; id != b.selected {
		b.selected = id
		b.comeUp()
	}
}

func (b *board) scrollBy(rows int) {
	b.scroll = min(max(0, b.scroll+rows), max(0, len(b.detail())-b.detailHeight()))
}

// armed says whether a key may answer what is on the screen.
func (b *board) armed(now time.Time) bool { return now.Sub(b.cameUp) >= armAfter }

// answerKey is for the keys that answer a request, if they are meant for it.
func (b *board) answerKey(name string, held bool) tea.Cmd {
	r, now := b.current(), b.last.at
	switch {
	case r == nil:
		return nil
	case held && b.asked.at.IsZero(), !b.armed(now):
		return nil // it was meant for something else
	case b.answered.key == name && now.Sub(b.answered.at) < repeatDelay:
		return nil // the first repetition of the key that answered the request before
	case b.sending[r.ID]:
		return nil
	}
	if !b.lostIsOver() {
		return nil
	}
	switch name {
	case "a":
		return b.allowKey(r, held)
	case "d":
		return b.send(r, hook.Decision{Behavior: hook.BehaviorDeny})
	case "m":
		b.prompt = &prompt{label: b.either("Deny, and tell the agent what to do instead (Enter sends, Esc leaves):", "Deny with words (Enter sends):"), done: func(words string) tea.Cmd {
			return b.send(r, hook.Decision{Behavior: hook.BehaviorDeny, Message: words})
		}, id: r.ID}
	case "e":
		return b.editKey(r)
	case "A":
		return b.alwaysKey(r)
	}
	return nil
}

// either is the short text where there is no room for the long one.
func (b *board) either(long, short string) string {
	if width(long) > b.width {
		return short
	}
	return long
}

// lostIsOver says why nothing can be answered without a connection.
func (b *board) lostIsOver() bool {
	if b.lost != "" {
		b.say(Attention.On("Not connected; nothing was answered."))
	}
	return b.lost == ""
}

// allowKey allows r where it was seen as far as it has to be. Danger wants the key twice, and all of
// the request on the screen before.
func (b *board) allowKey(r *api.Request, held bool) tea.Cmd {
	danger, unseen := RiskOf(b.asAllowed(r)) == hook.Danger, len(b.detail())-b.seen
	switch {
	case r.Uninspectable != "":
		b.say(Danger.On("It cannot be shown faithfully; use the page, or: assent allow " + show.Line(r.ID)))
		return nil
	case r.Partial || len(r.Fields()) == 0 && r.Shown == nil:
		b.say(Attention.On("Not all of it is here yet; use the page if it does not come."))
		return nil
	case len(b.detail()) >= mostRows:
		b.say(Danger.On("It is too long for a terminal; use the page."))
		return nil
	case danger && unseen > 0:
		b.say(Danger.On(fmt.Sprintf("%s below: look at all of it first (space).", show.Count(unseen, "row"))))
		return nil
	case unseen > 0 && !b.warned:
		b.warned, b.cameUp = true, b.last.at // and so arms anew
		b.say(Attention.On(fmt.Sprintf("%s below; a again allows all the same.", show.Count(unseen, "row"))))
		return nil
	}
	if tools.Of(r.ToolName).Kind == tool.Question && b.edits[r.ID] == nil {
		b.ask(r, nil)
		return nil
	}
	if !danger {
		return b.send(r, b.allowed(r))
	}
	return b.dangerKey(r, held)
}

// dangerKey is a press of the key that allows what is dangerous: the second one counts, half a second
// after the first at least, unless the key repeats, for then it is held.
func (b *board) dangerKey(r *api.Request, held bool) tea.Cmd {
	now := b.last.at
	b.asked.second++ // whatever waits to be the second press is none
	if b.asked.at.IsZero() || held {
		b.asked.at = now
		b.say(Danger.On("Danger. Press a again to allow: " + Sentence(b.asAllowed(r))))
		return tea.Tick(armAfter, func(time.Time) tea.Msg { return drawMsg{} })
	}
	if now.Sub(b.asked.at) < armAfter {
		return nil
	}
	m := secondMsg{r.ID, b.asked.second}
	return tea.Tick(repeatEvery, func(time.Time) tea.Msg { return m })
}

// secondPress allows what is dangerous if its key was not pressed once more meanwhile.
func (b *board) secondPress(m secondMsg) tea.Cmd {
	r := b.current()
	if r == nil || r.ID != m.id || b.asked.second != m.second || b.asked.at.IsZero() || b.sending[r.ID] {
		return nil
	}
	return b.send(r, b.allowed(r))
}

// asAllowed is r as it would be allowed: what it would do is what was made of it.
func (b *board) asAllowed(r *api.Request) *api.Request {
	if e := b.edits[r.ID]; e != nil {
		return e.after
	}
	return r
}

// allowed is the decision that allows r, as it was asked for or as it was edited.
func (b *board) allowed(r *api.Request) hook.Decision {
	d := hook.Decision{Behavior: hook.BehaviorAllow}
	if e := b.edits[r.ID]; e != nil {
		d.UpdatedInput = e.input
	}
	return d
}

// send answers r. What comes of it is told by the broker's changes.
func (b *board) send(r *api.Request, d hook.Decision) tea.Cmd {
	if b.current() == nil || b.current().ID != r.ID {
		b.say(Attention.On("#" + numberOf(r) + " is over; nothing was answered."))
		return nil
	}
	b.asked.at = time.Time{}
	b.answered = b.last
	b.sending[r.ID], b.mine[r.ID] = true, true
	return func() tea.Msg {
		delivery, err := b.cfg.Decide(b.ctx, r, d)
		var p *api.Problem
		if errors.As(err, &p) {
			err = p
		}
		return decidedMsg{r, d, delivery, err}
	}
}

// ask asks for the answer to the next question of r, and sends them when it has all.
func (b *board) ask(r *api.Request, answers []string) {
	questions := questionsOf(r)
	if len(answers) >= len(questions) {
		b.say(Attention.On("Its questions cannot be read; use the page."))
		return
	}
	q := questions[len(answers)]
	b.prompt = &prompt{label: q.label(), id: r.ID, done: func(text string) tea.Cmd {
		all := append(slices.Clone(answers), q.answer(text))
		if len(all) < len(questions) {
			b.ask(r, all)
			return nil
		}
		input, err := b.cfg.Answered(r.ToolInput, all)
		if err != nil {
			b.say(Danger.On(show.OneRow(show.Readable(err.Error()))))
			return nil
		}
		return b.send(r, hook.Decision{Behavior: hook.BehaviorAllow, UpdatedInput: input})
	}}
}
