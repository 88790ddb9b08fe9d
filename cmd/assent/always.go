package main

import (
	"context"
	"errors"
	"fmt"

	"assent/broker"
	"assent/internal/hook"
	"assent/internal/policy/grants"
	"assent/internal/policy/suggest"
	"assent/internal/server"
)

// remembered hands what approvers saved to the server, which knows no rules.
type remembered struct {
	store    *grants.Store
	proposer *suggest.Proposer
}

func (r remembered) Propose(ctx context.Context, req *hook.Request) (hook.Proposals, error) {
	return r.proposer.Propose(ctx, req)
}

func (r remembered) Find(ctx context.Context, req *hook.Request, digest string) (hook.Saved, error) {
	x, ok := r.proposer.Find(ctx, req, digest)
	if !ok {
		return x, server.ErrNoProposal
	}
	return x, nil
}

func (r remembered) Save(ctx context.Context, x hook.Saved) (hook.Saved, error) {
	x, err := r.store.Save(ctx, x)
	return x, savedError(err)
}

func (r remembered) Revoke(ctx context.Context, kind, id string, by hook.Approver) (hook.Saved, error) {
	x, err := r.store.Revoke(ctx, kind, id, by)
	return x, savedError(err)
}

func (r remembered) Use(ctx context.Context, requestID string, ids []string) error {
	return savedError(r.store.Use(ctx, requestID, ids))
}

func (r remembered) List(kind string) []hook.Saved { return r.store.List(kind) }

// savedError says in the server's words what the store says.
func savedError(err error) error {
	for is, says := range map[error]error{
		grants.ErrNotFound: server.ErrNoSaved, grants.ErrFull: server.ErrSavedFull,
		grants.ErrBefore: server.ErrSavedBefore, grants.ErrOver: server.ErrSavedOver, grants.ErrUnavailable: broker.ErrUnavailable,
	} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", says, err)
		}
	}
	return err
}

// endedOf reads the requests that are over, the newest first, some at a time.
func endedOf(b *broker.Broker) suggest.Ended {
	const page = 50
	return func(ctx context.Context, visit func(*hook.Request, hook.Outcome) bool) (bool, error) {
		for before := uint64(0); ; {
			views, err := b.Ended(ctx, before, page)
			if err != nil {
				return false, err
			}
			for i := range views {
				if !visit(&views[i].Request, views[i].Outcome) {
					return false, nil
				}
				before = views[i].SettledSeq
			}
			if len(views) == 0 {
				return true, nil
			}
		}
	}
}
