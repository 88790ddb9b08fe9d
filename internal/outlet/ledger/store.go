package ledger

import (
	"context"
	"errors"
	"time"

	"assent/internal/hook"
)

// Store adds mutations to the ledgers of their work trees, one transaction for each tree. It returns
// the errors by root; a tree that fails does not hold up the others: Store waits two seconds for locks
// in all, however many there are. Mutations without a root have no ledger.
func Store(ctx context.Context, list []hook.Mutation) (failed map[string]error) {
	return storeWithin(ctx, list, lockWait)
}

// storeWithin is Store that waits for locks for as long as wait.
func storeWithin(ctx context.Context, list []hook.Mutation, wait time.Duration) (failed map[string]error) {
	return store(list, wait, func(root string, some []hook.Mutation, wait time.Duration) error {
		return storeOne(ctx, root, some, wait)
	})
}

func store(list []hook.Mutation, wait time.Duration, one func(root string, some []hook.Mutation, wait time.Duration) error) (failed map[string]error) {
	for root, some := range byRoot(list) {
		begun := time.Now()
		err := one(root, some, wait)
		if errors.Is(err, ErrBusy) {
			wait = max(0, wait-time.Since(begun))
		}
		if err != nil {
			if failed == nil {
				failed = map[string]error{}
			}
			failed[root] = err
		}
	}
	return failed
}

func byRoot(list []hook.Mutation) map[string][]hook.Mutation {
	roots := map[string][]hook.Mutation{}
	for _, m := range list {
		if root := m.Repo.GitRoot; root != "" {
			roots[root] = append(roots[root], m)
		}
	}
	return roots
}

func storeOne(ctx context.Context, root string, list []hook.Mutation, wait time.Duration) error {
	l, err := open(root, wait)
	if err != nil {
		return err
	}
	return errors.Join(l.Add(ctx, list), l.Close())
}
