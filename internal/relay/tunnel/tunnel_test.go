package tunnel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestToken(t *testing.T) {
	one, err := NewToken("box")
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewToken("box")
	if err != nil || one.Hash() == two.Hash() {
		t.Errorf("two tokens of one name: %v, %v", one.Hash(), err)
	}
	back, err := ParseToken(one.Text())
	if err != nil || back != one {
		t.Errorf("%q is read as %q: %v", one.Text(), back.Text(), err)
	}
	if said := fmt.Sprintf("%v %+v %#v %s", one, one, one, one); strings.Contains(said, one.Text()[len(tokenPrefix)+4:]) {
		t.Errorf("a printed token shows its secret: %s", said)
	}
	text := one.Text()
	for _, bad := range []string{
		"", "box", "assent_relay_", "assent_relay_box", "assent_relay_box_", text + "A", text[:len(text)-1], text + "\n", " " + text, strings.Replace(text, "box", "Box", 1),
		strings.Replace(text, "box", "b.x", 1), strings.Replace(text, "box_", "_", 1), strings.Replace(text, "relay", "admin", 1), text[:len(text)-5] + "\n" + text[len(text)-5:],
	} {
		if got, err := ParseToken(bad); err == nil {
			t.Errorf("%q is read as a token of %q", bad, got.Name)
		}
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"box": true, "a": true, "0": true, "a-b": true, "a--b": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "ä": false, "xn--a": false, "a b": false, strings.Repeat("a", 64): false, "a\x00": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for domain, ok := range map[string]bool{
		"relay.example.org": true, "example.org": true, "org": false, "": false, ".org": false, "relay.example.org.": false, "127.0.0.1": true, "[::1]": false,
		strings.Repeat("a.", 95) + "a": false,
	} {
		if err := CheckDomain(domain); (err == nil) != ok {
			t.Errorf("%q: %v", domain, err)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, text := range []string{"192.0.2.1:443", "[2001:db8::1]:65535", "[::ffff:192.0.2.1]:1"} {
		var b bytes.Buffer
		from := netip.MustParseAddrPort(text)
		if err := WriteHeader(&b, from); err != nil {
			t.Fatal(err)
		}
		b.WriteString("rest")
		got, err := ReadHeader(&b)
		if want := netip.AddrPortFrom(from.Addr().Unmap(), from.Port()); err != nil || got != want || b.String() != "rest" {
			t.Errorf("%s: %s, %v, and %q is left", text, got, err, b.String())
		}
	}
	for _, from := range []netip.AddrPort{{}, netip.MustParseAddrPort("[fe80::1%eth0]:1")} {
		if err := WriteHeader(new(bytes.Buffer), from); err == nil {
			t.Errorf("%s is told to the broker", from)
		}
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte("\x0d192.0.2.1:443x"))
	f.Add([]byte("\x13[2001:db8::1]:65535"))
	f.Add([]byte("\x12[fe80::1%eth0]:443"))
	f.Add([]byte{255})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		from, err := ReadHeader(r)
		if read := len(b) - r.Len(); read > 1+maxHeader {
			t.Fatalf("%d bytes were read", read)
		}
		if err == nil && (!from.IsValid() || from.Addr().Zone() != "" || from.Addr().Is4In6()) {
			t.Fatalf("%q is %s", b, from)
		}
	})
}

func FuzzParseToken(f *testing.F) {
	one, _ := NewToken("box")
	f.Add(one.Text())
	f.Add("assent_relay_box_")
	f.Fuzz(func(t *testing.T, text string) {
		if tok, err := ParseToken(text); err == nil && (tok.Text() != text || CheckName(tok.Name) != nil || len(text) > MaxToken) {
			t.Fatalf("%q is a token of %q", text, tok.Name)
		}
	})
}

func frame(kind byte, flags uint16, length int, body ...byte) []byte {
	b := make([]byte, frameHeader, frameHeader+len(body))
	b[1] = kind
	binary.BigEndian.PutUint16(b[2:], flags)
	binary.BigEndian.PutUint32(b[8:], uint32(length))
	return append(b, body...)
}

// TestGuard: more pings than an honest side sends, and streams of the wrong side, end the connection, however
// they are cut into pieces and whatever looks like them within data.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ping := frame(framePing, flagSYN, 7)
		pong := frame(framePing, 2, 7)
		opens := frame(1, flagSYN, 0)
		data := frame(frameData, 0, len(opens)+len(ping), append(bytes.Clone(opens), ping...)...)
		for _, step := range []int{1, 5, 12, 13, 1000} {
			look := func(g *guard, all []byte) (err error) {
				for len(all) > 0 && err == nil {
					n := min(step, len(all))
					err = g.look(all[:n])
					all = all[n:]
				}
				return err
			}
			g := newGuard(false)
			if err := look(g, bytes.Repeat(append(bytes.Clone(data), pong...), 100)); err != nil {
				t.Errorf("by %d bytes: data and answers: %v", step, err)
			}
			if err := look(g, bytes.Repeat(ping, pingBurst)); err != nil {
				t.Errorf("by %d bytes: a few pings: %v", step, err)
			}
			if err := look(g, ping); !errors.Is(err, errPings) {
				t.Errorf("by %d bytes: one ping more: %v", step, err)
			}
			time.Sleep(time.Second)
			g.have = 0
			if err := look(g, ping); err != nil {
				t.Errorf("by %d bytes: a ping a second later: %v", step, err)
			}
			if err := look(newGuard(false), opens); !errors.Is(err, errStream) {
				t.Errorf("by %d bytes: a stream of the wrong side: %v", step, err)
			}
			if err := look(newGuard(true), opens); err != nil {
				t.Errorf("by %d bytes: a stream of the right side: %v", step, err)
			}
		}
	})
}

func FuzzGuard(f *testing.F) {
	f.Add(frame(frameData, 0, 3, 1, 2, 3), 5)
	f.Add(frame(framePing, flagSYN, 7), 1)
	f.Fuzz(func(t *testing.T, b []byte, step int) {
		if step < 1 {
			step = 1
		}
		whole, parts := newGuard(false), newGuard(false)
		want := whole.look(b)
		var got error
		for rest := b; len(rest) > 0 && got == nil; {
			n := min(step, len(rest))
			got = parts.look(rest[:n])
			rest = rest[n:]
		}
		if (want == nil) != (got == nil) {
			t.Fatalf("as a whole %v, by %d bytes %v", want, step, got)
		}
	})
}
