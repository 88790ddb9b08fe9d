package tree

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// readTimeout bounds how long a call waits until the tree has what the record has.
const readTimeout = 10 * time.Second

// readUntil waits until the entry seq is read.
func (l *Log) readUntil(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for {
		l.mu.Lock()
		done, stopped, moved := l.read.Seq >= seq, l.stopped, l.moved
		l.mu.Unlock()
		switch {
		case done:
			return nil
		case stopped != nil:
			return stopped
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("entry %d: %w (%w)", seq, ErrBehind, ctx.Err())
		}
	}
}

// Forget seals that these entries are going to be removed, and the entries themselves before: what is verified later knows that they
// were removed on purpose. Only they may be removed then: of an entry that comes after the call the tree does not say it. A tree that has
// stopped lets everything be forgotten, unsaid.
func (l *Log) Forget(ctx context.Context, seqs []uint64) error {
	var leaves []Leaf
	for _, seq := range seqs {
		if seq >= l.start {
			leaves = append(leaves, Leaf{Kind: KindForgotten, Seq: seq})
		}
	}
	if len(leaves) == 0 {
		return nil
	}
	slices.SortFunc(leaves, func(a, b Leaf) int { return int(int64(a.Seq) - int64(b.Seq)) })
	err := l.readUntil(ctx, leaves[len(leaves)-1].Seq)
	if err == nil {
		l.mu.Lock()
		for _, leaf := range leaves {
			l.pushLocked(leaf)
		}
		err = l.sealLocked(ctx)
		l.mu.Unlock()
	}
	if stopped := l.Stopped(); stopped != nil {
		l.cfg.Logf("tree: %d entries are forgotten without a word in the tree: %v", len(leaves), stopped)
		return nil
	}
	return err
}
