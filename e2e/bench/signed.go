package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/devicekey"
	"assent/internal/hook"
)

// signed measures what the tree over the record and signatures cost a decision: from an approver's POST to the exit of the waiting
// hook process, of a signed decision at a broker with a tree, against one that nobody signed at a broker without. They take turns,
// on the same disk. Nothing turns the tree off in a program that is released, so both are built with the tag mutants.
func (b *bench) signed() ([]row, error) {
	m := *b
	m.bin = filepath.Join(b.dir, "mutants")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "mutants", "-o", m.bin+"/assent", "./cmd/assent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build a broker without a tree: %w: %s", err, out)
	}
	with, err := m.decider(true)
	if err != nil {
		return nil, err
	}
	defer with.stop()
	without, err := m.decider(false)
	if err != nil {
		return nil, err
	}
	defer without.stop()
	runs, warm := 500, 20
	if b.long {
		runs = 3000
	}
	times := map[*decider][]time.Duration{}
	for i := range runs + warm {
		turns := []*decider{with, without}
		if i%2 == 1 { // neither always comes behind the other's writes
			turns[0], turns[1] = without, with
		}
		for _, d := range turns {
			took, err := d.decide(filepath.Join(b.bin, "assent-hook"), b.dir, i)
			if err != nil {
				return nil, err
			}
			if i >= warm {
				times[d] = append(times[d], took)
			}
		}
	}
	var c struct{ Note string }
	if code, err := with.call("GET", "/v1/audit/checkpoint", nil, &c); err != nil || code != http.StatusOK || strings.Contains(c.Note, "\n1\n") {
		return nil, errors.Join(err, fmt.Errorf("the broker with a tree has none: status %d %q", code, c.Note))
	}
	if code, err := without.call("GET", "/v1/audit/checkpoint", nil, nil); err != nil || code != http.StatusServiceUnavailable {
		return nil, errors.Join(err, fmt.Errorf("the broker without a tree has one: status %d", code))
	}
	of := func(q float64) float64 { return ratio(quantile(times[with], q), quantile(times[without], q)) }
	r50 := of(.5)
	return []row{{fmt.Sprintf("a decision with tree and signature → hook exited, p50 (p90 %.2f×; against the same with neither)", of(.9)), fmt.Sprintf("%.2f×", r50), "≤ 1.1×", r50 <= 1.1}}, nil
}

// decider is a broker, and whoever decides there.
type decider struct {
	*server
	key *devicekey.Key // nil: nothing is signed
}

func (b *bench) decider(signed bool) (*decider, error) {
	m := *b
	if !signed {
		m.env = []string{"ASSENT_MUTANT=no-tree"}
	}
	s, err := m.serve(filepath.Join(b.dir, fmt.Sprintf("signed-%t", signed)))
	if err != nil {
		return nil, err
	}
	d := &decider{server: s}
	b.brokers = m.brokers // by whose number the socket is named
	body := map[string]any{"role": "approve", "name": "decider"}
	if signed {
		if d.key, err = devicekey.New(); err != nil {
			s.stop()
			return nil, err
		}
		body["publicKey"] = d.key.JWK()
	}
	var made struct{ Token string }
	if code, err := s.call("POST", "/v1/tokens", body, &made); err != nil || code != http.StatusCreated {
		s.stop()
		return nil, errors.Join(err, fmt.Errorf("make a token: status %d", code))
	}
	s.token = made.Token
	return d, nil
}

// decide has a hook ask, allows it, and says how long that took from the approver's POST to the end of the hook.
func (d *decider) decide(program, home string, i int) (time.Duration, error) {
	cmd := exec.Command(program, "--socket", d.socket, "--timeout", "60s")
	cmd.Env = []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "xdg")}
	cmd.Stdin = bytes.NewReader(payload("PermissionRequest", "bench", i))
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	exited := make(chan time.Time, 1)
	go func() { _ = cmd.Wait(); exited <- time.Now() }()
	ps, err := d.waitPending(1, 10*time.Second)
	if err != nil {
		return 0, errors.Join(err, cmd.Process.Kill())
	}
	body := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: ps[0].InputSHA256}
	if d.key != nil {
		body.Shown, body.SignedAt = `{"risk":"normal","sentence":"Creates out.txt","tool":"Bash","cwd":"/home/dev/project"}`, time.Now().UTC().Format(time.RFC3339Nano)
		if body.Signature, err = d.key.Sign(auth.DecisionText(ps[0].ID, body)); err != nil {
			return 0, errors.Join(err, cmd.Process.Kill())
		}
	}
	begun := time.Now()
	code, err := d.call("POST", "/v1/requests/"+ps[0].ID+"/decision", body, nil)
	if err != nil || code != http.StatusOK {
		return 0, errors.Join(err, fmt.Errorf("decision: status %d", code), cmd.Process.Kill())
	}
	took := (<-exited).Sub(begun)
	if !bytes.Contains(out.Bytes(), []byte(`"allow"`)) {
		return 0, fmt.Errorf("the hook printed %q", out.Bytes())
	}
	return took, nil
}
