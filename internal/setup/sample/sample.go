// Package sample raises a request that no agent asks, through the hook client that agents run.
package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"assent/hookclient"
	"assent/internal/agent/claude"
	"assent/internal/hook"
)

// Raise puts a sample request, waits, and returns its id and what the agent would have been told,
// which is empty where nobody answered. announce is called, beside the wait, once the broker is asked; its ctx ends
// a little after the wait.
func Raise(ctx context.Context, kind string, cfg hookclient.Config, announce func(ctx context.Context, id string)) (id string, answered []byte, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", nil, fmt.Errorf("the directory we are in: %w", err)
	}
	event := claude.Sample(kind, hook.SampleSession+uuid.NewString(), dir, os.Getenv("HOME"))
	payload, err := json.Marshal(event)
	if err != nil {
		return "", nil, fmt.Errorf("encode the sample: %w", err)
	}
	in, err := pipeWith(payload)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	answer, err := os.CreateTemp("", "assent-simulate-*")
	if err != nil {
		return "", nil, fmt.Errorf("file for the answer: %w", err)
	}
	defer os.Remove(answer.Name())
	defer answer.Close()
	asked := cfg
	announced := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked.Asking = func(given string) {
		id = given
		go func() {
			defer close(announced)
			announce(ctx, given)
		}()
	}
	hookclient.Run(asked, in, answer)
	if id != "" {
		late := time.AfterFunc(2*time.Second, cancel)
		<-announced
		late.Stop()
	}
	if err := over(cfg, event); err != nil {
		return id, nil, err
	}
	if answered, err = os.ReadFile(answer.Name()); err != nil {
		return id, nil, fmt.Errorf("read the answer: %w", err)
	}
	return id, answered, nil
}

// over says that the sample's session is over: nothing else would, and it would seem to
// work for ever.
func over(cfg hookclient.Config, sample map[string]any) error {
	payload, err := json.Marshal(map[string]any{
		"session_id": sample["session_id"], "transcript_path": sample["transcript_path"], "cwd": sample["cwd"],
		"hook_event_name": hook.EventSessionEnd, "reason": "other",
	})
	if err != nil {
		return fmt.Errorf("encode the end of the sample: %w", err)
	}
	in, err := pipeWith(payload)
	if err != nil {
		return err
	}
	defer in.Close()
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("end the sample: %w", err)
	}
	defer nothing.Close()
	hookclient.Run(cfg, in, nothing)
	return nil
}

// pipeWith returns the reading end of a pipe that holds b, which must fit its buffer.
func pipeWith(b []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	defer w.Close()
	if _, err := w.Write(b); err != nil {
		r.Close()
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return r, nil
}
