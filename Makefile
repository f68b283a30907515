# agentmill: `make demo` runs the main job, `make test` passes the tests.
SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

stages   := ingest synthq filterq rollout judge train eval
MODEL    ?= models/smollm2
GOFLAGS  += -trimpath
GOFUMPT  := mvdan.cc/gofumpt@v0.9.2
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

demo: build $(if $(filter models/smollm2,$(MODEL)),model) ## train an agent on sample mail and write runs/demo/report.html (20 minutes)
	$(MAKE) --no-print-directory -f pipelines/demo.mk RUN=runs/demo POLICY=$(MODEL)

demo-long: build $(if $(filter models/smollm2,$(MODEL)),model) ## the same with more of everything: GRPO's own gain (2.5 hours)
	$(MAKE) --no-print-directory -f pipelines/demo.mk RUN=runs/demo-long POLICY=$(MODEL) \
	  EXPERT_N=256 TEST_N=200 STEPS=60 STEP_Q=8 STEP_A=4 MOST=60 LR=3e-5 DECAY=.9 \
	  SFT="--epochs 1 --batch 4 --lr 2e-4 --warmup 5 --schedule linear"

enron: build $(if $(filter models/smollm2,$(MODEL)),model) ## the same on real Enron mail: MAIL=… [CUSTODIANS=…] [QUESTIONS=…]
	$(MAKE) --no-print-directory -f pipelines/enron.mk POLICY=$(MODEL) MAIL="$(MAIL)" CUSTODIANS="$(CUSTODIANS)" QUESTIONS="$(QUESTIONS)"

results: build $(if $(filter models/smollm2,$(MODEL)),model) ## the comparisons of docs/RESULTS.md, one by one: about a day of two cores each group
	$(MAKE) --no-print-directory -f pipelines/results.mk POLICY=$(MODEL)

build: ## the seven programs and three helpers, into bin/
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/... ./tools/samplemail ./tools/tinymodel ./tools/results

model: ## fetch the small model that the demo starts from, into models/smollm2
	pipelines/model.sh models/smollm2

test: ## every test that needs no pip (12 minutes at most)
	go test -timeout 30m -shuffle=on $(TESTFLAGS) ./...
	$(MAKE) --no-print-directory smoke

race: ## the concurrent packages under the race detector (needs a C compiler)
	go test -race -short ./internal/agent/... ./internal/env/... ./internal/journal/... ./internal/ordered/... \
	  ./internal/progress/... ./internal/openai/... ./internal/rollout/... ./internal/judge/... ./internal/infer/...

check-env: build ## is an environment worth training in? QUESTIONS=… INDEX=… [POLICIES="folder …"] [BASE_URL=… SERVED=model]
	pipelines/check-env.sh $(or $(QUESTIONS),runs/demo/questions.parquet) $(or $(INDEX),runs/demo/inbox.db) $(POLICIES)

smoke: build ## the whole pipeline through the seven programs with a tiny random model
	pipelines/smoke.sh

test-interop: build model ## tests against transformers, PyTorch, PEFT and llama.cpp (fetched by pip)
	tests/interop/run.sh

test-server: model ## the client of model servers against llama.cpp's (fetched by pip, if it can be)
	tests/interop/server.sh

check: fmt vet lint ## formatting, vet and linters

fmt:
	@out=$$(go run $(GOFUMPT) -l cmd internal tools bench); test -z "$$out" || { echo "not formatted: $$out"; exit 1; }

vet:
	go vet ./...
	GOARCH=arm64 go vet ./...
	go vet -tags purego ./...

lint:
	go run $(GOLANGCI) run
	@if command -v shellcheck >/dev/null; then shellcheck pipelines/*.sh; else echo "shellcheck is not installed: shell scripts not checked"; fi

generate: ## write generated files anew
	go generate ./...

clean: ## remove binaries and runs, keep the model
	rm -rf bin runs

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: demo demo-long enron results build model test race smoke check-env test-interop test-server check fmt vet lint generate clean help
