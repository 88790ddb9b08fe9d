package terminal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"assent/internal/api"
	"assent/internal/text/show"
)

// prompt is a line that the user types, at the end of the screen.
type prompt struct {
	label string
	id    string // of the request it is about
	text  []rune
	at    int // where the cursor is
	done  func(text string) tea.Cmd
}

// mostTyped bounds a prompt, in characters.
const mostTyped = 4000

// insert puts text at the cursor, on one line.
func (p *prompt) insert(text string) {
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if !unicode.IsPrint(r) || len(p.text) >= mostTyped {
			continue
		}
		p.text = append(p.text[:p.at], append([]rune{r}, p.text[p.at:]...)...)
		p.at++
	}
}

// promptKey edits the prompt. Enter ends it, Esc leaves it without an answer.
func (b *board) promptKey(k tea.KeyPressMsg) tea.Cmd {
	p := b.prompt
	switch k.String() {
	case "esc":
		b.prompt = nil
		if b.offer != nil {
			b.offer = nil
			b.comeUp()
		}
	case "pgdown":
		b.scrollBy(b.detailHeight() - 1)
	case "pgup":
		b.scrollBy(1 - b.detailHeight())
	case "enter":
		text := strings.TrimSpace(string(p.text))
		if text == "" {
			return nil // Esc leaves, Enter alone is no answer
		}
		b.prompt = nil
		b.last = press{key: "enter", at: b.last.at}
		return p.done(text)
	case "backspace":
		if p.at > 0 {
			p.text = append(p.text[:p.at-1], p.text[p.at:]...)
			p.at--
		}
	case "delete":
		if p.at < len(p.text) {
			p.text = append(p.text[:p.at], p.text[p.at+1:]...)
		}
	case "ctrl+u":
		p.text, p.at = p.text[p.at:], 0
	case "left":
		p.at = max(0, p.at-1)
	case "right":
		p.at = min(len(p.text), p.at+1)
	case "home", "ctrl+a":
		p.at = 0
	case "end", "ctrl+e":
		p.at = len(p.text)
	default:
		p.insert(k.Text)
	}
	return nil
}

// row is the prompt in so many columns, and where the cursor stands in it.
func (p *prompt) row(columns int) (row string, cursor int) {
	const sign = "> "
	room := max(1, columns-len(sign)-1)
	from := 0
	typed := func(from, to int) string { return show.Line(string(p.text[from:to])) }
	for width(typed(from, p.at)) > room-1 && from < p.at {
		from++
	}
	end := len(p.text)
	for end > p.at && width(typed(from, end)) > room {
		end--
	}
	return Strong.On(sign) + typed(from, end), len(sign) + width(typed(from, p.at))
}

// question is what an agent asks, with the answers that it offers.
type question struct {
	Question string                   `json:"question"`
	Options  []struct{ Label string } `json:"options"`
}

func questionsOf(r *api.Request) []question {
	var in struct {
		Questions []question `json:"questions"`
	}
	if json.Unmarshal(r.ToolInput, &in) != nil {
		return nil
	}
	return in.Questions
}

// label is the question with the numbers of its answers.
func (q *question) label() string {
	label := show.Line(q.Question)
	for i, o := range q.Options {
		label += fmt.Sprintf("  %d %s", i+1, show.Line(o.Label))
	}
	return label
}

// answer is what was typed, or the offered answers whose numbers were.
func (q *question) answer(text string) string {
	var labels []string
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return text
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	return strings.Join(labels, ", ")
}
