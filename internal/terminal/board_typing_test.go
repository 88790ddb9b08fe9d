package terminal

import (
	"testing"
	"time"

	"assent/internal/api"
	"assent/internal/hook"
)

// TestBoardTypingOnAnswersNothing: the request that somebody writes about is settled elsewhere; what goes on
// being typed answers no other, however long that has been on the screen, until there was a pause.
func TestBoardTypingOnAnswersNothing(t *testing.T) {
	first, second := risky("x", hook.Calm, "ls"), risky("y", hook.Calm, "pwd")
	sit(t, []*api.Request{first, second}, func(s *sitting) {
		s.wait(armAfter)
		s.keys("m")
		s.types("not tod")
		s.ends(first, hook.Denied)
		for range 10 {
			s.wait(armAfter / 2)
			s.types("ad")
		}
		s.answered()
		s.wait(typingPause + time.Second)
		s.keys("a")
		s.wait(0)
		s.answered("allow y")
	})
}
