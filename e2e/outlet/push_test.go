package outlet

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"assent/e2e/rig"
	"assent/internal/api"
	"assent/internal/outlet/notify/notifytest"
)

// TestPhoneRings subscribes at a push service that decrypts what it gets, and checks the
// signature of who sent it.
func TestPhoneRings(t *testing.T) {
	t.Parallel()
	v, allow := rig.Vendor(t)
	d := rig.NewDaemon(t, allow)
	d.WriteRules(rig.SomeRules)
	d.Start()
	phone := d.PairBare("approve")
	browser := phone.Subscribe(v)

	// What a rule answers does not ring; what waits does, and its end replaces the notification.
	if out := d.Hook(rig.Bash("s1", "git status")).Wait(); out != rig.Allowed {
		t.Fatalf("the rule's answer is %q", out)
	}
	h := d.Hook(rig.Bash("s1", "echo secret-command"))
	r := d.WaitPending(1)[0]
	if m := rig.Arrived(t, v, 1); m.Type != "asked" || m.RequestID != r.ID || m.Waits != "permission" || m.Session != "" {
		t.Errorf("%+v", m)
	}
	d.Allow(r)
	h.Wait()
	if m := rig.Arrived(t, v, 2); m.Type != "settled" || len(m.Gone) != 1 || m.Gone[0].ID != r.ID || m.Gone[0].Outcome != "allowed" {
		t.Errorf("%+v", m)
	}
	d.Must("POST", "/v1/push/test", phone.Bearer(), nil, http.StatusNoContent, nil)
	if m := rig.Arrived(t, v, 3); m.Type != "test" {
		t.Errorf("%+v", m)
	}

	// The key and the subscription outlive a crash.
	key := phone.State().PublicKey
	d.Kill()
	d.Start()
	if s := phone.State(); s.PublicKey != key || !s.Subscribed {
		t.Errorf("after a crash: %+v", s)
	}
	h = d.Hook(rig.Bash("s1", "echo secret-again"))
	r = d.WaitPending(1)[0]
	if m := rig.Arrived(t, v, 4); m.RequestID != r.ID {
		t.Errorf("%+v", m)
	}

	// A browser that unsubscribed, and a device that was revoked, are told nothing more.
	other := d.PairBare("view")
	other.Subscribe(v)
	v.Unsubscribe(browser)
	d.Allow(r)
	h.Wait()
	rig.Eventually(t, rig.Soon, "the dead subscription is gone", func() bool { return !phone.State().Subscribed })
	d.Must("DELETE", "/v1/devices/"+phone.ID, "", nil, http.StatusNoContent, nil)
	h = d.Hook(rig.Bash("s1", "echo secret-third"))
	r = d.WaitPending(1)[0]
	if m := rig.Arrived(t, v, 5); m.RequestID != r.ID {
		t.Errorf("%+v", m)
	}
	d.Allow(r)
	h.Wait()
	if said := d.Out.Tail(1 << 20); strings.Contains(said, "/send/") {
		t.Errorf("the log shows an endpoint:\n%s", said)
	}
}

// TestPhoneRingsForAHostsAgent: a session whose budget is over rings, and leads to its session; nothing else travels.
func TestPhoneRingsForAHostsAgent(t *testing.T) {
	t.Parallel()
	v, allow := rig.Vendor(t)
	d := rig.NewDaemon(t, allow)
	d.Start()
	d.PairBare("operate").Subscribe(v)
	base, _ := d.Owner()
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+base[len("http"):]+"/v1/host/ws", http.Header{"Authorization": {"Bearer " + d.CreateToken("host", "box")}})
	if err != nil {
		t.Fatalf("%v (%v)", err, res)
	}
	defer conn.Close()
	const session = "25e5a0e9-68a9-4a0b-8f34-1d0e8a1b2c3d"
	event := api.AgentEvent{SessionID: session, Agent: "coder", Kind: api.AgentBlocked, Message: "secret words", Error: &api.AgentError{Code: "BUDGET"}, Timestamp: time.Now()}
	for _, f := range []api.HostFrame{
		{Type: api.HostHello, Host: "box", Version: "test", Agents: []api.Agent{{Name: "coder", Status: api.AgentIdle}}},
		{Type: api.HostEvent, ID: "e1", Event: &event}, {Type: api.HostEvent, ID: "e1", Event: &event}, // the first answer was lost
	} {
		if err := conn.WriteJSON(f); err != nil {
			t.Fatal(err)
		}
	}
	if m := rig.Arrived(t, v, 1); m.Type != "blocked" || m.Waits != "budget" || m.SessionID != session || m.Session != "" {
		t.Errorf("%+v", m)
	}
	d.Hook(rig.Bash("s1", "echo hello"))
	if m := rig.Arrived(t, v, 2); m.Type != "asked" {
		t.Errorf("%+v", m)
	}
	for _, g := range v.Got() {
		if strings.Contains(string(g.Plain), "secret") {
			t.Errorf("%s", g.Plain)
		}
	}
}

// TestPushReachesNothingInside: without being told, the broker sends to public addresses only.
func TestPushReachesNothingInside(t *testing.T) {
	t.Parallel()
	v, _ := rig.Vendor(t)
	d := rig.Serve(t)
	phone := d.PairBare("approve")
	browser := v.Subscribe(phone.State().PublicKey)
	for _, endpoint := range []string{browser.Endpoint, strings.Replace(browser.Endpoint, "http", "https", 1), "https://localhost/x", "https://169.254.169.254/latest/meta-data"} {
		doc := strings.Replace(string(browser.JSON()), browser.Endpoint, endpoint, 1)
		d.Must("PUT", "/v1/push", phone.Bearer(), phone.Change([]byte(doc), nil), http.StatusBadRequest, nil)
	}
	if phone.State().Subscribed {
		t.Error("it is subscribed")
	}
}

// TestPhoneIsToldWhatItIsAbout: a device that wants it is told what a request would do, without a secret,
// another is not, and both hear of a stop.
func TestPhoneIsToldWhatItIsAbout(t *testing.T) {
	t.Parallel()
	curious, allow := rig.Vendor(t)
	plain, allowPlain := rig.Vendor(t)
	d := rig.NewDaemon(t, allow, allowPlain)
	d.Start()
	phone, other := d.PairBare("approve"), d.PairBare("approve")
	phone.Subscribe(curious)
	other.Subscribe(plain)
	d.Must("PUT", "/v1/push", phone.Bearer(), phone.Change(nil, []byte(`{"afterSeconds":0,"showContent":true,"showSentence":true}`)), http.StatusOK, nil)
	h := d.Hook(rig.Bash("s1", "git push https://git.example.com/dev/app?x=hunter2 main"))
	r := d.WaitPending(1)[0]
	m := rig.Arrived(t, curious, 1)
	if m.Type != "asked" || m.Risk == "" || len(m.Effects) == 0 || m.Sentence == "" || m.Project == "" || strings.Contains(m.Sentence, "hunter2") {
		t.Errorf("%+v", m)
	}
	t.Logf("%q in %s: %v, %s", m.Sentence, m.Project, m.Effects, m.Risk)
	if m := rig.Arrived(t, plain, 1); m.Risk != "" || m.Effects != nil || m.Sentence != "" || m.Project != "" {
		t.Errorf("who wants nothing is told %+v", m)
	}
	d.Deny(r, "no")
	h.Wait()
	rig.Arrived(t, curious, 2)
	rig.Arrived(t, plain, 2)
	d.Command("stop", "--all")
	for _, v := range []*notifytest.Vendor{curious, plain} {
		if m := rig.Arrived(t, v, 3); m.Type != "halted" || m.Halt != "stop" || m.By == "" {
			t.Errorf("%+v", m)
		}
	}
}
