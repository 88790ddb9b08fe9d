package grants

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"assent/internal/hook"
	"assent/internal/policy"
)

// usage is that since the start. It is not written use by use, as the count of a grant is.
type usage struct {
	count   int
	request string // the last one
	at      time.Time
}

// addUsesLocked brings what x says of its uses up to date.
func (s *Store) addUsesLocked(x *hook.Saved) {
	u := s.uses[x.ID]
	x.Used = max(x.Used, u.count, len(x.Spent))
	if u.at.After(x.LastUsed) {
		x.LastUsed = u.at
	}
}

// used notes that these allowed the request.
func (s *Store) used(requestID string, ids map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range ids {
		if u := s.uses[id]; u.request != requestID {
			s.uses[id] = usage{u.count + 1, requestID, time.Now().UTC()}
		}
	}
}

// Redeem is Use for who asks the rules again when a grant is over: false without an error says that.
func (s *Store) Redeem(ctx context.Context, requestID string, ids []string) (bool, error) {
	err := s.Use(ctx, requestID, ids)
	if errors.Is(err, ErrOver) {
		return false, nil
	}
	return err == nil, err
}

// Use says whether what was saved under these ids may allow the request, and counts it: once for
// a request, however often it is asked about. ErrOver: one of them is over, and other rules are
// in force by now. Any other error: nobody knows. With an error nothing may be allowed.
func (s *Store) Use(ctx context.Context, requestID string, ids []string) error {
	used := map[string]bool{}
	for _, id := range ids {
		id, _, _ = strings.Cut(id, "/")
		if used[id] {
			continue
		}
		used[id] = true
		_, err := s.change(ctx, id, func(x *hook.Saved) error {
			spent := slices.Contains(x.Spent, requestID)
			if state := x.State(time.Now()); state != hook.StateActive && !(state == hook.StateSpent && spent) {
				return ErrOver
			}
			if x.Count == 0 || spent {
				return errUnchanged
			}
			x.Spent, x.LastUsed = append(x.Spent, requestID), time.Now().UTC()
			return nil
		})
		switch {
		case errors.Is(err, ErrNotFound):
			err = ErrOver
			fallthrough
		case errors.Is(err, ErrOver):
			s.tell() // a time that has come changes no entry
			return err
		case err != nil:
			return err
		}
	}
	s.used(requestID, used)
	return nil
}

// Sources are the rules in force. Grants come after rules that last.
func (s *Store) Sources() []policy.Source {
	var all []policy.Source
	for _, kind := range []string{hook.SavedRule, hook.SavedGrant} {
		list := s.active(kind)
		if len(list) == 0 {
			continue
		}
		name := s.cfg.File
		if kind == hook.SavedGrant || name == "" {
			name = kind + "s of approvers"
		}
		text := Document(list)
		if kind == hook.SavedRule {
			text = fileHead + text // as it stands in the file, line by line
		}
		all = append(all, policy.Source{Name: name, Layer: policy.Assent, Data: []byte(text)})
	}
	return all
}

// Outstanding returns the rules of grants that are spent and were counted for this request, nil
// without any. A request needs them that comes back because its broker was killed between the
// count and the answer.
func (s *Store) Outstanding(requestID string) []policy.Source {
	now := time.Now()
	var list []hook.Saved
	s.mu.Lock()
	for _, e := range s.entries {
		if e.State(now) == hook.StateSpent && slices.Contains(e.Spent, requestID) {
			list = append(list, e)
		}
	}
	s.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return []policy.Source{{Name: hook.SavedGrant + "s of approvers", Layer: policy.Assent, Data: []byte(Document(list))}}
}
