# Two commands are enough on a fresh Debian or Ubuntu with Go, git and make: make demo, make test.
# `make help` lists all.

PREFIX := /usr/local
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
TOOL := go tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: prometheus help setup build install release demo test race steady lint words bench truth faults fuzz matrix clients cases soak screenshots clean compiler pika

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install rabbitmq-server when no RabbitMQ is found (Debian, Ubuntu; elsewhere: say what to install)
	@sh scripts/setup.sh

build: ## bin/dlxtop
	CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/dlxtop .

install: build ## dlxtop, its man pages and completions below PREFIX (/usr/local), or DESTDIR and PREFIX for packages
	go run ./internal/packaged files bin/release $(VERSION) $$(git log -1 --format=%ct 2>/dev/null || date +%s)
	@set -e; to='$(DESTDIR)$(PREFIX)'; umask 022; \
	put() { mkdir -p "$$to/$$2" && install -m "$$1" "$$3" "$$to/$$2/$$4"; }; \
	put 755 bin bin/dlxtop dlxtop; \
	for page in bin/release/man/*; do put 644 "share/man/man$${page##*.}" "$$page" "$${page##*/}"; done; \
	put 644 share/bash-completion/completions bin/release/completions/dlxtop.bash dlxtop; \
	put 644 share/zsh/site-functions bin/release/completions/_dlxtop _dlxtop; \
	put 644 share/fish/vendor_completions.d bin/release/completions/dlxtop.fish dlxtop.fish; \
	echo "$$to/bin/dlxtop, man pages and completions are installed"

release: ## everything that a release consists of, in dist/ (docs/releasing.md)
	@bash scripts/release.sh

demo: setup ## the dashboard on a throwaway RabbitMQ with live traffic
	@[ -e bin/dlxtop ] || echo "building bin/dlxtop; the first time Go downloads and compiles all of it, which takes some minutes" >&2
	@$(MAKE) --no-print-directory build
	bin/dlxtop demo

test: setup ## all tests, on real brokers (a sample; DLXTOP_FULL=0: each of them; DLXTOP_FULL=2: in full size)
	@bash scripts/test.sh ./...
	@go -C screenshots test ./...

race: setup pika compiler ## the same with the race detector, and two real applications
	@RACE=1 bash scripts/test.sh ./...

steady: setup pika compiler ## make race ten times in a row under a load of four, until one fails (STEADY=3: three times)
	@bash scripts/steady.sh

lint: ## formatting (gofumpt), go vet, staticcheck, and nothing too large to be read
	@unformatted=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted as gofumpt does (go tool -modfile=tools/go.mod gofumpt -w FILE):" >&2; echo "$$unformatted" >&2; exit 1; fi
	go vet -tags soak,clients,faults,prometheus ./...
	$(TOOL) staticcheck -tags soak,clients,faults,prometheus ./...
	go -C screenshots vet -tags pictures ./...
	go run ./internal/sizes

words: ## all that dlxtop says, in bin/words.txt, to be read in one sitting
	@mkdir -p bin && DLXTOP_WORDS=$(CURDIR)/bin/words.txt go test -count=1 -run 'TestSentences$$' ./internal/rules >/dev/null && echo bin/words.txt

bench: setup ## measured figures: whole commands beside shovels, on the installed RabbitMQ and 4.3; screens, memory, start
	@bash scripts/bench.sh

truth: setup ## 2,000 random topologies, settings and stories on a real broker, compared with what the model says
	DLXTOP_FULL=50 go test -run 'WhatTheBrokerDoes' -v -timeout 60m ./mgmt

soak: setup ## an hour of the dashboard on the demo: processor, memory, goroutines (DLXTOP_SOAK=10m: shorter)
	DLXTOP_SOAK=$${DLXTOP_SOAK:-1h} go test -tags soak -run 'TestSoak$$' -v -timeout 90m ./bench

faults: setup ## 200 kills, 100 that are gone on with, 50 of each fault at random moments, 10,000 undone messages, 1,000 undos at once, peeks of 20,000, 10,000 looks at once, 200 topologies that change under plans, 10 nodes that are struck under 112 commands, 50 commands with 10,000 messages each under a struck node on 4.3, 10 each on 4.0 and the installed one (DLXTOP_FULL=50; hours)
	DLXTOP_FULL=$${DLXTOP_FULL:-50} go test -run 'TestClusterFaults' -v -parallel 32 -timeout 180m ./e2e
	@DLXTOP_FULL=$${DLXTOP_FULL:-50} bash scripts/faults.sh
	DLXTOP_FULL=$${DLXTOP_FULL:-50} go test -run 'TestKilled|TestResumed|TestFaults|TestTwoAtOnce|TestUndoOf|TestUndoAtOnce|TestPeekKeepsOrder|TestPeekBeside|TestLooksAtOnce' -v -p 1 -timeout 180m ./broker ./cli

fuzz: ## what reads bytes of a broker, a file or a person, with random ones: each for 10 minutes (DLXTOP_FUZZ=30s: shorter)
	@bash scripts/fuzz.sh

matrix: setup pika ## the tests in full size, and the applications of make clients, on RabbitMQ 3.10, 4.0 and 4.3, and a table of them
	@bash scripts/matrix.sh

clients: setup compiler ## real applications on many frameworks: what dlxtop does right with each, as a table (Linux; installs PHP, Python and Ruby packages as root on Debian, npm's into the cache)
	@bash scripts/clients.sh

prometheus: setup ## a real Prometheus fires and resolves by what dlxtop writes for it (Debian: installs the package as root)
	@command -v promtool >/dev/null || apt-get install -y --no-install-recommends prometheus
	go test -tags prometheus -count=1 -run 'TestPrometheus' -v ./cli

cases: setup ## situations that strangers reported, on a real broker, and what dlxtop says of each
	@bash scripts/test.sh -count=1 ./cases

screenshots: setup build ## pictures of the real program on real queues, and of all screens in all themes (25 minutes; PICTURES=NAME: some)
	go -C screenshots test -tags pictures -count 1 -timeout 60m -v -run 'TestPictures/$(PICTURES)' .

clean: ## remove what was built
	rm -rf bin

# One of the two applications on which `make race` runs dlxtop is written with it.
pika:
	@sh scripts/setup.sh --pika

# The race detector needs cgo, and that a C compiler.
compiler:
	@set -- $$(go env CC); command -v "$$1" >/dev/null || { \
		echo "make race: no C compiler ($$1) found, which Go's race detector needs: install one (Debian, Ubuntu: apt-get install gcc libc6-dev; macOS: xcode-select --install)" >&2; exit 1; }
