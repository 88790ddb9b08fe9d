package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// script does what many people's hooks do today: a shell, jq and socat.
const script = `#!/usr/bin/env bash
set -eu
sock=$1
body=$(cat)
[ -n "$body" ] || exit 0
[ -S "$sock" ] || exit 0
jq -nc --arg type "$2" --arg at "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --argjson pid "$$" --argjson payload "$body" \
  '{type: $type, at: $at, pid: $pid, payload: $payload}' | socat - UNIX-CONNECT:"$sock" >/dev/null 2>&1
exit 0
`

// hookCost compares one plain event through assent-hook with an empty program, with the
// smallest shell command, and with the script, in turn, by the median of the paired ratios.
func (b *bench) hookCost() ([]row, error) {
	s, err := b.serve("")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	hook := filepath.Join(b.bin, "assent-hook")
	sh := filepath.Join(b.dir, "hook.sh")
	if err := os.WriteFile(sh, []byte(script), 0o700); err != nil {
		return nil, err
	}
	const runs = 150
	event := payload("PostToolUse", "bench", 1)
	quick, err := answerAtOnce(filepath.Join(b.dir, "quick.sock"))
	if err != nil {
		return nil, err
	}
	defer quick.Close()
	var ours, bare, empty, shell, scripted []time.Duration
	_, jq := exec.LookPath("jq")
	_, socat := exec.LookPath("socat")
	missing := errors.Join(jq, socat)
	for i := range runs + 10 {
		o, err := b.time(event, hook, "--socket", s.socket)
		if err != nil {
			return nil, err
		}
		q, err := b.time(event, hook, "--socket", quick.Addr().String())
		if err != nil {
			return nil, err
		}
		e, err := b.time(event, b.empty)
		if err != nil {
			return nil, err
		}
		h, err := b.time(event, "/bin/sh", "-c", "true")
		if err != nil {
			return nil, err
		}
		if i < 10 { // warm-up
			continue
		}
		ours, bare, empty, shell = append(ours, o), append(bare, q), append(empty, e), append(shell, h)
		if missing == nil && i%5 == 0 {
			c, err := b.time(event, sh, s.socket, "post_tool_use")
			if err != nil {
				return nil, err
			}
			scripted = append(scripted, c)
		}
	}
	m := quantile(ours, .5)
	re, rs := ratio(m, quantile(empty, .5)), ratio(m, quantile(shell, .5))
	rq, floor := ratio(quantile(bare, .5), quantile(empty, .5)), ratio(quantile(empty, .5), quantile(shell, .5))
	rows := []row{
		{"`assent-hook`, plain event over the socket, against an empty Go program", fmt.Sprintf("%.2f×", re), "≤ 1.6×", re <= 1.6},
		{"… the client alone, with a listener that answers at once", fmt.Sprintf("%.2f×", rq), "≤ 1.6×", rq <= 1.6},
		{fmt.Sprintf("… against `sh -c true` (the empty Go program: %.2f×)", floor), fmt.Sprintf("%.2f×", rs), "≤ 1.3×", rs <= 1.3},
	}
	if missing != nil {
		rows = append(rows, row{"… against a bash, jq and socat script", fmt.Sprintf("%v: %v", errMissing, missing), "≥ 12× cheaper", false})
	} else {
		rc := ratio(quantile(scripted, .5), m)
		rows = append(rows, row{"… against a bash, jq and socat script", fmt.Sprintf("%.1f× cheaper", rc), "≥ 12× cheaper", rc >= 12})
	}
	fi, err := os.Stat(hook)
	if err != nil {
		return nil, err
	}
	mb := float64(fi.Size()) / 1e6
	return append(rows, row{"size of `assent-hook`", fmt.Sprintf("%.2f MB", mb), "≤ 2.5 MB", mb <= 2.5}), nil
}

// answerAtOnce listens on a unix socket and takes every event without looking at it.
func answerAtOnce(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // ends with the listener
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	return l, nil
}

// time runs a command as a whole process, input on a pipe as an agent gives it.
func (b *bench) time(input []byte, name string, args ...string) (time.Duration, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"HOME=" + b.dir, "XDG_STATE_HOME=" + filepath.Join(b.dir, "xdg"), "PATH=" + os.Getenv("PATH"), "HOOKD_SOCKET=" + b.hookd()}
	cmd.Dir = b.dir
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if _, err := w.Write(input); err != nil {
		return 0, err
	}
	w.Close()
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout = r, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	d := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if out.Len() > 0 {
		return 0, fmt.Errorf("%s printed %q for a plain event", name, out.Bytes())
	}
	return d, nil
}
