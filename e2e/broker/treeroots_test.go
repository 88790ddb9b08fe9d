package broker

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"assent/e2e/rig"
	"assent/internal/freeport"
	"assent/internal/hook"
	"assent/internal/store/tree"
)

// TestRootsDiffer: two brokers share a record, and somebody with the rights of a third one seals an entry as something else than it
// is, with leaves, root and checkpoint that fit each other. Both brokers say so, seal nothing behind it, and answer requests as ever.
func TestRootsDiffer(t *testing.T) {
	t.Parallel()
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	url := "nats://" + freeport.Address(ports[0])
	rig.NATS(t, rig.TempDir(t), ports[0])
	both := []*rig.Daemon{rig.Serve(t, "--nats-url", url), rig.Serve(t, "--nats-url", url)}
	for _, d := range both {
		d.Command("audit", "checkpoint") // nothing is waiting for one
	}
	answers := func(d *rig.Daemon) {
		t.Helper()
		h := d.Hook(rig.Bash("s", "make it"))
		d.Deny(d.WaitPending(1)[0], "no")
		h.Wait()
	}
	answers(both[0])
	sealsAnother(t, url)
	for i, d := range both {
		rig.Eventually(t, rig.Soon, fmt.Sprintf("broker %d says that the roots differ", i), func() bool {
			out := d.Refused(1, "audit", "checkpoint")
			return strings.Contains(out, "another broker has sealed entry 1 of the record as something else than this one reads")
		})
		doctor := exec.Command(rig.Program("assent"), "doctor", "--state-dir", d.State)
		doctor.Env = d.Env()
		if out, _ := doctor.CombinedOutput(); !strings.Contains(string(out), "another broker has sealed entry 1") { // other checks may fail or not
			t.Errorf("doctor at broker %d: %s", i, out)
		}
	}
	answers(both[1])
}

// sealsAnother appends a block to the tree that says of entry 1 that it is another, signed with a key of its own.
func sealsAnother(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(t.Context(), "AUDIT")
	if err != nil {
		t.Fatal(err)
	}
	info, err := st.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.GetMsg(t.Context(), info.State.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	b := map[string]any{}
	var is struct {
		Size   int64       `json:"size"`
		Edge   []tlog.Hash `json:"edge"`
		Leaves []string    `json:"leaves"`
		Note   string      `json:"checkpoint"`
	}
	for _, into := range []any{&b, &is} {
		if err := json.Unmarshal(m.Data, into); err != nil {
			t.Fatal(err)
		}
	}
	before, err := tree.OpenCheckpoint(is.Note)
	if err != nil {
		t.Fatal(err)
	}
	edge := tree.Edge{Size: is.Size, Hashes: is.Edge}
	for _, l := range is.Leaves {
		leaf, err := tree.ParseLeaf(l)
		if err != nil {
			t.Fatal(err)
		}
		edge.Append(leaf.Hash(), nil)
	}
	b["size"], b["edge"], b["record"] = edge.Size, slices.Clone(edge.Hashes), 1
	lie := tree.Leaf{Kind: tree.KindRecord, Seq: 1, Request: "r", Step: hook.StepAsked, Time: before.Time}
	edge.Append(lie.Hash(), nil)
	root := edge.Root()
	secret, _, err := note.GenerateKey(rand.Reader, before.Origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\nrecord 1\nlast %s\n", before.Origin, edge.Size, base64.StdEncoding.EncodeToString(root[:]), before.Time.Format("2006-01-02T15:04:05Z"), before.Sum())
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		t.Fatal(err)
	}
	b["leaves"], b["checkpoint"] = []string{lie.Text()}, string(signed)
	body, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), m.Subject, body); err != nil {
		t.Fatal(err)
	}
}
