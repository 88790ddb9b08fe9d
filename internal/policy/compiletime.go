package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (c *compiler) session(n *yaml.Node) *sessionMatch {
	m := &sessionMatch{}
	read := func(dst *[]glob, what string) func(*yaml.Node) {
		return func(n *yaml.Node) { *dst = c.globs(n, what) }
	}
	ok := c.object(n, "session", map[string]func(*yaml.Node){
		"repo": read(&m.repo, "a repository, such as github.com/acme/app"), "branch": read(&m.branch, "a branch"),
		"agent": read(&m.agent, "an agent, such as claude"), "mode": read(&m.mode, "a permission mode"),
		"label": read(&m.label, "a label"),
	})
	if ok && len(n.Content) == 0 {
		c.problem(n, "session is empty, expected at least one of agent, branch, label, mode, repo")
	}
	return m
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (c *compiler) time(n *yaml.Node) *timeMatch {
	m := &timeMatch{anyDay: true, zone: time.Local}
	c.object(n, "time", map[string]func(*yaml.Node){
		"days": func(n *yaml.Node) {
			m.anyDay = false
			for _, w := range c.texts(n, "days such as mon-fri or sat") {
				from, to, span := strings.Cut(strings.ToLower(w.text), "-")
				if !span {
					to = from
				}
				first, last := slices.Index(weekdays, from), slices.Index(weekdays, to)
				if first < 0 || last < 0 {
					c.problem(w.at, "%q is no day, expected such as mon, mon-fri", short(w.text))
					continue
				}
				for d := first; ; d = (d + 1) % 7 {
					m.days[d] = true
					if d == last {
						break
					}
				}
			}
		},
		"between": func(n *yaml.Node) {
			w, ok := c.text(n, "a time of day such as 09:00-18:00")
			if !ok {
				return
			}
			from, to, _ := strings.Cut(w.text, "-")
			var okFrom, okTo bool
			m.from, okFrom = minuteOf(from)
			m.to, okTo = minuteOf(to)
			if !okFrom || !okTo || m.from == m.to {
				c.problem(n, "between is %q, expected such as 09:00-18:00", short(w.text))
			}
		},
		"tz": func(n *yaml.Node) {
			w, ok := c.text(n, "a time zone such as Europe/Berlin")
			if !ok {
				return
			}
			zone, err := time.LoadLocation(w.text)
			if err != nil || w.text == "Local" {
				c.problem(n, "tz is %q, expected the name of a time zone such as Europe/Berlin or UTC", short(w.text))
				return
			}
			m.zone = zone
		},
		"negate": func(n *yaml.Node) { m.negate = c.boolean(n, "negate") },
	})
	if m.anyDay && m.from == m.to && len(c.problems) == 0 {
		c.problem(n, "time says no time, expected days or between")
	}
	return m
}

// minuteOf reads "09:30"; 24:00 is the end of the day.
func minuteOf(s string) (int, bool) {
	h, m, ok := strings.Cut(strings.TrimSpace(s), ":")
	hour, err1 := strconv.Atoi(h)
	minute, err2 := strconv.Atoi(m)
	if !ok || len(h) != 2 || len(m) != 2 || err1 != nil || err2 != nil || hour < 0 || minute < 0 || minute > 59 || hour*60+minute > 24*60 {
		return 0, false
	}
	return hour*60 + minute, true
}
