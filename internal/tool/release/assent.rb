# Homebrew formula of assent {{.Version}}, made by make release from commit {{.Commit}}.
class Assent < Formula
  desc "Blocking permission broker for coding agents"
{{- if .Homepage}}
  homepage "{{.Homepage}}"
{{- end}}
  version "{{.Version}}"
  license "Apache-2.0"
{{$url := .URL}}
{{- range $os, $on := .Systems}}
{{- with call $.Of $os}}
  {{$on}} do
{{- range .}}
    {{if eq .Arch "arm64"}}on_arm{{else}}on_intel{{end}} do
      url "{{if $url}}{{$url}}{{else}}file://#{__dir__}{{end}}/{{.Name}}.tar.gz"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}{{end}}
  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/assent"
    zsh_completion.install "share/zsh/site-functions/_assent"
    fish_completion.install "share/fish/vendor_completions.d/assent.fish"
    doc.install Dir["share/doc/assent/*"]
  end

  def caveats
    <<~EOS
      Nothing runs yet, and your agent is as it was. To set both up, step by step:
        assent up
      Before you remove assent, take it out of your agent's settings and stop the broker:
        assent uninstall
        assent service uninstall
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/assent version")
    assert_match version.to_s, shell_output("#{bin}/assent-hook --version")
    assert_match version.to_s, shell_output("#{bin}/assent-hook-strict --version")
    assert_match version.to_s, shell_output("#{bin}/assent-contain --version")
  end
end
