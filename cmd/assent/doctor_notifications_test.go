package main

import (
	"strings"
	"testing"

	"assent/internal/outlet/notify"
)

func TestDoctorTellsWhoIsRung(t *testing.T) {
	for name, tt := range map[string]struct {
		o            notify.Overview
		status, says string
	}{
		"nobody":          {notify.Overview{}, "ok", "nobody is told"},
		"one":             {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1"}}}, "ok", "1 device is told that a request waits"},
		"both":            {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1"}, {ID: "d2"}}, Notices: []notify.TargetStatus{{ID: "team"}}}, "ok", "2 devices are told that a request waits; so are the notices team"},
		"a broken device": {notify.Overview{Devices: []notify.TargetStatus{{ID: "d1", Service: "push.example", Trouble: "answered 500"}}}, "warn", "device d1 (push.example): answered 500"},
		"a broken notice": {notify.Overview{Notices: []notify.TargetStatus{{ID: "team", Trouble: "it did not answer in time"}}}, "warn", "notice team: it did not answer in time"},
		"a broken file":   {notify.Overview{Problem: "notices: others can read it"}, "fail", "others can read it"},
	} {
		if c := notifications(&tt.o); c.Status != tt.status || !strings.Contains(c.Detail, tt.says) || (c.Fix == "") != (c.Status == "ok") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
