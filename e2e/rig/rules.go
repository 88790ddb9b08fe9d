package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Saved is what the tests read of the API's Saved.
type Saved struct {
	ID    string   `json:"id"`
	State string   `json:"state"`
	By    Approver `json:"by"`
	Count int      `json:"count"`
	Spent int      `json:"spent"`

	ExpiresAt time.Time `json:"expiresAt"`
}

// Grants are what approvers saved.
func (d *Daemon) Grants() []Saved {
	d.T.Helper()
	var docs []json.RawMessage
	d.Get("/v1/grants", &docs)
	list := make([]Saved, len(docs))
	for i, doc := range docs {
		Valid(d.T, "Saved", doc)
		if err := json.Unmarshal(doc, &list[i]); err != nil {
			d.T.Fatal(err)
		}
	}
	return list
}

// Proposals returns the digests of a request's proposals, and why there is none.
func (d *Daemon) Proposals(id string) (digests []string, why string) {
	d.T.Helper()
	var doc json.RawMessage
	d.Get("/v1/requests/"+id+"/proposals", &doc)
	Valid(d.T, "Proposals", doc)
	var p struct {
		Reason    string
		Proposals []struct{ Digest string }
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		d.T.Fatal(err)
	}
	for _, x := range p.Proposals {
		digests = append(digests, x.Digest)
	}
	return digests, p.Reason
}

// Grant saves the narrowest proposal of a request, and answers the request with a denial, so that
// whatever is allowed is allowed by the grant.
func (d *Daemon) Grant(r Request, bounds map[string]any) Saved {
	d.T.Helper()
	digests, why := d.Proposals(r.ID)
	if len(digests) == 0 {
		d.T.Fatalf("no proposal: %s", why)
	}
	bounds["requestId"], bounds["inputSha256"], bounds["proposal"] = r.ID, r.InputSHA256, digests[0]
	status, body, err := d.Try("POST", "/v1/grants", bounds)
	if err != nil || status != http.StatusCreated {
		d.T.Fatalf("save a grant: %d %s %v", status, body, err)
	}
	Valid(d.T, "Saved", body)
	var x Saved
	if err := json.Unmarshal(body, &x); err != nil {
		d.T.Fatal(err)
	}
	d.Deny(r, "not this one")
	return x
}

// InForce is what the tests read of the API's Rules.
type InForce struct {
	Allowing bool `json:"allowing"`
	Problems []struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Message string `json:"message"`
	} `json:"problems"`
	Files []struct {
		Path     string    `json:"path"`
		Layer    string    `json:"layer"`
		State    string    `json:"state"`
		LoadedAt time.Time `json:"loadedAt"`
		// Signed is the signature of it, and SignatureProblem why one that is there does not count.
		Signed           json.RawMessage `json:"signed"`
		SignatureProblem string          `json:"signatureProblem"`
	} `json:"files"`
	Rules []struct {
		ID      string `json:"id"`
		Matches int    `json:"matches"`
	} `json:"rules"`
}

// RulesFile is the person's file of rules.
func (d *Daemon) RulesFile() string { return filepath.Join(d.Dir, ".config", "assent", "rules.yaml") }

// WriteRules puts a file in place as an editor does.
func (d *Daemon) WriteRules(text string) {
	d.T.Helper()
	path := d.RulesFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.T.Fatal(err)
	}
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		d.T.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		d.T.Fatal(err)
	}
}

// InForce is what the broker says about its rules.
func (d *Daemon) InForce() InForce {
	d.T.Helper()
	var doc json.RawMessage
	d.Get("/v1/rules", &doc)
	Valid(d.T, "Rules", doc)
	var f InForce
	if err := json.Unmarshal(doc, &f); err != nil {
		d.T.Fatal(err)
	}
	return f
}

// State is how a file of rules stands; "none" when there is none.
func (f InForce) State(path string) string {
	for _, x := range f.Files {
		if x.Path == path {
			return x.State
		}
	}
	return "none"
}

// SetRules writes the person's file and waits until the running broker has read it.
func (d *Daemon) SetRules(text string) {
	d.T.Helper()
	before := d.InForce()
	d.WriteRules(text)
	Eventually(d.T, Soon, "the file of rules was read", func() bool {
		now := d.InForce()
		loaded := func(f InForce) time.Time {
			for _, x := range f.Files {
				if x.Path == d.RulesFile() {
					return x.LoadedAt
				}
			}
			return time.Time{}
		}
		return loaded(now).After(loaded(before)) || len(now.Problems) > 0 && now.State(d.RulesFile()) != "none" && fmt.Sprint(now.Problems) != fmt.Sprint(before.Problems)
	})
}

// SomeRules are a file of rules of a person.
const SomeRules = `version: 1
allow: ["Bash(git status)"]
rules:
  - id: prod-db
    action: deny
    message: "Use the read replica: psql $REPLICA_URL"
    match: {command: {program: [psql, mysql], any_arg: ["*prod*"]}}
  - id: deploy
    action: ask
    note: "a deployment to production"
    timeout: 1s
    on_timeout: deny
    match: {command: {program: kubectl, args: [apply, ...]}}
`

// Said runs a command and returns all it printed.
func (d *Daemon) Said(args ...string) string {
	d.T.Helper()
	cmd := exec.Command(Program("assent"), append(args, "--state-dir", d.State)...)
	cmd.Env = d.Env()
	out, _ := cmd.CombinedOutput() // doctor ends with 1 when something is broken
	return string(out)
}
