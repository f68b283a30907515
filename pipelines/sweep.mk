# sweep.mk: the loop over several policies, and what each gained, against its size.
#   make -f pipelines/sweep.mk POLICIES='models/smollm2 models/other'
#
# Prints a table, by family and size, and draws it into OUT/sweep.svg. All policies play the same questions: those of the
# sample mail, or of QUESTIONS and INDEX. A policy's run is OUT/NAME, by the name of its folder; an interrupted sweep goes
# on with the same command. STEPS, STEP_Q, EXPERT_N, TEST_N, SFT … are those of loop.mk.

SHELL    := bash
OUT      ?= runs/sweep
POLICIES ?=
INDEX    ?= $(OUT)/mail/inbox.db
QUESTIONS ?= $(OUT)/mail/questions.parquet
SEED     ?= 1

names  := $(notdir $(abspath $(POLICIES)))
folder  = $(firstword $(foreach p,$(POLICIES),$(if $(filter $(1),$(notdir $(abspath $(p)))),$(p))))
tested := prompted sft grpo

.NOTPARALLEL:
.DELETE_ON_ERROR:
.SECONDARY:
.SILENT:

sweep: $(names:%=$(OUT)/%.json)
	test -n "$(POLICIES)" || { echo "sweep: POLICIES is not set: want policy folders, as POLICIES='models/smollm2 models/other'" >&2; exit 2; }
	bin/results sweep --svg $(OUT)/sweep.svg $^
	echo "chart: $(OUT)/sweep.svg" >&2

ifneq ($(words $(sort $(names))),$(words $(names)))
$(error sweep: POLICIES has folders of one name, which their runs are called by: $(names))
endif

$(OUT)/mail/questions.parquet $(OUT)/mail/inbox.db &:
	$(MAKE) --no-print-directory -f pipelines/demo.mk RUN=$(OUT)/mail SEED=$(SEED) INDEX=$(OUT)/mail/inbox.db \
	  QUESTIONS=$(OUT)/mail/questions.parquet $(OUT)/mail/questions.parquet

$(OUT)/%.json: $(QUESTIONS) $(INDEX)
	mkdir -p $(OUT)/$*
	$(MAKE) --no-print-directory -f pipelines/loop.mk RUN=$(OUT)/$* POLICY=$(call folder,$*) QUESTIONS=$(QUESTIONS) INDEX=$(INDEX) \
	  SEED=$(SEED) $(tested:%=$(OUT)/$*/scored-test-%.jsonl.zst)
	bin/results unit --unit $* --about "$* in a sweep" --command "make -f pipelines/sweep.mk POLICIES=$(call folder,$*)" \
	  $(foreach t,$(tested),--name $(t)=$(OUT)/$*/scored-test-$(t).jsonl.zst) --baseline prompted --baseline sft \
	  --run $(OUT)/$* --policy $(call folder,$*) --out $@

.PHONY: sweep
