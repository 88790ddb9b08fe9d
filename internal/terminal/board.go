package terminal

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"assent/internal/api"
	"assent/internal/hook"
	"assent/internal/text/show"
)

// BoardConfig is what a Board needs. Everything is required but Input, Output, Environ, Always and Editor.
type BoardConfig struct {
	Input   io.Reader
	Output  io.Writer
	Environ []string
	// NoColor leaves colours out.
	NoColor bool
	// Decide answers a request and says how far the answer got.
	Decide func(context.Context, *api.Request, hook.Decision) (delivery string, err error)
	// Whole fetches a request of which a list left a part out.
	Whole func(ctx context.Context, id string) (*api.Request, error)
	// Answered is the input of a question with one answer for each of its questions.
	Answered func(input hook.JSON, answers []string) (hook.JSON, error)
	// Effects are what a request would do, and how bad that could be.
	Effects func(*hook.Request) *hook.Effects
	// Note is what the rules say to the approver; State is what became of a request; Rules says what
	// is wrong with the rules, if anything.
	Note  func(*hook.Verdict) string
	State func(*api.Request) string
	Rules func(*api.Message) string
	// Halt says that everything is stopped or paused, if it is.
	Halt func(*api.Halt, time.Time) string
	// Showed is called with each request whose input was on the screen.
	Showed func(*api.Request)
	// Always is what the key A needs; without it the key does nothing.
	Always AlwaysConfig
	// Editor is the command that edits a file, without the file.
	Editor []string
}

// BoardEvent is news for a Board: a message of the broker, or that the connection was lost.
type BoardEvent struct {
	Message *api.Message
	Lost    string // why
	Failed  error  // there will be no more events
}

// Watch is the full-screen program: a list of what waits, the detail of one request, keys to answer.
// It returns when the user quits, when ctx is done or with the error of a failed event, and leaves the
// terminal as it was, also after a panic. It reads events until then.
//
// It owns a goroutine that hands on the events and ends with it, and the goroutines of bubbletea.
func Watch(ctx context.Context, cfg BoardConfig, events <-chan BoardEvent) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	profile := colorprofile.ANSI
	if cfg.NoColor {
		profile = colorprofile.ASCII
	}
	b := newBoard(ctx, cfg)
	// The profile is given, or bubbletea would run tmux to find it out. Signals end ctx.
	p := tea.NewProgram(b, tea.WithContext(ctx), tea.WithInput(cfg.Input), tea.WithOutput(cfg.Output), tea.WithEnvironment(cfg.Environ),
		tea.WithColorProfile(profile), tea.WithoutSignalHandler())
	handed := make(chan struct{})
	go func() {
		defer close(handed)
		for {
			select {
			case e := <-events:
				p.Send(e)
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	stopped := ctx.Err() != nil
	cancel()
	<-handed
	if b.failed != nil {
		return b.failed
	}
	if err != nil && !stopped {
		return fmt.Errorf("the screen of assent watch: %w", err)
	}
	return nil
}

// armAfter is how long a request has to be on the screen before a key answers it; so a key that was
// meant for something else never answers what has just come up.
const armAfter = 500 * time.Millisecond

// reloadAfter is how long to wait before a request that could not be fetched is fetched again.
const reloadAfter = 2 * time.Second

// typingPause is how long no key has to come before keys are commands again, where somebody was writing
// about a request that is over.
const typingPause = 2 * time.Second

// A key that is held repeats, after a quarter to three quarters of a second and then many times a
// second: neither is an answer to the next request, nor the second press that danger needs.
const (
	repeatDelay = 700 * time.Millisecond
	repeatEvery = 150 * time.Millisecond
)

// statusTime is how long a line about what just happened stays.
const statusTime = 6 * time.Second

// mostRows bounds the rows of one request; what is longer is for the page.
const mostRows = 50_000

// board is the model of Watch. Bubbletea calls its methods from one goroutine.
type board struct {
	cfg           BoardConfig
	ctx           context.Context
	palette       Palette
	width, height int

	requests  []*api.Request  // that wait, in the order in which they were asked
	sessions  map[string]bool // the ids of those that are not over
	snapshot  bool            // there was one
	lost      string
	rules     string
	halt      *api.Halt
	status    string
	statusEnd time.Time
	failed    error

	// Of the request that is selected.
	selected string // id
	cameUp   time.Time
	scroll   int  // rows above the screen
	seen     int  // rows that were on the screen, from the first on
	full     bool // without the list
	warned   bool // unseen rows were pointed out
	asked    askedTwice

	last     press // the key before
	answered press // the key that answered a request last
	// typing says that somebody was writing when the request was settled, and may go on: what is
	// typed is no answer until there was a pause.
	typing  bool
	prompt  *prompt
	edits   map[string]*edit
	offer   *offer // instead of the detail
	saved   string // what was saved beside the next answer
	sending map[string]bool
	mine    map[string]bool      // were sent from here, and are still in the list
	loading map[string]time.Time // of requests that are being fetched, zero; of those that could not be, when to try again
	rows    rowCache
}

// press is a key, and when it was pressed.
type press struct {
	key string
	at  time.Time
}

// askedTwice is the state of an answer that needs the key twice.
type askedTwice struct {
	at     time.Time // of the first press; zero: none
	second int       // counts the second presses, so that a held key is told from one
}

// edit is an input in place of the one that was asked for.
type edit struct {
	input hook.JSON
	lines []string     // the difference
	after *api.Request // as it would have been asked for so: what it would do, how bad that could be
}

func newBoard(ctx context.Context, cfg BoardConfig) *board {
	return &board{
		cfg: cfg, ctx: ctx, palette: newPalette(!cfg.NoColor), width: 80, height: 24,
		sessions: map[string]bool{}, edits: map[string]*edit{}, sending: map[string]bool{}, mine: map[string]bool{}, loading: map[string]time.Time{},
	}
}

type (
	tickMsg    struct{}
	drawMsg    struct{} // the keys are armed
	decidedMsg struct {
		r        *api.Request
		d        hook.Decision
		delivery string
		err      error
	}
	wholeMsg struct {
		id  string
		r   *api.Request
		err error
	}
	secondMsg struct { // after a second press: did the key repeat?
		id     string
		second int
	}
	editedMsg struct {
		id   string
		text []byte
		err  error
	}
)

// tick draws the screen once a second, for ages and for lines that have an end.
func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

// Init implements tea.Model.
func (b *board) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd, arm tea.Cmd
	before := b.cameUp
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width != b.width {
			b.seen, b.scroll, b.asked.at = 0, 0, time.Time{} // the rows are others
		}
		b.width, b.height = max(msg.Width, 10), max(msg.Height, 5)
	case tickMsg:
		cmd = tick()
	case BoardEvent:
		cmd = b.event(msg)
	case decidedMsg:
		b.decided(msg)
	case wholeMsg:
		b.whole(msg)
	case proposalsMsg:
		b.proposed(msg)
	case keptMsg:
		cmd = b.kept(msg)
	case secondMsg:
		cmd = b.secondPress(msg)
	case editedMsg:
		b.edited(msg)
	case tea.PasteMsg:
		if b.prompt != nil { // elsewhere a paste is no key
			b.prompt.insert(msg.Content)
		}
	case tea.KeyPressMsg:
		cmd = b.key(msg)
	}
	if b.cameUp != before {
		arm = tea.Tick(armAfter, func(time.Time) tea.Msg { return drawMsg{} })
	}
	return b, tea.Batch(cmd, arm, b.look())
}

// look notes what the screen shows now, and fetches what it cannot show yet.
func (b *board) look() tea.Cmd {
	r := b.current()
	if r == nil {
		return nil
	}
	if retryAt, loading := b.loading[r.ID]; r.Partial && (!loading || !retryAt.IsZero() && !time.Now().Before(retryAt)) {
		b.loading[r.ID] = time.Time{}
		id := r.ID
		return func() tea.Msg {
			whole, err := b.cfg.Whole(b.ctx, id)
			return wholeMsg{id, whole, err}
		}
	}
	if b.prompt == nil || b.offer != nil {
		first := b.scroll
		if first <= b.seen {
			b.seen = max(b.seen, min(first+b.detailHeight(), len(b.detail())))
		}
	}
	if b.prompt == nil {
		b.cfg.Showed(r)
	}
	return nil
}

// decided says how an answer of ours fared.
// index is the place of the selected request in the list, 0 where it is not there.
func (b *board) index() int {
	return max(0, slices.IndexFunc(b.requests, func(r *api.Request) bool { return r.ID == b.selected }))
}

// choose keeps the selected request, or takes the one at index i where it is gone.
func (b *board) choose(i int) {
	if b.current() != nil {
		return
	}
	b.offer = nil
	if len(b.requests) == 0 {
		b.typing = b.typing || b.prompt != nil
		b.selected, b.prompt = "", nil
		return
	}
	b.selected = b.requests[min(i, len(b.requests)-1)].ID
	b.typing = b.typing || b.prompt != nil
	b.prompt = nil
	b.comeUp()
}

// comeUp is for a request that comes on the screen.
func (b *board) comeUp() {
	b.cameUp = time.Now()
	b.scroll, b.seen, b.warned, b.asked = 0, 0, false, askedTwice{second: b.asked.second}
}

// current is the selected request, nil where none waits.
func (b *board) current() *api.Request {
	for _, r := range b.requests {
		if r.ID == b.selected {
			return r
		}
	}
	return nil
}

// say puts a line where the reader looks, for a while.
func (b *board) say(line string) { b.status, b.statusEnd = line, time.Now().Add(statusTime) }

func numberOf(r *api.Request) string {
	if r.Number == 0 {
		return show.Short(r.ID, 8)
	}
	return fmt.Sprint(r.Number)
}
