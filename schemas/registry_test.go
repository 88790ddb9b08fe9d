package schemas

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestRegistry holds the entry for a registry of services against the schema of what is sent.
func TestRegistry(t *testing.T) {
	text, err := os.ReadFile("hookd.registry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var registry map[string]struct {
		Type     string
		Exchange string
		Keys     []string `yaml:"routing_keys"`
		Schema   string   `yaml:"event_schema"`
	}
	if err := yaml.Unmarshal(text, &registry); err != nil {
		t.Fatal(err)
	}
	entry := registry["hookd"]
	if entry.Type != "producer" || entry.Exchange != "hookd.events" || entry.Schema != "hookd/ToolMutationEvent" {
		t.Errorf("%+v", entry)
	}
	raw, err := Raw("ToolMutationEvent")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			EventType struct{ Pattern string } `json:"event_type"`
		}
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(entry.Keys, "tool.mutation.*"); i < 0 {
		t.Error("no key for all tools")
	} else {
		entry.Keys = slices.Delete(entry.Keys, i, i+1)
	}
	for _, key := range entry.Keys {
		if !regexp.MustCompile(schema.Properties.EventType.Pattern).MatchString(key) {
			t.Errorf("%s is no event_type", key)
		}
	}
}
