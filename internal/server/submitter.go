package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"

	"assent/internal/hook"
	"assent/internal/host/peercred"
	"assent/internal/text/digest"
)

type peerKey struct{}

// withPeer remembers which user is at the other end of a unix socket, where the system tells.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if x := slotOf(c); x != nil {
		c = x.Conn
	}
	if uid, err := peercred.UID(c); err == nil {
		return context.WithValue(ctx, peerKey{}, uid)
	}
	return ctx
}

// submitter is who brought a hook's event, see hook.Event.Submitter. Nothing of it is the caller's
// word. Where the system does not tell the socket's user it is the broker's own: then all whom
// --socket-group lets in are one.
func (s *Server) submitter(r *http.Request) string {
	if id := principal(r).Approver.ID; id != "" {
		return "token:" + id
	}
	uid, ok := r.Context().Value(peerKey{}).(uint32)
	if !ok {
		uid = uint32(os.Getuid())
	}
	return Local(uid, s.cfg.HostID)
}

// Local is the submitter that a user of this machine is.
func Local(uid uint32, hostID string) string {
	return "user:" + strconv.FormatUint(uint64(uid), 10) + "@" + hostID
}

// secretHash is what is kept of a hook's secret, empty without one. Its length is bounded by that
// of headers.
func secretHash(h http.Header) string {
	secret := h.Get(hook.HeaderReattachSecret)
	if secret == "" {
		return ""
	}
	return digest.Of([]byte(secret))
}
