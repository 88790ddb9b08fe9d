package server

import (
	"net/http"

	"go.uber.org/zap"

	"assent/internal/auth"
)

// listDevices is GET /v1/devices: the paired ones.
func (s *Server) listDevices(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Auth.Devices())
}

// revokeDevice is DELETE /v1/devices/{id}. Somebody who lost a phone must be able to revoke it
// from any device that is left; but nobody may revoke a device with a higher role.
func (s *Server) revokeDevice(w http.ResponseWriter, r *http.Request) {
	id, by := param(r, "id"), principal(r)
	d, ok := s.manageable(w, r, "remove")
	if !ok {
		return
	}
	err := s.cfg.Auth.RevokeDevice(r.Context(), id, by.Approver)
	if err == nil {
		s.log.Info("revoked a device", zap.String("id", id), zap.String("name", line(d.Name)),
			zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
		if s.cfg.Push != nil {
			if err := s.cfg.Push.Remove(r.Context(), id); err != nil { // no notification goes out: Push asks for the device before it sends
				s.log.Warn("the push subscription of a revoked device stays for now", zap.String("id", id), zap.String("error", line(err.Error())))
			}
		}
	}
	s.noContent(w, r, err)
}

// begin says that the caller does something now that may be recorded with their signature: until end is called, that their key was
// revoked is not recorded. Where it was revoked the call is answered, and ok is false.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (end func(), ok bool) {
	if end, ok = principal(r).Begin(); !ok {
		s.fail(w, r, auth.ErrUnauthenticated)
	}
	return end, ok
}

// renameDevice is PATCH /v1/devices/{id} {name}. Whoever may revoke a device may rename it.
func (s *Server) renameDevice(w http.ResponseWriter, r *http.Request) {
	var name string
	if !s.readObject(w, r, "RenameDevice", map[string]any{"name": &name}, nil) {
		return
	}
	by := principal(r)
	was, ok := s.manageable(w, r, "rename")
	if !ok {
		return
	}
	d, err := s.cfg.Auth.RenameDevice(r.Context(), was.ID, name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.log.Info("renamed a device", zap.String("id", d.ID), zap.String("name", line(d.Name)), zap.String("before", line(was.Name)),
		zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
	s.writeJSON(w, r, http.StatusOK, d)
}

// manageable is the device that a call is about, if the caller may do this to it: to itself, or, with the
// role approve, to one whose role is not above its own. Else the call is answered.
func (s *Server) manageable(w http.ResponseWriter, r *http.Request, what string) (d auth.Device, ok bool) {
	by := principal(r)
	if d, ok = s.cfg.Auth.Device(param(r, "id")); !ok {
		s.fail(w, r, auth.ErrNotFound)
		return d, false
	}
	itself := by.Approver.Kind == "device" && by.Approver.ID == d.ID
	if !itself && !(by.Role.Includes(auth.RoleApprove) && by.Role.Includes(d.Role)) {
		writeProblem(w, problem{Status: http.StatusForbidden, Detail: "this credential may not " + what + " that device; ask an administrator"})
		return d, false
	}
	return d, true
}
