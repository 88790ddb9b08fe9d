package history

import (
	"context"
	"database/sql"
	"errors"

	"assent/internal/hook"
)

// requests are the rows of a transaction's requests. A request is often asked, decided and delivered within one
// transaction under load, and its row is then written once, as it stands at the end. It makes no difference to the file.
type requests struct {
	rows    map[string]*requestRow // asked since begin; not in the file
	order   []string               // of rows, as they were asked
	settled []string               // since begin
	// of is the session of requests that were asked not long ago, at most maxAsked of them: the records behind
	// asked need not look for it in the file.
	of map[string]int64
}

// maxAsked bounds requests.of; beyond it all are forgotten, and read from the file.
const maxAsked = 4096

func (q *requests) init() { *q = requests{rows: map[string]*requestRow{}, of: map[string]int64{}} }

func (q *requests) begin() {
	clear(q.rows)
	q.order, q.settled = q.order[:0], q.settled[:0]
}

// stored says that the file has all rows, and that some of them may be about to go.
func (q *requests) stored() {
	clear(q.rows)
	clear(q.of)
	q.order = q.order[:0]
}

// ask adds a request's row, in the place of one that there may be.
func (q *requests) ask(id string, row *requestRow) {
	if q.rows[id] == nil {
		q.order = append(q.order, id)
	}
	q.rows[id] = row
	if len(q.of) >= maxAsked {
		clear(q.of)
	}
	q.of[id] = row.session
}

// requestRow is a row of the table requests that is not in the file yet.
type requestRow struct {
	session                  int64
	event                    uint64
	tool                     string
	asked, at                int64
	repo, summary, text      string
	unattended               bool
	input                    []byte
	settled                  int64
	outcome                  hook.Outcome
	byKind, byName, reason   string
	verified                 bool
	edited                   bool
	wanted, answers, changes string
}

// allow does what the statement allowed does in the file.
func (row *requestRow) allow(edited bool, answers, summary, text, changes string) {
	if row.edited || row.answers != "" {
		return
	}
	row.edited, row.answers = edited, answers
	if edited && summary != "" {
		row.wanted, row.summary = row.summary, summary
	}
	row.text += text
	if edited {
		row.changes = changes
	}
}

// byPerson is the condition of that name.
func (row *requestRow) byPerson() bool {
	return row.outcome == hook.Allowed && !row.edited && (row.byKind == hook.KindDevice || row.byKind == hook.KindOwner) && len(row.input) > 0
}

// settle notes the first end of a request.
func (w *writer) settle(r *hook.Record, by hook.Approver) error {
	if row := w.requests.rows[r.RequestID]; row != nil {
		if row.settled == 0 {
			row.settled, row.outcome, row.byKind, row.byName, row.reason, row.verified = r.Time.UnixMilli(), r.Outcome, by.Kind, by.Who(), r.Reason, by.Verified
			w.requests.settled = append(w.requests.settled, r.RequestID)
		}
		return nil
	}
	res, err := w.do.settle.ExecContext(context.Background(), r.Time.UnixMilli(), r.Outcome, by.Kind, by.Who(), r.Reason, by.Verified, r.RequestID)
	if err != nil {
		return w.wrap(err)
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		w.requests.settled = append(w.requests.settled, r.RequestID)
	}
	return nil
}

// sessionOf returns the session of a request that was asked before, nil for any other.
func (w *writer) sessionOf(id string) (*session, error) {
	key, known := w.requests.of[id]
	if !known {
		err := w.do.requestKey.QueryRowContext(context.Background(), id).Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, w.wrap(err)
		}
	}
	return w.sessionByKey(key)
}

// saveRequests stores the rows.
func (w *writer) saveRequests() error {
	for _, id := range w.requests.order {
		x := w.requests.rows[id]
		if err := w.run(w.do.request, id, x.session, x.event, x.tool, x.asked, x.at, x.repo, x.summary, x.text, x.unattended, x.input,
			x.settled, x.outcome, x.byKind, x.byName, x.reason, x.verified, x.edited, x.wanted, x.answers, x.changes); err != nil {
			return err
		}
	}
	return nil
}
