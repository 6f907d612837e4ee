# hosted-bridge. `make help` lists the targets.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Which cluster `up`, `down` and `test-e2e` use: local (built from Go modules),
# kind, or current (the current context of your kubeconfig).
CLUSTER ?= local
# The local cluster's name, and the port of 127.0.0.1 on which it is reached.
NAME ?= default
PORT ?= 8080
# false has the local cluster ignore NetworkPolicies.
ENFORCE ?= true

# The end-to-end tests have a cluster of their own, so that they do not meet
# the one of `make up`. KEEP=1 leaves it running afterwards.
E2E_NAME ?= e2e
E2E_PORT ?= 18080
# core is what make test runs of the end-to-end tests, release what it leaves out.
SUITE ?= core
KEEP ?=
# The revision from which `make test-upgrade` begins.
FROM ?=
# Another bridge that `make bench-bridge` measures beside this one.
FORMER ?=

# The packages that you changed: make test PACKAGES=./internal/quota runs the unit and API
# server tests that the change can break, and no end-to-end tests.
PACKAGES ?=
export PACKAGES
# Extra flags for go test, as in `make test-unit TESTFLAGS='-run TestBuild -v'`.
TESTFLAGS ?=
FUZZTIME ?= 30s
BENCHTIME ?= 1s

# An older Go fetches the toolchain that go.mod names. Official images of Go have local in the
# environment, with which they could build nothing here; make GOTOOLCHAIN=local forbids the fetch.
ifeq ($(origin GOTOOLCHAIN) $(GOTOOLCHAIN),environment local)
GOTOOLCHAIN := auto
endif
export GOTOOLCHAIN ?= auto

TOOL := go tool -modfile=hack/tools/go.mod
STAGE := hack/test/stage.sh
# Says and installs what the machine lacks for a target, and nothing where that is
# nothing.
DEPS := hack/install-deps.sh
# As helm is built, so that what they have in common is compiled once.
CHART_GO := CGO_ENABLED=0 GOFLAGS=-trimpath go -C hack/helm
# The kubectl to use: yours, if KUBECTL names one; the local cluster's, which is
# of the version that everything is tried with; elsewhere PATH's.
KUBECTL_PATH := if [[ -n $${KUBECTL:-} ]]; then echo "$$KUBECTL"; \
	elif [[ $(CLUSTER) == local && $$(uname) == Linux ]]; then echo "$$(bin/cluster build --print-assets)/kubectl"; \
	else command -v kubectl; fi

##@ Everyday

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: up
up: ## Install on a cluster and print a URL and a key (CLUSTER=local|kind|current).
	@$(DEPS) $(if $(filter local,$(CLUSTER)),up,images)
	@CLUSTER=$(CLUSTER) NAME=$(NAME) PORT=$(PORT) ENFORCE=$(ENFORCE) hack/up/up.sh

.PHONY: down
down: ## End the local cluster, or remove the installation from yours.
	@CLUSTER=$(CLUSTER) NAME=$(NAME) hack/up/down.sh

# Programs that people run are in bin/path, for their PATH.
.PHONY: bridge kubectl-bridge
bridge: ## Build the bridge for your own machine: bin/path/bridge.
kubectl-bridge: ## Build the plugin kubectl bridge: bin/path/kubectl-bridge.
bridge kubectl-bridge:
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o bin/path/$@ ./cmd/$@

.PHONY: image
image: bin/image ## Build the container images as archives in bin/images, without a container engine.
	@bin/image build

# The version of a release: make release-dry-run VERSION=1.2.3.
VERSION ?=

.PHONY: release-dry-run
release-dry-run: bin/image bin/helm $(if $(filter local,$(CLUSTER)),assets) ## Make all files of a release in bin/release, twice, and compare (VERSION=1.2.3). Nothing is uploaded.
	@export KUBECTL="$$($(KUBECTL_PATH))"; hack/release/dry-run.sh "$(VERSION)"

##@ Tests

.PHONY: test
test: ## Unit tests, API server tests and the core of the end-to-end tests, and where the time went (PACKAGES=./internal/quota: what a change of that can break).
	@$(DEPS) $(if $(PACKAGES),unit env,$(if $(filter local,$(CLUSTER)),test,env e2e))
	@MAKE='$(MAKE)' CLUSTER=$(CLUSTER) hack/test/times.sh $(if $(PACKAGES),$(MAKE) test-unit test-env,hack/test/test.sh)

.PHONY: test-release
test-release: ## What make test leaves out: upgrade and rollback, SQLite, the documentation's commands, privileges, hostile servers, slow tests.
	@$(DEPS) $(if $(filter local,$(CLUSTER)),test,env e2e)
	@hack/test/times.sh $(MAKE) test-e2e SUITE=release

.PHONY: test-unit
test-unit: bin/helm ## Tests that need nothing but Go.
	@hack/test/unit.sh $(TESTFLAGS)

.PHONY: coverage
coverage: ## How many of a package's statements its own unit tests run, in percent, the fewest first.
	@go test -cover ./internal/... ./controllers/... ./cmd/... | \
		sed -nE 's#.*hostedbridge/hostedbridge/([^[:space:]]+).*coverage: ([0-9.]+)% of statements.*#\2\t\1#p' | sort -n

.PHONY: test-env
test-env: deps-env assets ## Tests against a real kube-apiserver and etcd.
	@KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)" hack/test/env.sh $(TESTFLAGS)

.PHONY: test-e2e
test-e2e: $(if $(filter local,$(CLUSTER)),deps-test assets,deps-e2e) bin/image test/e2e/node_modules/.package-lock.json ## Tests with outside MCP clients on a real cluster (SUITE=core|release).
	@export KUBECTL="$$($(KUBECTL_PATH))"; \
	CLUSTER=$(CLUSTER) NAME=$(E2E_NAME) PORT=$(E2E_PORT) KEEP=$(KEEP) SUITE=$(SUITE) TESTFLAGS='$(TESTFLAGS)' hack/test/e2e.sh

.PHONY: test-clients
test-clients: test/clients/node_modules/.package-lock.json test/e2e/node_modules/.package-lock.json ## The MCP clients that people use, from npm, against an installation, and docs/clients.md of it. Not part of test.
	@go test -tags=clients -count=1 ./test/clients
	@TIERS_FILE= $(MAKE) test-e2e TESTFLAGS='-tags=e2e,clients -timeout=60m -parallel=2 -run=$(or $(TESTS),TestClientsThatPeopleUse)'

.PHONY: test-upgrade
test-upgrade: bin/image bin/helm ## Upgrade, rollback and uninstall under load on the cluster of make up NAME PORT, from FROM=REV. The end of test-release.
	@bin/image build >&2
	@KUBECONFIG_DEFAULT=$(if $(filter local,$(CLUSTER)),$$PWD/.cluster/$(NAME)/kubeconfig,$$PWD/bin/kind-$(NAME).kubeconfig); \
	HB_URL="$${HB_URL:-http://127.0.0.1:$(PORT)}" HB_KUBECONFIG="$${HB_KUBECONFIG:-$$KUBECONFIG_DEFAULT}" \
	CLUSTER=$(CLUSTER) NAME=$(NAME) FROM='$(FROM)' TESTFLAGS='$(TESTFLAGS)' hack/test/upgrade.sh

.PHONY: test-vault
test-vault: ## The transit provider against a real Vault, which is built for it first. Not part of test.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "transit provider on Vault" hack/test/vault.sh

.PHONY: test-identity
test-identity: test/e2e/node_modules/.package-lock.json ## Build dex, log in at real identity providers, and write their part of docs/operations/providers.md. Not part of test.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "identity providers" hack/test/identity.sh

.PHONY: test-rotation
test-rotation: assets ## Another master key under 10,000 envelopes, with reads and kill -9 meanwhile. Not part of test.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "rotation under load" go test -tags=rotation -count=1 -timeout=30m -v $(TESTFLAGS) ./test/rotation

.PHONY: soak
soak: assets ## 1,000,000 calls of 50 users whose bridges change places, and a look for a foreign byte. Not part of test.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "calls of many tenants" go test -tags=load -count=1 -timeout=60m -v -run='TestNoByte|TestRealBridges|TestARollingRestart' $(TESTFLAGS) ./test/load

.PHONY: chaos
chaos: assets ## kill -9 of ingresses, bridges and Redis for five minutes under load, and the audit trail afterwards. Not part of test.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "kill -9 under load" go test -tags=load -count=1 -timeout=30m -v -run=TestEveryAnswered $(TESTFLAGS) ./test/load

.PHONY: fuzz
fuzz: ## Fuzz every fuzz target for FUZZTIME.
	@grep -rHoE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' --exclude-dir=node_modules . | \
	while IFS=: read -r file name; do \
		$(STAGE) "$${name#func } for $(FUZZTIME)" go test -run='^$$' -fuzz="^$${name#func }\$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; \
	done

.PHONY: bench
bench: ## Run every benchmark for BENCHTIME.
	@packages=$$(grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=node_modules . | xargs -n1 dirname | sort -u); \
	go test -run='^$$' -bench=. -benchmem -benchtime=$(BENCHTIME) $$packages

.PHONY: bench-secrets
bench-secrets: ## What secrets cost, in one table: envelopes, the keybroker, the start of a pod.
	@BENCHTIME=$(BENCHTIME) hack/test/bench-secrets.sh

.PHONY: bench-bridge
bench-bridge: test/bench/node_modules/.package-lock.json ## The bridge beside what one would take instead, from npm, in one run (FORMER=a bridge built with -tags=bench).
	@FORMER='$(FORMER)' $(STAGE) "bridge and others" go test -tags=bench -count=1 -timeout=20m -v $(TESTFLAGS) ./test/bench

.PHONY: bench-ingress
bench-ingress: ## The ingress beside nginx, Caddy and plain Go proxies, in one run and one table. For a quiet machine.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "ingress and others" hack/test/bench-ingress.sh

.PHONY: bench-catalog
bench-catalog: assets ## 10,000 recipes: their import, and reads beside file servers, in one run. For a quiet machine.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "catalog and file servers" hack/test/bench-catalog.sh

.PHONY: bench-login
bench-login: assets test/e2e/node_modules/.package-lock.json ## 1,000 logins a minute and more, with each store, beside npm's oidc-provider, in one run. For a quiet machine.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "logins" hack/test/bench-login.sh

.PHONY: bench-scale
bench-scale: assets ## 10,000 HostedBridges on nodes that kwok plays, beside toolhive's operator, in one run. For a quiet machine.
	@TESTFLAGS='$(TESTFLAGS)' $(STAGE) "scale" hack/test/bench-scale.sh

.PHONY: bench-hostile
bench-hostile: assets ## Another user's calls without and with a user whose servers misbehave, or clients that read no answers, in one run. For a quiet machine.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "hostile servers and a neighbour" go test -tags=load -count=1 -timeout=30m -v -run="TestHowMuchHostile|TestWhatUnread" $(TESTFLAGS) ./test/load

.PHONY: bench-idle
bench-idle: assets ## The memory of bridges that are built as their image is and do nothing, before and after calls.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "idle bridges" go test -tags=load -count=1 -timeout=30m -v -run=TestWhatAnIdleBridgeTakes $(TESTFLAGS) ./test/load

.PHONY: bench-wake
bench-wake: ## The first call after a sleep: a server at a URL, programs from bundles, and by npx (WAKES=20). For a quiet machine.
	@$(MAKE) test-e2e TESTFLAGS='-run=- -bench=BenchmarkWake -benchtime=$(or $(WAKES),20)x'

.PHONY: bench-console
bench-console: test/e2e/node_modules/.package-lock.json ## The administrators' list of 10,000 people: first byte, largest paint in a browser, memory. For a quiet machine.
	@export CHROMIUM="$${CHROMIUM:-$$(command -v chromium-headless-shell || command -v chromium)}"; \
	BENCH_PAINT="$$(ls -d $(CURDIR)/test/e2e/node_modules/node-linux-*/bin/node) $(CURDIR)/test/e2e/clients/paint.mjs" \
	$(STAGE) "the console's list" go test -run='^$$' -bench=BenchmarkPeople -benchtime=100x $(TESTFLAGS) ./internal/ingress

.PHONY: bench-chain
bench-chain: assets test/bench/node_modules/.package-lock.json ## Calls through a whole installation beside what one would take instead, in one run. For a quiet machine.
	@export KUBEBUILDER_ASSETS="$$(bin/cluster build --print-assets)"; \
	$(STAGE) "the whole chain and others" go test -tags=load -count=1 -timeout=40m -v -run=TestWholeChain $(TESTFLAGS) ./test/load

.PHONY: check-recipes
check-recipes: ## What the npm registry says of the packages of config/recipes, and their remote servers of themselves. FILES=1 looks into the packages too, LOCKS=1 makes missing lock files, ONLY=github looks at this one alone, START=1 starts the programs, MEMORY=1 measures ten of them. Not part of test.
	@go run ./hack/recipes $(if $(FILES),--files) $(if $(ONLY),--only=$(ONLY)) $(if $(LOCKS),--locks=internal/laptop/programs/locks) $(if $(START),--start=docs/operations/recipes.md) $(if $(MEMORY),--memory=docs/benchmarks.md)

##@ Before a commit

.PHONY: presubmit
presubmit: verify lint test ## Verify, lint, test.

.PHONY: generate
generate: ## Generate deep copies and CRDs from api/, and config/ from the chart.
	@$(TOOL) controller-gen \
		object:headerFile=hack/boilerplate/go.txt \
		crd paths=./api/... output:crd:dir=config/crd/bases
	@$(CHART_GO) run ./manifests "$(CURDIR)"
	@go tool -modfile=hack/apidocs/go.mod crd-ref-docs --log-level=ERROR --config=hack/apidocs/config.yaml \
		--source-path=api/v1alpha1 --renderer=markdown --output-path=docs/reference/api.md

.PHONY: docs-reference
docs-reference: ## Write the flags and the chart's values into docs/reference. Tests compare them.
	@for package in ./test/docs ./cmd/operator ./cmd/keybroker ./cmd/ingress ./cmd/kubectl-bridge ./cmd/bridge ./cmd/bridgepod ./cmd/shim; do \
		UPDATE_DOCS=1 go test -count=1 -run='^TestTheReference' $$package >/dev/null; \
	done

.PHONY: pictures
pictures: ## Take the pictures of the documentation again, on a cluster of its own.
	@hack/pictures.sh take

.PHONY: verify
verify: bin/cluster bin/helm ## Fail when anything derived is out of date. Changes nothing.
	@export KUBECTL="$$($(KUBECTL_PATH))"; hack/verify.sh

.PHONY: lint
lint: bin/golangci-lint ## Run the linters of .golangci.yml.
	@bin/golangci-lint run ./...
	@cd hack/cluster && ../../bin/golangci-lint run --config=../../.golangci.yml ./cluster/... ./policy/...
	@cd hack/image && ../../bin/golangci-lint run --config=../../.golangci.yml ./...
	@cd hack/helm && ../../bin/golangci-lint run --config=../../.golangci.yml ./...
	@cd hack/monitoring && ../../bin/golangci-lint run --config=../../.golangci.yml ./...

.PHONY: deps-env deps-e2e deps-test
deps-env deps-e2e deps-test: deps-%:
	@$(DEPS) $*

# The programs of Kubernetes: seven minutes once, then from a cache.
.PHONY: assets
assets: bin/cluster
	@$(STAGE) "Kubernetes programs" bin/cluster build

# Go decides what has to be built again; asking it takes a second.
.PHONY: bin/cluster
bin/cluster:
	@CGO_ENABLED=0 go -C hack/cluster build -buildvcs=false -trimpath -o ../../bin/cluster ./cluster

.PHONY: bin/image
bin/image:
	@CGO_ENABLED=0 go -C hack/image build -buildvcs=false -trimpath -o ../../bin/image .

bin/helm: hack/helm/go.mod hack/helm/go.sum
	@echo "building helm: a minute or two, once" >&2
	@CGO_ENABLED=0 go -C hack/helm build -buildvcs=false -trimpath -ldflags='-s -w' -o ../../bin/helm helm.sh/helm/v4/cmd/helm
	@touch $@

bin/golangci-lint: hack/tools/go.mod hack/tools/go.sum
	@echo "building golangci-lint: a minute or two, once" >&2
	@go build -modfile=hack/tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

test/e2e/node_modules/.package-lock.json: test/e2e/package.json test/e2e/package-lock.json test/e2e/.npmrc
	@$(STAGE) "outside MCP clients" npm --prefix=test/e2e ci --loglevel=error
	@touch $@

test/clients/node_modules/.package-lock.json: test/clients/package.json test/clients/package-lock.json test/clients/.npmrc
	@# Not npm ci, which wants the clients' optional packages for all other systems, too.
	@$(STAGE) "clients of npm" npm --prefix=test/clients install --no-save --loglevel=error
	@touch $@

test/bench/node_modules/.package-lock.json: test/bench/package.json test/bench/package-lock.json test/bench/.npmrc
	@npm --prefix=test/bench ci --loglevel=error
	@touch $@
