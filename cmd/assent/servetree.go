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

// forgetting is streams.Forget of whose entries the tree says that they go, and no more comes to who had the requests on the screen.
func forgetting(t *tree.Log, streams *stream.Stream, seen *screens.Recorder) func(context.Context, []uint64, []string, func(hook.Event) bool) error {
	return func(ctx context.Context, events []uint64, requests []string, isIts func(hook.Event) bool) error {
		seen.Forget(requests)
		return streams.Forget(ctx, events, requests, isIts, saysIn(t))
	}
}

// forgettingEntries is forgetting of what stands in the record under these ids alone.
func forgettingEntries(t *tree.Log, streams *stream.Stream) func(context.Context, []string) error {
	return func(ctx context.Context, ids []string) error {
		return streams.Forget(ctx, nil, ids, nil, saysIn(t))
	}
}

// saysIn says in the tree that entries go; nil where there is none.
func saysIn(t *tree.Log) func(context.Context, []uint64) error {
	if t == nil {
		return nil
	}
	return t.Forget
}
