package history

import (
	"context"
	"database/sql"
)

// statements are prepared once for the connection that writes.
type statements struct {
	all []*sql.Stmt

	cursor, event, feed, text, raw                 *sql.Stmt
	request, requestKey, settle, decision, allowed *sql.Stmt
	allowedRow, message                            *sql.Stmt
	byID, byKey, newSession, saveSession           *sql.Stmt
}

func (s *statements) prepare(conn *sql.Conn) error {
	for _, x := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.cursor, `UPDATE cursor SET event = ?, record = ?, after = ?, clock = ?, fold = ?, event_stream = ?, record_stream = ?`},
		{&s.event, `INSERT OR REPLACE INTO events (seq, session) VALUES (?, ?)`},
		{&s.feed, `INSERT INTO feed (session, pos, event, at, text, body) VALUES (?, ?, ?, ?, ?, ?)`},
		{&s.text, `INSERT INTO search (rowid, text) VALUES (?, ?)`},
		{&s.raw, `INSERT INTO raw (id, body, submitter) VALUES (?, ?, ?)`},
		{&s.request, `INSERT OR REPLACE INTO requests (id, session, event, tool, asked, at, repo, summary, text, unattended, input,
			settled, outcome, by_kind, by_name, reason, verified, edited, wanted, answers, changes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.requestKey, `SELECT session FROM requests WHERE id = ?`},
		{&s.settle, `UPDATE requests SET settled = ?, outcome = ?, by_kind = ?, by_name = ?, reason = ?, verified = ? WHERE id = ? AND settled = 0`},
		{&s.allowed, `UPDATE requests SET edited = ?1, answers = ?2, wanted = iif(?1 AND ?3 <> '', summary, ''), summary = iif(?1 AND ?3 <> '', ?3, summary), text = text || ?4, changes = iif(?1, ?5, '')
			WHERE id = ?6 AND edited = 0 AND answers = ''`},
		{&s.allowedRow, `SELECT tool, repo, input FROM requests WHERE id = ? AND ` + byPerson},
		{&s.decision, `INSERT OR REPLACE INTO decisions (request, record, step, time, by_kind, by_name, outcome, reason, message)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.message, `INSERT OR REPLACE INTO messages (id, session, at, sent) VALUES (?, ?, ?, ?)`},
		{&s.byID, `SELECT key, id, event, at, pos, fold FROM sessions WHERE id = ?`},
		{&s.byKey, `SELECT key, id, event, at, pos, fold FROM sessions WHERE key = ?`},
		{&s.newSession, `INSERT INTO sessions (id, event, at, pos, info) VALUES (?, 0, 0, 0, x'')`},
		{&s.saveSession, `UPDATE sessions SET event = ?, at = ?, pos = ?, fold = ?, info = ? WHERE key = ?`},
	} {
		var err error
		if *x.to, err = conn.PrepareContext(context.Background(), x.text); err != nil {
			return err
		}
		s.all = append(s.all, *x.to)
	}
	return nil
}

func (s *statements) close() {
	for _, x := range s.all {
		_ = x.Close()
	}
}
