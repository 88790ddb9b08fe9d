package server

import (
	"net/http"
	"slices"

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
	devices := s.cfg.Auth.Devices()
	i := slices.IndexFunc(devices, func(d auth.Device) bool { return d.ID == id })
	if i < 0 {
		s.fail(w, r, auth.ErrNotFound)
		return
	}
	itself := by.Approver.Kind == "device" && by.Approver.ID == id
	if !itself && !(by.Role.Includes(auth.RoleApprove) && by.Role.Includes(devices[i].Role)) {
		writeProblem(w, problem{Status: http.StatusForbidden, Detail: "this credential may not remove that device; ask an administrator"})
		return
	}
	err := s.cfg.Auth.RevokeDevice(r.Context(), id)
	if err == nil {
		s.log.Info("revoked a device", zap.String("id", id), zap.String("name", line(devices[i].Name)),
			zap.String("kind", by.Approver.Kind), zap.String("by", line(by.Approver.Name)))
		if s.cfg.Push != nil {
			if err := s.cfg.Push.Remove(r.Context(), id); err != nil { // no notification goes out: Push asks for the device before it sends
				s.log.Warn("the push subscription of a revoked device stays for now", zap.String("id", id), zap.String("error", line(err.Error())))
			}
		}
	}
	s.noContent(w, r, err)
}
