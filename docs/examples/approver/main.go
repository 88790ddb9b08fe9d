// Command approver denies requests that contain the word $DENY, and asks about the others.
package main

import (
	"fmt"
	"github.com/gorilla/websocket"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	url, auth := os.Getenv("ASSENT_URL"), http.Header{"Authorization": {"Bearer " + os.Getenv("ASSENT_TOKEN")}}
	for { // A connection begins with all that waits, so a lost one costs nothing.
		ws, _, err := websocket.DefaultDialer.Dial(strings.Replace(url, "http", "ws", 1)+"/v1/ws", auth)
		var first struct{ Requests []map[string]any }
		if err != nil || ws.ReadJSON(&first) != nil {
			log.Fatalf("connect to %s: %v", url, err)
		}
		for _, r := range first.Requests {
			if r["shown"] == nil { // too large for a list: fetch it by its id, or leave it to the page
				continue
			}
			text, behavior := fmt.Sprint(r["shown"]), "deny"
			if word := os.Getenv("DENY"); word == "" || !strings.Contains(text, word) {
				fmt.Println(text, "\nallow or deny?")
				_, _ = fmt.Scanln(&behavior) // nothing typed: deny
			}
			body := fmt.Sprintf(`{"behavior":%q,"inputSha256":%q}`, behavior, r["inputSha256"])
			req, _ := http.NewRequest("POST", fmt.Sprint(url, "/v1/requests/", r["id"], "/decision"), strings.NewReader(body))
			req.Header = auth
			if res, err := http.DefaultClient.Do(req); err == nil {
				fmt.Println(text, behavior, res.Status)
			}
		}
		_, _, _ = ws.ReadMessage() // until something changes
		_ = ws.Close()
	}
}
