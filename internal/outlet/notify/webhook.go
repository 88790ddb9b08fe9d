package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"assent/internal/hook"
)

// webhookDoc is what a webhook gets (schema Webhook).
type webhookDoc struct {
	Type      string      `json:"type"` // request.asked, request.many, request.settled, request.test
	Timestamp time.Time   `json:"timestamp"`
	Data      webhookData `json:"data"`
}

type webhookData struct {
	RequestID string    `json:"requestId,omitempty"`
	Waits     string    `json:"waits,omitempty"`
	Session   string    `json:"session,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Project   string    `json:"project,omitempty"`
	Risk      hook.Risk `json:"risk,omitempty"`
	Effects   []string  `json:"effects,omitempty"`
	Sentence  string    `json:"sentence,omitempty"`
	Halt      string    `json:"halt,omitempty"`
	By        string    `json:"by,omitempty"`
	Until     time.Time `json:"until,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`
	Waiting   int       `json:"waiting"`
	Gone      []Gone    `json:"gone,omitempty"`
	URL       string    `json:"url,omitempty"` // of the card, or the page
}

// toWebhook posts d, signed after the Standard Webhooks: the receiver can tell that it is ours,
// that it is fresh, and by webhook-id that a message is a repetition.
func (p *Push) toWebhook(ctx context.Context, n *Notice, d *delivery) verdict {
	kind := "request." + d.Type
	switch d.Type {
	case typeFinished, typeFailed, typeBlocked:
		kind = "turn." + d.Type
	case typeHalted:
		kind = "halt." + d.Halt
	}
	doc := webhookDoc{Type: kind, Timestamp: d.made.UTC(), Data: webhookData{
		RequestID: d.RequestID, Waits: d.Waits, Session: d.Session, Agent: d.Agent, Deadline: d.deadline.UTC(), Waiting: d.Waiting, Gone: d.Gone, URL: p.cfg.URL,
		Project: d.Project, Risk: d.Risk, Effects: d.Effects, Sentence: d.Sentence, Halt: d.Halt, By: d.By, Until: d.Until,
	}}
	if (d.Type == typeAsked || d.Type == typeWaits) && p.cfg.URL != "" {
		doc.Data.URL += requestPath(d.RequestID)
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return verdict{trouble: "the message cannot be written"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return verdict{trouble: "its URL cannot be used"}
	}
	id, now := "msg_"+uuid.NewString(), time.Now()
	switch { // again after an answer that was lost, or by another broker
	case d.Type == typeAsked:
		id = "msg_" + d.RequestID
	case d.Type == typeMany:
		ids := make([]string, 0, len(d.items))
		for _, it := range d.items {
			ids = append(ids, it.id)
		}
		slices.Sort(ids)
		id = "msg_" + digestOf(ids...)
	case d.asideID() != "":
		id = "msg_" + d.asideID()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "assent")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("webhook-signature", sign(n.Secret, id, now, body))
	res, err := p.hooks.Do(r)
	if err != nil {
		return verdict{trouble: "it " + unreached(err)}
	}
	v := answered(res)
	if v.trouble != "" {
		v.trouble = "it " + v.trouble
	}
	return v
}

// sign is the value of webhook-signature.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// webhookSecret reads "whsec_" and base64 of 24 to 64 bytes.
func webhookSecret(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, "whsec_")
	secret, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
		return nil, errors.New(`secret: want whsec_ and 24 to 64 random bytes in base64; make one with: echo "whsec_$(openssl rand -base64 32)"`)
	}
	return secret, nil
}
