package ledger

import (
	"context"
	"errors"

	"assent/internal/hook"
)

// Store adds mutations to the ledgers of their work trees, those of one in one transaction. What it
// could not store it tells by root; the others are not held up by that. Mutations without a root
// have no ledger.
func Store(ctx context.Context, list []hook.Mutation) (failed map[string]error) {
	for root, some := range byRoot(list) {
		if err := storeOne(ctx, root, some); err != nil {
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

func storeOne(ctx context.Context, root string, list []hook.Mutation) error {
	l, err := Open(root)
	if err != nil {
		return err
	}
	return errors.Join(l.Add(ctx, list), l.Close())
}
