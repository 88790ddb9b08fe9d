package hookd

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"assent/internal/agent/agents"
	"assent/internal/agent/claude"
	"assent/internal/hook"
	"assent/internal/host/gitrepo"
	"assent/internal/text/show"
)

const (
	// maxQueue and maxQueueBytes bound what is read and not published yet. Connections wait while
	// it is full.
	maxQueue      = 16 << 10
	maxQueueBytes = 64 << 20
	// publishTime bounds how long an event waits for the stream.
	publishTime = 5 * time.Second
	// coolDown is how long the stream is left alone after it took no event.
	coolDown = time.Second
)

// enqueue puts a copy of a line into the queue.
func (r *Receiver) enqueue(line []byte) {
	if err := r.budget.Acquire(context.Background(), int64(len(line))); err != nil {
		r.lose(err.Error()) // never: there is room for the longest line
		return
	}
	r.queue <- bytes.Clone(line)
}

// handOn makes events of lines until the queue is closed. When ctx has been done for a while it
// does not wait for the stream any more.
func (r *Receiver) handOn(ctx context.Context) {
	var since time.Time
	for line := range r.queue {
		if ctx.Err() != nil {
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) > closing {
				r.broke = time.Now()
			}
		}
		r.take(line)
		r.budget.Release(int64(len(line)))
	}
}

// take makes an event of a line and hands it on.
func (r *Receiver) take(line []byte) {
	e, cwd, err := claude.Envelope(line)
	if err != nil {
		r.unreadable.Inc()
		r.warn("hookd socket %s: a line of %d bytes: %s; it is in the event stream as it came", show.Line(r.cfg.Path), len(line), show.Line(err.Error()))
	}
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Origin.Host, e.Submitter = r.cfg.Host, r.cfg.Submitter
	p, _ := agents.Reader(e.Agent).Decode(e.Type, e.Raw) // what is readable counts
	if repo := &e.Origin.Repo; repo.Root != "" {
		repo.Remote = gitrepo.StripCredentials(repo.Remote)
	} else if e.Type != claude.Unknown {
		*repo = r.repos.Find(directory(e, p, cwd))
	}
	r.deliver(p.SessionID, e)
	r.events.Inc()
}

// deliver publishes an event or, while that is not possible, keeps it on disk.
func (r *Receiver) deliver(session string, e hook.Event) {
	// Behind events of the same session that wait on disk, this one waits too.
	if kept, err := r.cfg.Keep(session, e, false); kept && err == nil {
		return
	}
	err := errors.New("the stream took none just now")
	if time.Since(r.broke) > coolDown {
		ctx, cancel := context.WithTimeout(context.Background(), publishTime)
		defer cancel()
		if _, err = r.cfg.Publish(ctx, e); err == nil {
			return
		}
		r.broke = time.Now()
	}
	if kept, keepErr := r.cfg.Keep(session, e, true); !kept || keepErr != nil {
		r.lose(errors.Join(err, keepErr).Error())
	}
}
