package server

import (
	"net/http"

	"go.uber.org/zap"

	"assent/internal/hook"
	"assent/internal/outlet/notify"
)

// ownDevice is for what concerns the calling device itself: a token has no browser to notify.
func (s *Server) ownDevice(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case principal(r).Approver.Kind != "device":
			writeProblem(w, problem{Status: http.StatusForbidden, Detail: "only a paired device has notifications of its own"})
		case s.cfg.Push == nil:
			writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "this broker does not send notifications"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// getPush is GET /v1/push: the key to subscribe with, and the state of the device.
func (s *Server) getPush(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, s.cfg.Push.State(principal(r).Approver.ID))
}

// putPush is PUT /v1/push {subscription?, settings?, signature}: what is not given stays as it is.
// The device must have signed it.
func (s *Server) putPush(w http.ResponseWriter, r *http.Request) {
	var subDoc, setDoc hook.JSON
	var signature string
	if !s.readObject(w, r, "PushChange", map[string]any{"subscription": &subDoc, "settings": &setDoc, "signature": &signature}, nil) {
		return
	}
	if err := principal(r).VouchPush(subDoc, setDoc, signature); err != nil {
		s.metrics.unsigned.Inc()
		s.log.Warn("refused a push subscription that its device did not sign",
			zap.String("device", principal(r).Approver.ID), zap.String("from", s.clientAddr(r).String()))
		s.fail(w, r, err)
		return
	}
	var sub *notify.Subscription
	var set *notify.Settings
	var err error
	if subDoc != nil {
		sub, err = notify.ParseSubscription(subDoc)
	}
	if setDoc != nil && err == nil {
		set, err = notify.ParseSettings(setDoc)
	}
	if err == nil {
		err = s.cfg.Push.Put(r.Context(), principal(r).Approver.ID, sub, set)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.getPush(w, r)
}

// getNotifications is GET /v1/notifications: whom the broker notifies, and what fails.
func (s *Server) getNotifications(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Push == nil {
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Detail: "this broker does not send notifications"})
		return
	}
	s.writeJSON(w, r, http.StatusOK, s.cfg.Push.Overview())
}

// deletePush is DELETE /v1/push: the device is no longer notified.
func (s *Server) deletePush(w http.ResponseWriter, r *http.Request) {
	s.noContent(w, r, s.cfg.Push.Remove(r.Context(), principal(r).Approver.ID))
}

// testPush is POST /v1/push/test: a message to the device's browser, now. Its body is ignored. 502
// says why the push service did not take it.
func (s *Server) testPush(w http.ResponseWriter, r *http.Request) {
	s.noContent(w, r, s.cfg.Push.Test(r.Context(), principal(r).Approver.ID))
}
