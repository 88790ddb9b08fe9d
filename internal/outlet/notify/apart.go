package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"assent/internal/host/said"
)

// A service of a notice is spoken to by other people's code, so each delivery is a process of its own.

// job is what that process reads.
type job struct {
	URL  string `json:"url"`
	Text string `json:"text"`
}

// ErrNoJob says that the process was started by somebody who does not know what it wants.
var ErrNoJob = errors.New(`want {"url":…,"text":…} on stdin`)

// DeliverBy hands text to the service of a URL through a program that calls DeliverOne, which ends with ctx.
func DeliverBy(ctx context.Context, program *exec.Cmd, url, text string) error {
	in, err := json.Marshal(job{url, text})
	if err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	cmd := exec.CommandContext(ctx, program.Path, program.Args[1:]...)
	cmd.Stdin = bytes.NewReader(in)
	stderr := &said.Output{Most: 4 << 10}
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	// Certificates, proxies and the home of the state directory; nothing that could hold it up.
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=64MiB")
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" && ctx.Err() == nil {
			return errors.New(strings.TrimPrefix(text, "assent: "))
		}
		return fmt.Errorf("send a notice: %w", err)
	}
	return nil
}

// DeliverOne delivers what DeliverBy wrote.
func DeliverOne(in io.Reader) error {
	var j job
	if err := json.NewDecoder(io.LimitReader(in, 64<<10)).Decode(&j); err != nil {
		return fmt.Errorf("%w: %w", ErrNoJob, err)
	}
	return Deliver(j.URL, j.Text)
}
