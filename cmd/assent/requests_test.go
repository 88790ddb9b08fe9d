package main

import "testing"

func TestAnswered(t *testing.T) {
	got, err := answered([]byte(`{"questions":[{"question":"A?"},{"question":"B?"}]}`), []string{"x", "y"})
	if err != nil || string(got) != `{"answers":{"A?":"x","B?":"y"},"questions":[{"question":"A?"},{"question":"B?"}]}` {
		t.Errorf("got %s, %v", got, err)
	}
	for name, in := range map[string]string{"no question": `{"command":"ls"}`, "fewer": `{"questions":[{"question":"A?"}]}`} {
		if _, err := answered([]byte(in), []string{"x", "y"}); err == nil {
			t.Errorf("%s: no complaint", name)
		}
	}
}
