# make build needs Go only. make test and make check set up what else they need.
GO      ?= go
DOCKER  ?= docker
VERSION := $(or $(patsubst v%,%,$(shell git describe --tags --always --dirty 2>/dev/null)),devel)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
DATE    := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)

# The go command names what it built by the directory of the source, unless paths are left out. Without them
# another clone finds all of it. The released programs are built so, and without C: with the same settings vet,
# staticcheck and the tests compile nothing a second time, and test what is released.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)
export CGO_ENABLED ?= 0

# The race detector needs a C compiler, which a machine with Go alone may lack.
RACE := $(shell command -v "$$($(GO) env CC)" >/dev/null 2>&1 && echo -race)

# What is not below e2e, and what is. The go command takes packages in this order: first those that
# take longest, or wait for most of the time, so that in the end no processor waits for one of them.
UNITS = ./internal/outlet/rabbit ./cmd/assent-contain ./internal/store/stream ./internal/feed ./internal/policy/... $$($(GO) list ./... | grep -v /e2e)
# Those with tests that the race detector makes so dear that they do less with it: so they run without it, too.
TWICE = $(if $(RACE),++ ./docs/examples/auditverify -- -vet=off -shuffle=on -timeout $(HANGS))
E2E   = ./e2e/page ./e2e/claude ./e2e/agents ./e2e/broker ./e2e/release ./e2e/...

# Runs go test, says how far it is, and ends with the number of tests that passed. The tests' files are
# in memory where that can be had, else on the disk: TMPDIR=/var/tmp make test wants them there. The
# packages of e2e are slowed down by a busy disk until they fail, so on one they take turns.
RUNTESTS = $(GO) run ./internal/tool/runtests -memory 2

.PHONY: build run test test-fast e2e check bench vuln release image web fmt clean help

build: ## bin/assent, bin/assent-hook, bin/assent-hook-strict and bin/assent-contain
	@GO='$(GO)' ./internal/tool/release/build.sh bin '$(VERSION)' '$(COMMIT)' '$(DATE)'

run: build ## the broker in the foreground
	bin/assent serve

# After this long a package of UNITS hangs. On two processors that forty others wait for, store/stream takes more than
# eight minutes.
HANGS = 20m

# vet is the business of make check, where it looks at everything and once, not once for each way to build.
test: ## all tests; those that lack a program on this machine are skipped by name
	$(RUNTESTS) -slowest 10 $(UNITS) -- $(RACE) -vet=off -shuffle=on -timeout $(HANGS) $(TWICE) ++ $(E2E) -- -p 1 -vet=off -shuffle=on -timeout 40m

test-fast: ## the tests without browser, agent, RabbitMQ and everything below e2e
	$(RUNTESTS) $(UNITS) -- -short

e2e: ## the tests over the built programs; RUN=TestName for some of them
	$(RUNTESTS) -slowest 10 $(E2E) -- -p 1 $(if $(RUN),-run '$(RUN)') -timeout 40m

check: ## all that CI runs
	./.ci/check

bench: build ## the table of speeds, as ratios within one run
	$(GO) run ./e2e/bench

vuln: ## known vulnerabilities; needs the network
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...

release: ## dist: archives, checksums, .deb, install script, formula. RELEASE='-version 0.1.0 -url https://…'
	$(GO) run ./internal/tool/release $(RELEASE)

image: ## the container image assent:VERSION and assent:latest; needs docker, or DOCKER=podman
	$(DOCKER) build --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' --build-arg DATE='$(DATE)' -t assent:$(VERSION) -t assent:latest .

web: ## rebuild web/dist and the generated types; needs Node
	cd web && npm ci --no-audit --no-fund && npm run build

fmt: ## gofmt on all Go files
	gofmt -w $$(git ls-files '*.go')

clean: ## remove bin and dist
	rm -rf bin dist

help: ## this list
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## /\1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-10s %s\n", $$1, $$2 }'
