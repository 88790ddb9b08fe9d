# A stand-in for Homebrew: it knows as much of its language as the formula uses.
# usage: ruby release_brew.rb FORMULA OS ARCH CELLAR
require "fileutils"
require "json"

FORMULA, OS, ARCH, CELLAR = ARGV

class Place
  def initialize(path) = @path = File.join(CELLAR, path)

  def install(*files)
    FileUtils.mkdir_p(@path)
    raise "nothing to install in #{@path}" if files.flatten.empty?
    files.flatten.each { |f| FileUtils.mv(f, File.join(@path, File.basename(f))) }
  end
end

class Formula
  class << self
    attr_reader :said

    %i[desc homepage version license url sha256].each do |word|
      define_method(word) do |value|
        @said ||= {}
        raise "#{word} is said twice" if @said.key?(word)
        @said[word] = value
      end
    end

    def on_linux = OS == "linux" && yield
    def on_macos = OS == "darwin" && yield
    def on_intel = ARCH == "amd64" && yield
    def on_arm = ARCH == "arm64" && yield
    def test(&block) = block or raise("no test")
  end

  {
    bin: "bin", man1: "share/man/man1", doc: "share/doc/assent", bash_completion: "etc/bash_completion.d",
    zsh_completion: "share/zsh/site-functions", fish_completion: "share/fish/vendor_completions.d"
  }.each { |word, path| define_method(word) { Place.new(path) } }
end

load FORMULA
said = Assent.said
archive = said.fetch(:url).sub("file://", "")
work = File.join(CELLAR, "unpacked")
FileUtils.mkdir_p(work)
system("tar", "-xzf", archive, "-C", work, exception: true)
# Homebrew steps into the one directory of an archive.
Dir.chdir(Dir[File.join(work, "*")].first) { Assent.new.install }
puts JSON.generate(said.slice(:version, :url).merge(SHA256: said.fetch(:sha256), caveats: Assent.new.caveats))
FileUtils.rm_rf(work)
