package main

import (
	"testing"

	"assent/internal/hook"
)

func TestMessageLike(t *testing.T) {
	ms := []hook.Message{{ID: "aa-1", Kind: hook.MessagePrompt}, {ID: "aa-12", Kind: hook.MessagePrompt}, {ID: "bb-1", Kind: hook.MessageCancel}}
	for id, want := range map[string]string{"aa-1": "aa-1", "aa-12": "aa-12", "aa": "", "b": "", "c": ""} {
		m, err := messageLike(ms, id)
		if (err == nil) != (want != "") || err == nil && m.ID != want {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
}
