package auth_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
	"assent/internal/store/kvmirror"
	"assent/internal/store/kvmirror/kvtest"
)

// paper is a record in memory.
type paper struct {
	mu      sync.Mutex
	entries []hook.Record
	down    error
	lost    bool // it writes, and does not say so
}

func (p *paper) setDown(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = err
}

func (p *paper) Records(_ context.Context, id string) (list []hook.Record, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.RequestID == id {
			list = append(list, e)
		}
	}
	return list, p.down
}

func (p *paper) Append(ctx context.Context, rec hook.Record, after uint64) (uint64, error) {
	have, err := p.Records(ctx, rec.RequestID)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(have) > 0 || after != 0 {
		return 0, errors.New("another record came first")
	}
	rec.Seq = uint64(len(p.entries) + 1)
	p.entries = append(p.entries, rec)
	if p.lost {
		return 0, errors.New("nobody knows")
	}
	return rec.Seq, nil
}

func (p *paper) all() []hook.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]hook.Record{}, p.entries...)
}

// openOn is a broker's Auth on a store and a record. It is closed at the end of the test.
func openOn(t *testing.T, kv kvmirror.KV, record auth.Record, shared bool) *auth.Auth {
	t.Helper()
	a, err := auth.Open(t.Context(), auth.Config{KV: kv, Record: record, Shared: shared, NoOwnerToken: true, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

var remover = hook.Approver{Kind: hook.KindDevice, ID: "d-admin", Name: "desk"}

// TestRevokedKeyIsRecorded: that a device was removed stands in the record once, with its key and who did it; and nothing comes in
// with that key again.
func TestRevokedKeyIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, record := kvtest.New(), &paper{}
		a := openOn(t, kv, record, false)
		d, key := pair(t, a, auth.RoleApprove)
		p, err := a.NewPairing(t.Context(), auth.RoleApprove, "", "https://box.example/")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.CreateBoundToken(t.Context(), auth.RoleApprove, "bot", 0, key.JWK()); err != nil {
			t.Fatal(err)
		}
		at := time.Now().UTC()
		if err := a.RevokeDevice(t.Context(), d.ID, remover); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		list := record.all()
		if len(list) != 1 {
			t.Fatalf("the record has %+v", list)
		}
		want := hook.RevokedKey{DeviceID: d.ID, DeviceName: "phone", PublicKey: key.JWK(), At: at}
		if r := list[0]; r.ID == "" || r.RequestID != "key-"+auth.Thumbprint(key.JWK()) || !hook.PlainToken(r.RequestID) || r.Step != hook.StepRevoked || *r.By != remover || *r.Revoked != want || !r.Time.Equal(at) {
			t.Errorf("the record has %+v, %+v", r, r.Revoked)
		}
		if len(a.Tokens()) != 0 {
			t.Error("a token that is bound to the key is left")
		}
		_, redeem := a.Redeem(t.Context(), p.Code, key.JWK(), "", "")
		_, start := a.StartPairing(t.Context(), key.JWK(), "", auth.Caller{})
		_, _, bind := a.CreateBoundToken(t.Context(), auth.RoleApprove, "bot", 0, key.JWK())
		for how, err := range map[string]error{"by a link": redeem, "by a code": start, "as a token": bind} {
			if !errors.Is(err, auth.ErrKeyRevoked) {
				t.Errorf("%s: %v", how, err)
			}
		}
		if _, err := a.Redeem(t.Context(), p.Code, authtest.NewKey().JWK(), "", ""); err != nil {
			t.Errorf("with another key: %v", err)
		}
		if err := a.RevokeDevice(t.Context(), d.ID, remover); !errors.Is(err, auth.ErrNotFound) {
			t.Errorf("a second time: %v", err)
		}
		b := openOn(t, kv, record, false)
		synctest.Wait()
		if _, err := b.StartPairing(t.Context(), key.JWK(), "", auth.Caller{}); !errors.Is(err, auth.ErrKeyRevoked) {
			t.Errorf("at the next broker: %v", err)
		}
		if n := len(record.all()); n != 1 {
			t.Errorf("the record has %d entries", n)
		}
	})
}

// TestRevocationWithoutRecord: where the record does not work the key is refused all the same, and the entry is written when it works
// again, by this broker or the next.
func TestRevocationWithoutRecord(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			kv, record := kvtest.New(), &paper{}
			a := openOn(t, kv, record, false)
			d, key := pair(t, a, auth.RoleApprove)
			bearer := session(t, a, d, key)
			record.setDown(errors.New("no space on the disk"))
			if err := a.RevokeDevice(t.Context(), d.ID, remover); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Authenticate(bearer); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("its bearer: %v", err)
			}
			time.Sleep(time.Hour)
			if len(record.all()) != 0 {
				t.Fatal("it is recorded, and the record does not work")
			}
			if again {
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
				record.setDown(nil)
				openOn(t, kv, record, false)
				synctest.Wait()
			} else {
				record.setDown(nil)
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			if list := record.all(); len(list) != 1 || list[0].Time.Sub(list[0].Revoked.At) < time.Hour {
				t.Errorf("the record has %+v", list)
			}
		})
	}
}

// TestRevocationLostAnswer: an entry that was written, and whose answer was lost, is not written twice.
func TestRevocationLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, record := kvtest.New(), &paper{lost: true}
		a := openOn(t, kv, record, false)
		d, _ := pair(t, a, auth.RoleApprove)
		if err := a.RevokeDevice(t.Context(), d.ID, remover); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := len(record.all()); n != 1 {
			t.Errorf("the record has %d entries", n)
		}
	})
}

// TestRevocationWithoutStore: where nothing of it can be kept, it has not happened, and says so; where only the removal is kept, the
// rest follows.
func TestRevocationWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, record := kvtest.New(), &paper{}
		a := openOn(t, kv, record, false)
		d, key := pair(t, a, auth.RoleApprove)
		kv.SetDown(errors.New("away"))
		if err := a.RevokeDevice(t.Context(), d.ID, remover); !errors.Is(err, auth.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if _, ok := a.Device(d.ID); !ok {
			t.Fatal("it is gone")
		}
		kv.SetDown(nil)
		refusing := &noRevocations{KV: kv}
		b := openOn(t, refusing, record, false)
		if err := b.RevokeDevice(t.Context(), d.ID, remover); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, ok := b.Device(d.ID); ok || len(record.all()) != 0 {
			t.Errorf("it is there: %v; the record has %+v", ok, record.all())
		}
		if _, err := b.StartPairing(t.Context(), key.JWK(), "", auth.Caller{}); !errors.Is(err, auth.ErrKeyRevoked) {
			t.Errorf("it may be paired again: %v", err)
		}
		refusing.works()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(record.all()) != 1 {
			t.Errorf("the record has %+v", record.all())
		}
	})
}

// noRevocations is a store that takes no new keys until works.
type noRevocations struct {
	*kvtest.KV
	mu sync.Mutex
	ok bool
}

func (k *noRevocations) works() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ok = true
}

func (k *noRevocations) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	k.mu.Lock()
	ok := k.ok
	k.mu.Unlock()
	if !ok {
		return 0, errors.New("no space")
	}
	return k.KV.Create(ctx, key, value)
}

// TestRevocationWaits: what was begun in the key's name when it was revoked is recorded before it is said that it was; and nothing
// begins any more.
func TestRevocationWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, record := kvtest.New(), &paper{}
		a := openOn(t, kv, record, false)
		d, key := pair(t, a, auth.RoleApprove)
		p, err := a.Authenticate(session(t, a, d, key))
		if err != nil {
			t.Fatal(err)
		}
		end, ok := p.Begin()
		if !ok {
			t.Fatal("nothing may be done")
		}
		if err := a.RevokeDevice(t.Context(), d.ID, remover); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // several tries
		if len(record.all()) != 0 {
			t.Error("it is recorded while something goes on")
		}
		if _, ok := p.Begin(); ok {
			t.Error("something may be done")
		}
		end()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(record.all()) != 1 {
			t.Errorf("the record has %+v", record.all())
		}
	})
}

// TestRevocationOnACluster: each broker refuses the key, and one of them writes the entry when all of them have recorded what came before.
func TestRevocationOnACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv, record := kvtest.New(), &paper{}
		a, b, c := openOn(t, kv, record, true), openOn(t, kv, record, true), openOn(t, kv, record, true)
		d, key := pair(t, a, auth.RoleApprove)
		synctest.Wait()
		there, err := b.Authenticate(session(t, b, d, key))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RevokeDevice(t.Context(), d.ID, remover); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !there.Revoked() || len(record.all()) != 0 {
			t.Errorf("revoked %v; the record has %+v", there.Revoked(), record.all())
		}
		if err := c.Close(); err != nil { // the others go on
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := len(record.all()); n != 1 {
			t.Errorf("the record has %d entries", n)
		}
	})
}
