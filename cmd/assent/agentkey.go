package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assent/internal/api"
	"assent/internal/auth"
	"assent/internal/auth/devicekey"
	"assent/internal/hook"
	"assent/internal/text/show"
)

func (a *app) agentKeyCmd() *cobra.Command {
	name := ""
	c := &cobra.Command{
		Use:   "key",
		Short: "Pair this terminal as a device that can start agents",
		Long: `Make a key for this terminal and pair the terminal as a device, or show the key that it already
has. A host obeys only what a paired device signed. It does not obey the broker's owner, whose
token any program of yours can read. The key is stored in agent-key.json beside assent's other
configuration files, readable by you only; but agents that run as you could read it too. So make
the key on a machine where no agent runs, or send messages from the page.

A terminal that reaches the broker with --url is listed as independent of the broker; a terminal
on the broker's machine is not (assent device list --help).

The terminal is let in with the role operate, like any device: with assent pair CODE --role
operate if it is the first device that may send text, otherwise on the page of a paired
administrator, under You, Devices. Then add the printed text to accept in agents.yaml on the host.`,
		Example: "  assent agent key\n  assent agent key --name laptop --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := agentKeyPath()
			if err != nil {
				return err
			}
			k, err := devicekey.Load(path)
			if errors.Is(err, fs.ErrNotExist) {
				k, err = a.pairTerminal(cmd.Context(), path, name)
			}
			if err != nil {
				return err
			}
			accept := "device:" + auth.Thumbprint(k.JWK())
			if a.json {
				return a.printJSON(struct {
					DeviceID string `json:"deviceId"`
					Accept   string `json:"accept"`
					Path     string `json:"path"`
				}{k.ID, accept, path})
			}
			fmt.Fprintln(a.out, accept)
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the device is called (default: this machine's terminal)")
	c.Flags().BoolVar(&a.json, "json", false, "print JSON: deviceId, accept, path")
	return c
}

func agentKeyPath() (string, error) {
	dir := configDir(os.Getenv)
	if dir == "" {
		return "", errors.New("there is no home directory, and so no place for agent-key.json: set HOME")
	}
	return filepath.Join(dir, "agent-key.json"), nil
}

// pairTerminal makes a key, has it let in, and keeps it.
func (a *app) pairTerminal(ctx context.Context, path, name string) (*devicekey.Key, error) {
	b, err := a.reach()
	if err != nil {
		return nil, err
	}
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		name = "terminal of " + host
	}
	k, err := devicekey.New()
	if err != nil {
		return nil, err
	}
	var start api.PairingStart
	if err := b.call(ctx, "POST", "/v1/pair/start", map[string]any{"publicKey": k.JWK(), "name": name, "codeOrigin": a.ownCode()}, &start); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.err, "This terminal's code is %s. Let it in with the role operate, within five minutes:\n  %s pair %[1]s --role operate\nor on the page of a paired administrator, under You, Devices. Waiting ...\n", show.Line(start.Code), typed())
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
		var d api.Device
		if err := b.call(ctx, "POST", "/v1/pair/poll", map[string]string{"secret": start.Secret}, &d); err != nil {
			return nil, err
		}
		if d.ID == "" {
			continue
		}
		k.ID = d.ID
		if !d.Role.Includes(auth.RoleOperate) {
			return nil, fmt.Errorf("this terminal was let in with the role %s, which sends nothing; remove it (assent device revoke %s), and begin again", show.Line(string(d.Role)), show.Line(d.ID))
		}
		return k, k.Save(path)
	}
}

// ownCode is what this terminal says of its code: whoever takes over a broker that was found by its state directory
// has this user's files, too, and so the program and the key.
func (a *app) ownCode() hook.CodeOrigin {
	if a.url == "" {
		return hook.CodeBroker
	}
	return hook.CodeIndependent
}

// asDevice is the broker, spoken to as the device that this terminal is paired as, and its key.
func (a *app) asDevice(ctx context.Context) (*client, *devicekey.Key, error) {
	path, err := agentKeyPath()
	if err != nil {
		return nil, nil, err
	}
	k, err := devicekey.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("a host obeys only what a paired device signed: pair this terminal with %s agent key, or send it from the page", typed())
	}
	if err != nil {
		return nil, nil, err
	}
	config, info, err := a.address()
	if err != nil {
		return nil, nil, err
	}
	b := newClient(config, info)
	var nonce api.Challenge
	err = b.call(ctx, "POST", "/v1/auth/challenge", map[string]string{"deviceId": k.ID}, &nonce)
	var bearer api.Bearer
	if err == nil {
		var signature string
		if signature, err = k.Sign(auth.ChallengeText(k.ID, nonce.Nonce)); err == nil {
			err = b.call(ctx, "POST", "/v1/auth/session", map[string]string{"deviceId": k.ID, "nonce": nonce.Nonce, "signature": signature}, &bearer)
		}
	}
	var p *api.Problem
	if errors.As(err, &p) && (p.Status == http.StatusUnauthorized || p.Status == http.StatusNotFound) {
		return nil, nil, fmt.Errorf("the broker does not know this terminal any more; remove %s, and pair it again: %s agent key", show.Line(path), typed())
	}
	if err != nil {
		return nil, nil, err
	}
	config.Token = bearer.Token
	return newClient(config, info), k, nil
}
