package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"assent/internal/audit"
	"assent/internal/hook"
	"assent/internal/store/stream"
	"assent/internal/store/tree"
)

// TestForgottenMeanwhile: what another broker records of a request when the tree has said that its entries go, and they are not gone yet, is
// forgotten as they are, and not missing.
func TestForgottenMeanwhile(t *testing.T) {
	dir := t.TempDir()
	streams, err := stream.Open(t.Context(), stream.Config{Dir: dir, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = streams.Close() })
	log, err := openTree(t.Context(), dir, &serveFlags{}, streams, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = log.Run(ctx) })
	defer running.Wait()
	defer stop()

	write := func(rec hook.Record, after uint64) uint64 {
		t.Helper()
		rec.ID, rec.Time = uuid.NewString(), time.Now().UTC()
		seq, err := streams.Append(t.Context(), rec, after)
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	id := uuid.NewString()
	asked := write(hook.Record{RequestID: id, Step: hook.StepAsked, Request: &hook.Request{ID: id, SessionID: "s", Agent: "claude", ToolName: "Bash", Raw: []byte(`{}`)}}, 0)
	ended := write(hook.Record{RequestID: id, Step: hook.StepEnded, Outcome: hook.Expired}, asked)
	said := 0
	say := func(ctx context.Context, entries []uint64) error {
		err := saysIn(log)(ctx, entries)
		if said++; said == 1 {
			write(hook.Record{RequestID: id, Step: hook.StepDelivered}, ended)
			write(hook.Record{RequestID: hook.ShownEntry(id), Step: hook.StepShown, By: &hook.Approver{Kind: hook.KindOwner}}, 0)
		}
		return err
	}
	if err := streams.Forget(t.Context(), nil, []string{id}, nil, say); err != nil {
		t.Fatal(err)
	}

	var export bytes.Buffer
	if err := log.Export(t.Context(), time.Time{}, tree.NewLineWriter(&export)); err != nil {
		t.Fatal(err)
	}
	public, err := log.Public()
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := audit.VerifyLines(&export, audit.VerifyOptions{Keys: []note.Verifier{key}, Decode: log.Decode})
	if err != nil || !rep.OK() || rep.Forgotten != 4 || rep.Entries != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}
