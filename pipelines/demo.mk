# demo.mk: the project's own sample mail, from mail to report.
#   make -f pipelines/demo.mk RUN=runs/demo POLICY=models/smollm2

RUN    ?= runs/demo
POLICY ?= models/smollm2
MAIL   ?= $(RUN)/mail.tar.gz
# GRPO steps on a fast machine
MOST   ?= 8

INDEX     := $(RUN)/inbox.db
QUESTIONS := $(RUN)/questions.parquet

report: baselines
	pipelines/plan-steps.sh $(RUN) $(STEPS) $(MOST)
	$(MAKE) -f pipelines/demo.mk $(RUN)/report.html STEPS=$$(cat $(RUN)/steps)
	printf '\n' && cat $(RUN)/table.txt && printf '\nreport: %s\n' $(RUN)/report.html

include pipelines/loop.mk

baselines: $(filter-out %-grpo.jsonl.zst,$(scored_test)) $(RUN)/policy-00/agentmill.json

$(RUN)/mail.tar.gz:
	mkdir -p $(RUN)
	$(STAGE) "sample mail: a made-up company writes" bin/samplemail --out $@

$(RUN)/emails.parquet $(RUN)/inbox.db &: $(MAIL)
	mkdir -p $(RUN)
	$(STAGE) "ingest: mail to records and to the inboxes' index" \
	  bin/ingest $(MAIL) --index $(RUN)/inbox.db --out $(RUN)/emails.parquet

$(RUN)/candidates.jsonl.zst: $(RUN)/emails.parquet $(RUN)/inbox.db
	$(STAGE) "synthq: questions with answers from the mails" \
	  bin/synthq $< --index $(INDEX) --generator extractive --seed $(SEED) --out $@

$(QUESTIONS): $(RUN)/candidates.jsonl.zst
	$(STAGE) "filterq: the questions worth asking, split by inbox" \
	  bin/filterq $< --index $(INDEX) --splits $(RUN)/splits.tsv --out $@

.PHONY: report baselines
