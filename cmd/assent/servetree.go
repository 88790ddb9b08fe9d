package main

import (
	"context"

	"assent/internal/hook"
	"assent/internal/screens"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

// openTree opens the tree over the record; nil where the record is damaged: nothing follows that.
func openTree(ctx context.Context, stateDir string, f *serveFlags, streams *stream.Stream, logf func(string, ...any)) (*tree.Log, error) {
	if streams.Damage() != nil || hook.Mutant("no-tree") { // which bench compares with
		return nil, nil
	}
	key, err := tree.LoadKey(stateDir)
	if err != nil {
		return nil, err
	}
	return tree.Open(ctx, tree.Config{Store: streams, Key: key, Decode: stream.DecodeEntry, Shared: f.natsURL != "", Repair: f.repair, Logf: logf})
}

// forgetting is streams.Forget, after the tree has said what is going to be removed, and no more comes to that.
func forgetting(t *tree.Log, streams *stream.Stream, seen *screens.Recorder) func(context.Context, []uint64, []string, func(hook.Event) bool) error {
	return func(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error {
		seen.Forget(requests)
		// Messages go first: they may still take steps, and the tree has to know of each entry that goes.
		messages, rest := []string(nil), []string(nil)
		for _, id := range requests {
			if _, ok := hook.MessageOfRecord(id); ok {
				messages = append(messages, id)
			} else {
				rest = append(rest, id)
			}
		}
		if err := forgettingEntries(t, streams)(ctx, messages); err != nil {
			return err
		}
		if t != nil {
			if err := t.Forget(ctx, rest); err != nil {
				return err
			}
		}
		return streams.Forget(ctx, events, rest, isIts)
	}
}

// forgettingEntries removes what stands in the record under these ids, after the tree has said so.
func forgettingEntries(t *tree.Log, streams *stream.Stream) func(context.Context, []string) error {
	return func(ctx context.Context, ids []string) error {
		if len(ids) == 0 {
			return nil
		}
		if t != nil {
			if err := t.Forget(ctx, ids); err != nil {
				return err
			}
		}
		return streams.Forget(ctx, nil, ids, nil)
	}
}
