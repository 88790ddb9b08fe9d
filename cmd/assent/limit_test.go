package main

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

// endless accepts without end.
type endless struct{ net.Listener }

func (endless) Accept() (net.Conn, error) { c, _ := net.Pipe(); return c, nil }
func (endless) Close() error              { return nil }

func TestOpenConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limitConns(endless{}, 2)
		var open []net.Conn
		done := make(chan error)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					done <- err
					return
				}
				open = append(open, c)
			}
		}()
		synctest.Wait()
		for i := range 3 {
			if len(open) != 2+i {
				t.Errorf("%d accepted after %d were closed", len(open), i)
			}
			c := open[i]
			c.Close()
			c.Close() // gives back no second slot
			synctest.Wait()
		}
		l.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
