package main

import (
	"os"
	"path/filepath"

	"assent/internal/policy/files"
	"assent/internal/setup/programs"
)

// managedRules is the administrator's file of rules.
const managedRules = "/etc/assent/rules.yaml"

// configDir is where a user's configuration stands, "" without a home.
func configDir(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		if dir = env("HOME"); !filepath.IsAbs(dir) {
			return ""
		}
		dir = filepath.Join(dir, ".config")
	}
	return filepath.Join(dir, "assent")
}

// ownRules is the file that assent itself writes.
func (a *app) ownRules() string { return filepath.Join(a.stateDir, "rules.yaml") }

// rulebook says where the rules stand, and what no rule may let anybody touch.
func (a *app) rulebook(f serveFlags, socket string, infof, warnf func(string, ...any)) files.Config {
	dir := configDir(os.Getenv)
	cfg := files.Config{Managed: managedRules, User: f.rules, UserNamed: f.rules != "", Own: a.ownRules(), Infof: infof, Logf: warnf}
	if abs, err := filepath.Abs(cfg.User); cfg.User != "" && err == nil {
		cfg.User = abs
	}
	if cfg.User == "" && dir != "" {
		cfg.User = filepath.Join(dir, "rules.yaml")
	}
	cfg.Protected = []string{a.stateDir, socket, filepath.Dir(managedRules)}
	if cfg.User != "" {
		cfg.Protected = append(cfg.Protected, cfg.User+".sig")
	}
	for _, path := range []string{dir, cfg.User, f.notices, f.contain} {
		if path != "" && path != noNotices && path != noContain {
			cfg.Protected = append(cfg.Protected, path)
		}
	}
	if self, err := os.Executable(); err == nil {
		cfg.Protected = append(cfg.Protected, self)
		for _, name := range programs.Names {
			cfg.Protected = append(cfg.Protected, filepath.Join(filepath.Dir(self), name))
		}
		if dir := programs.Lasting(self, programs.DataHome(os.Getenv)); dir != "" {
			cfg.Protected = append(cfg.Protected, filepath.Dir(dir))
		}
	}
	return cfg
}
