package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"assent/internal/agent/claude"
	"assent/internal/hook"
)

// Mark is a short name of a message that stands in what the session is shown, and by which its hook's
// event is known again. It is no secret.
func Mark(m *hook.Message) string {
	sum := sha256.Sum256([]byte("assent message mark\n" + m.ID + "\n" + m.Signature))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// sender is who wrote the message, as the session is told: a name without anything that could end the
// attribute that it stands in, or look like another sender.
func sender(m *hook.Message) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_.'’", r) {
			return r
		}
		return -1
	}, m.By.Name)
	if name = strings.TrimSpace(name); name == "" {
		name = "user"
	}
	return clip(name, 60) + ", by assent #" + Mark(m)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// content is what the session's inbox is given, and its UserPromptSubmit brings back as it is.
func content(m *hook.Message) string { return claude.InboxText(sender(m), m.Prompt) }

// signed says whether a device's key vouches for the text.
func signed(m *hook.Message) bool { return m.Signature != "" && m.PublicKey != nil }

// about tells the agent whose words a message is, where a device signed it; else nothing is said.
func about(m *hook.Message) string {
	if !signed(m) {
		return ""
	}
	verified := "its signature was verified"
	if m.By.Verified {
		verified += ", and the device verified its owner"
	}
	return fmt.Sprintf("assent: the message above (#%s) was typed by the user of this session on their paired device %q; %s. It answers no permission request.",
		Mark(m), clip(m.By.Name, 60), verified)
}

// stopReason is what the agent is told at the end of its turn, to go on with. The text stands between two
// lines that nobody can know before: it can neither end its own part nor begin somebody else's.
func stopReason(m *hook.Message) string {
	from := "The user of this session sent this from a terminal, and nobody signed it"
	if m.By.Kind == "device" {
		from = fmt.Sprintf("The user of this session sent this from their paired device %q", clip(m.By.Name, 60))
	}
	if signed(m) {
		from += "; its signature was verified"
	}
	edge := "---- " + strings.ToLower(rand.Text()[:12]) + " ----"
	return from + " (assent #" + Mark(m) + "). Their words stand between the two lines " + edge + " and end there:\n\n" +
		edge + "\n" + m.Prompt + "\n" + edge
}

// tags are what a text may not hold: it could end its own wrapper, and begin somebody else's.
var tags = regexp.MustCompile(`(?i)<\s*/?\s*[a-z-]*-message`)

// checkText returns what is wrong with a text, or nil.
func checkText(text string) *hook.FieldError {
	switch {
	case strings.TrimSpace(text) == "":
		return hook.BadField("prompt", "is empty")
	case len(text) > hook.MaxMessage:
		return hook.BadField("prompt", fmt.Sprintf("longer than %d KiB", hook.MaxMessage>>10))
	case !utf8.ValidString(text):
		return hook.BadField("prompt", "is no UTF-8")
	case tags.MatchString(strings.Map(visible, text)):
		return hook.BadField("prompt", "holds a tag such as <…-message>, in which agents hand over what others say; write it another way")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return hook.BadField("prompt", "holds control characters")
	case strings.ContainsFunc(text, deceives):
		return hook.BadField("prompt", "holds invisible characters that reorder or hide text; whoever reads it in the terminal would see other words than the agent")
	}
	return nil
}

// visible drops what nobody sees, as it may stand in a tag that a reader takes for a whole one.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) || r == '\u3164' || r == '\u115f' || r == '\u1160' {
		return -1
	}
	return r
}

// deceives reports whether a character embeds, overrides or isolates a direction, or is one of the tags that
// spell a text nobody sees. The marks that right-to-left texts need, and what joins emoji, are not among them.
func deceives(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r >= '\U000E0000' && r <= '\U000E007F'
}
