package executor

import (
	"context"

	"assent/internal/host/optin"
)

// program is what is known of an agent's program.
type program struct {
	cli     string
	version string // "": not known
}

// versionLocked is the version of an agent's program, as it said last. It is asked if another one stands in the file than
// before.
func (h *Host) versionLocked(a optin.Agent) string {
	p, ok := h.programs[a.Name]
	if (!ok || p.cli != a.CLI) && h.cfg.Ask != nil {
		p = program{cli: a.CLI}
		h.know(a.Name, p)
		h.unasked = append(h.unasked, a)
		h.wakeUp()
	}
	return p.version
}

// runs takes the word of a process.
func (h *Host) runs(agent, version string) {
	if p := h.programs[agent]; p.version != version {
		p.version = version
		h.know(agent, p)
		h.changed()
	}
}

func (h *Host) know(agent string, p program) {
	if h.programs == nil {
		h.programs = map[string]program{}
	}
	h.programs[agent] = p
}

// askVersions asks the programs that are to be asked, beside all else.
func (h *Host) askVersions(ctx context.Context) {
	if len(h.unasked) == 0 {
		return
	}
	all := h.unasked
	h.unasked = nil
	h.beside.Go(func() {
		for _, a := range all {
			version := clip(h.cfg.Ask(ctx, a), maxVersion)
			h.mu.Lock()
			if p := h.programs[a.Name]; p.cli == a.CLI && p.version == "" && version != "" {
				p.version = version
				h.know(a.Name, p)
				h.changed()
			}
			h.mu.Unlock()
		}
	})
}
