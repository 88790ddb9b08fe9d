package files

import (
	"encoding/json"
	"path/filepath"
	"time"

	"assent/internal/auth/signed"
	"assent/internal/hook"
	"assent/internal/policy"
)

// Read reads the files once, for programs beside the broker: it returns those that are there and
// may be trusted, and what is wrong with the others.
func Read(cfg Config) (sources []policy.Source, problems []hook.RuleProblem) {
	for _, f := range cfg.list() {
		data, err := f.read()
		switch {
		case err != nil:
			problems = append(problems, f.problem(err))
		case data != nil:
			sources = append(sources, policy.Source{Name: f.path, Layer: f.layer, Data: data})
		}
	}
	return sources, problems
}

// ReadRepository reads the file of the repository at root; ok is false when it has none.
func ReadRepository(root string) (source policy.Source, ok bool, err error) {
	source = policy.Source{Name: filepath.Join(root, repoFile), Layer: policy.Repository}
	in, _, err := openBelow(root)
	if in == nil {
		return source, err != nil, err
	}
	defer in.Close()
	source.Data, err = whole(in, maxRepoFile)
	return source, true, err
}

// Signature reads who signed the rules of a source that Read returned, nil where nobody did, as the broker would. The
// words say why a signature that stands beside the file does not count.
func Signature(cfg Config, of policy.Source) (by *hook.RulesSignature, problem string) {
	for _, f := range cfg.list() {
		if f.layer != of.Layer || f.signature == "" {
			continue
		}
		by, err := f.signedBy(of.Data)
		switch {
		case err != nil:
			return nil, policy.WithoutPath(err).Error()
		case by != nil && signed.RulesOver(by, time.Now()):
			return by, over(by)
		}
		return by, ""
	}
	return nil, ""
}

// over says that a signature counts no more.
func over(s *hook.RulesSignature) string {
	return "it counts no more since " + clip(s.Until) + ": sign the rules again, with assent rules sign"
}

// Trust says why the broker would not read a person's file of rules; nil if it would.
func Trust(path string) error {
	_, err := (&file{path: path, named: true}).read()
	return err
}

// Call is a request as rules see it, with this input, when it came. home is the home directory of
// the agent's user.
func Call(req *hook.Request, input hook.JSON, home string) policy.Call {
	project := req.ProjectDir
	if project == "" {
		project = req.Repo.Root
	}
	return policy.Call{
		Agent: req.Agent, Tool: req.ToolName, Input: json.RawMessage(input),
		Cwd: req.CWD, Project: project, Home: home,
		Repo: policy.RepoName(req.Repo.Remote), Branch: req.Repo.Branch, Mode: req.PermissionMode,
		SessionID: req.SessionID, AgentLabel: req.AgentLabel,
		Time: req.CreatedAt, Uninspectable: req.Uninspectable != "",
	}
}

func (b *Book) call(req *hook.Request, input hook.JSON) policy.Call {
	c := Call(req, input, b.cfg.Home)
	c.Time, c.Elsewhere, c.Contain = time.Now(), !b.here(req), req.Contain
	return c
}
