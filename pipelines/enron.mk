# enron.mk: the same on real Enron mail.
#   make -f pipelines/enron.mk MAIL=enron_mail_20150507.tar.gz QUESTIONS=questions.jsonl.gz
#
#   MAIL        the corpus as CMU gives it (tar.gz, never unpacked), or a maildir tree
#   QUESTIONS   questions with splits; without it they are synthesised from the mail
#   OWNERS      whose each mailbox is, for ingest --owners; else found from the mail
#   CUSTODIANS  mailbox folders, as allen-p,delainey-d; by default those of QUESTIONS' inboxes

RUN      ?= runs/enron
POLICY   ?= models/smollm2
EXPERT_N ?= 330
TEST_N   ?= 0
STEPS    ?= 8
STEP_Q   ?= 8
STEP_A   ?= 6
SFT      ?= --epochs 2 --batch 8 --lr 2e-4 --warmup 5 --schedule linear

INDEX    := $(RUN)/inbox.db
empty    :=
comma    := ,
space    := $(empty) $(empty)

# first.last@enron.com has the folder last-f
custodians := $(subst $(comma),$(space),$(CUSTODIANS))
ifeq ($(custodians),)
ifneq ($(QUESTIONS),)
custodians := $(shell pipelines/custodians.sh $(QUESTIONS))
endif
endif

all: $(RUN)/report.html
	printf '\n' && cat $(RUN)/table.txt && printf '\nreport: %s\n' $(RUN)/report.html

ifeq ($(QUESTIONS),)
QUESTIONS := $(RUN)/questions.parquet
endif

include pipelines/loop.mk

$(RUN)/emails.parquet $(RUN)/inbox.db &: $(MAIL)
	test -n "$(MAIL)" || { echo "enron: MAIL is not set: give the corpus, as MAIL=enron_mail_20150507.tar.gz" >&2; exit 2; }
	mkdir -p $(RUN)
	$(STAGE) "ingest: $(if $(custodians),$(custodians),all custodians)" \
	  bin/ingest $(MAIL) $(custodians:%=--match %) $(if $(OWNERS),--owners $(OWNERS)) --index $(RUN)/inbox.db --out $(RUN)/emails.parquet

$(RUN)/candidates.jsonl.zst: $(RUN)/emails.parquet $(RUN)/inbox.db
	$(STAGE) "synthq: questions with answers from the mails" \
	  bin/synthq $< --index $(INDEX) --generator extractive --shapes statement --shapes notice --shapes signature --seed $(SEED) --out $@

$(RUN)/questions.parquet: $(RUN)/candidates.jsonl.zst
	$(STAGE) "filterq: the questions worth asking, split by inbox" \
	  bin/filterq $< --index $(INDEX) --splits $(RUN)/splits.tsv --out $@

.PHONY: all
