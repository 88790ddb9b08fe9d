package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const exampleFile = "../../docs/examples/rules.yaml"

// TestExampleFile: the example passes its own tests, and flipping any of its rules fails them.
func TestExampleFile(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, string(text))
	if n := len(s.Test()); n < 30 {
		t.Fatalf("%d tests ran", n)
	}

	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	top := doc.Content[0]
	value := func(n *yaml.Node, key string) *yaml.Node {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
		t.Fatalf("no key %s", key)
		return nil
	}
	flipped := func(name string) {
		text, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Load([]Source{{Name: "flipped.yaml", Data: text}}, LoadOptions{})
		if err == nil {
			t.Errorf("the tests pass with %s flipped", name)
			return
		}
		for _, p := range Problems(err) {
			if !strings.HasPrefix(p.Message, "test ") {
				t.Errorf("%s flipped is refused otherwise: %v", name, p)
			}
		}
	}
	opposite := map[string]string{"allow": "deny", "deny": "allow", "ask": "deny"}
	n := 0
	for _, r := range value(top, "rules").Content {
		// What only another action may have goes away with it.
		whole := r.Content
		action := value(r, "action")
		was := action.Value
		r.Content = nil
		for i := 0; i+1 < len(whole); i += 2 {
			switch whole[i].Value {
			case "message", "note", "timeout", "on_timeout":
			default:
				r.Content = append(r.Content, whole[i], whole[i+1])
			}
		}
		action.Value = opposite[was]
		if id := value(r, "id").Value; id == "force-push" {
			action.Value = "ask" // an allow has no has
		}
		flipped(value(r, "id").Value)
		action.Value, r.Content = was, whole
		n++
	}
	for from, to := range map[string]string{"allow": "deny", "deny": "allow", "ask": "deny"} {
		list, other := value(top, from), value(top, to)
		for i, w := range list.Content {
			without := append(append([]*yaml.Node{}, list.Content[:i]...), list.Content[i+1:]...)
			wasList, wasOther := list.Content, other.Content
			list.Content, other.Content = without, append(append([]*yaml.Node{}, wasOther...), w)
			flipped(fmt.Sprint(from, " ", w.Value))
			list.Content, other.Content = wasList, wasOther
			n++
		}
	}
	if n < 18 {
		t.Fatalf("only %d rules were flipped", n)
	}
}
