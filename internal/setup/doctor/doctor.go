// Package doctor finds out what of an installation is broken, and how to fix it: the broker and what
// it says about itself, the spool, the agents on this machine and the hooks in their settings. It
// changes nothing.
//
// How a broker is spoken to is handed in.
package doctor

import (
	"context"
	"slices"

	"assent/internal/agent/claude/install"
	"assent/internal/hook"
	"assent/internal/setup/phone"
	"assent/internal/setup/service"
)

// Finding is one line of the report.
type Finding struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do next
}

// Status says how bad a finding is.
type Status string

// What a check can find: all is well, something works less well than it could, nothing is broken but
// somebody has to know of a danger, something is broken.
const (
	OK     Status = "ok"
	Warn   Status = "warn"
	Danger Status = "danger"
	Fail   Status = "fail"
)

// Broken reports whether something is broken.
func Broken(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Fail })
}

// Config is what the doctor looks at, and through what. All functions but Contain are required.
type Config struct {
	StateDir string
	URL      string // of a broker elsewhere; "" for the one of StateDir
	Env      func(string) string
	// Where returns the current directory, and the git work tree around it, "" if there is none.
	Where func() (dir, root string, err error)

	// Runtime returns what the broker of StateDir wrote about itself when it started.
	Runtime func() (Broker, error)
	// Connect makes ready to speak to the broker. ready asks it, without a credential, whether it
	// serves hooks, and returns the HTTP status.
	Connect func() (ready func(context.Context) (status int, err error), err error)
	// Credential returns why the API cannot be called, nil if it can.
	Credential func() error
	// Call gets a document of the API and decodes it into out, unless that is nil.
	Call func(ctx context.Context, path string, out any) error
	// NoBroker reports whether an error of Runtime, Connect or ready means that no broker is there.
	NoBroker func(error) bool
	// Refused reports whether an error of Call means that the role of the credential is too small.
	Refused func(error) bool
	// RuleProblem is one line about what is wrong with the rules, "" if nothing is.
	RuleProblem func(*hook.InForce) string
	// Contain returns the program that contains commands; nil: it is not looked at.
	Contain func() (program string, err error)
	// Phone returns how phones reach the page, nil if no way was set up, and why that does not work now.
	Phone func(context.Context) (*phone.Door, error)
	// Service is the state of the service of StateDir.
	Service func(context.Context) service.Status
}

// Broker is what a broker writes about itself when it is ready.
type Broker struct {
	PID     int
	URL     string
	Socket  string // that hooks should ask
	Version string
}

// examination is one run of the checks. What an early one finds out is what later ones start from.
type examination struct {
	Config
	broker   Broker             // of StateDir; the zero value if none runs
	answers  bool               // the broker answers
	noBroker bool               // no broker can be reached
	mayLook  bool               // the credential suffices for the API's documents
	agent    *install.Options   // where the agent keeps its settings; nil: not known
	versions []string           // of the agents on this machine
	settings []install.Settings // that count in the current directory
	surveyed bool               // settings are known
}

// check looks at one thing. Its name is that of most of its findings.
type check struct {
	name  string
	needs func(*examination) bool // nil: always looked at
	look  func(*examination, context.Context) []Finding
}

func answers(x *examination) bool  { return x.answers }
func mayLook(x *examination) bool  { return x.mayLook }
func located(x *examination) bool  { return x.agent != nil }
func surveyed(x *examination) bool { return x.surveyed }
func contains(x *examination) bool { return x.Contain != nil }

// checksHere, checksElsewhere and checksAgent are the checks, in the order of the report: of the
// broker of this machine, of one elsewhere, and of what there is on this machine in any case.
var (
	checksHere = []check{
		{"broker", nil, (*examination).checkBroker},
		{"socket", answers, (*examination).checkSocket},
		{"rules", answers, (*examination).checkRules},
		{"stopped", answers, (*examination).checkHalt},
		{"record", answers, (*examination).checkRecord},
		{"notifications", answers, (*examination).checkNotifications},
		{"machines", answers, (*examination).checkMachines},
		{"schemas", answers, (*examination).checkSchemas},
		{"phone", answers, (*examination).checkPhone},
		{"service", nil, (*examination).checkService},
	}
	checksElsewhere = []check{
		{"broker", nil, (*examination).checkRemote},
		{"token", answers, (*examination).checkToken},
		{"rules", mayLook, (*examination).checkRules},
		{"stopped", mayLook, (*examination).checkHalt},
		{"record", mayLook, (*examination).checkRecord},
		{"machines", mayLook, (*examination).checkMachines},
		{"schemas", mayLook, (*examination).checkSchemas},
	}
	checksAgent = []check{
		{"spool", nil, (*examination).checkSpool},
		{"claude", nil, (*examination).checkClients},
		{"hooks", located, (*examination).checkHooks},
		{"signatures", surveyed, (*examination).checkSignatures},
		{"mode", surveyed, (*examination).checkMode},
		{"codex", nil, (*examination).checkCodex},
		{"agents", nil, (*examination).checkOthers},
		{"contain", contains, (*examination).checkContain},
	}
)

// Examine makes all checks, one after the other. noBroker says that no broker could be reached, which
// is also a finding.
func Examine(ctx context.Context, cfg Config) (findings []Finding, noBroker bool) {
	x := &examination{Config: cfg}
	checks := checksHere
	if cfg.URL != "" {
		checks = checksElsewhere
	}
	for _, c := range slices.Concat(checks, checksAgent) {
		if c.needs == nil || c.needs(x) {
			findings = append(findings, c.look(x, ctx)...)
		}
	}
	return findings, x.noBroker
}
