# loop.mk: from questions to a trained policy and its report. Included by the
# pipelines, which set the variables below. Every target is a file that appears
# whole, so an interrupted run goes on with the same command.
#
#   RUN        folder of the run              INDEX      inbox.db to play in
#   QUESTIONS  questions with splits          POLICY     folder of the first policy
#   GAME       rollout's rules of the game    EXPERT_N   questions that the expert plays
#   TEST_N     test questions (0: all)        STEPS      GRPO steps
#   STEP_Q     questions of a step            STEP_A     attempts at each
#   MONITOR    1: an alarm of judge --monitor ends the loop before the step is trained on

SHELL    := bash
STAGE    := pipelines/stage.sh
SEED     ?= 1
GAME     ?= --max-turns 6 --turn-tokens 48 --max-hits 5 --mail-words 150 --tool-format line
SFT      ?= --epochs 2 --batch 4 --lr 2e-4 --warmup 5 --schedule linear
GRPO     ?=
# the rate of the first GRPO step, and which share of it is gone at the last
LR       ?= 2e-5
DECAY    ?= 0
EXPERT_N ?= 96
TEST_N   ?= 64
STEPS    ?= 4
STEP_Q   ?= 6
STEP_A   ?= 4

ROLLOUT = bin/rollout $(QUESTIONS) --index $(INDEX) $(GAME) --shuffle --seed $(SEED)
PLAYTEST = $(ROLLOUT) --split test --limit $(TEST_N) --temperature 0
JUDGE   ?= bin/judge

steps := $(shell seq -f %02g 1 $(STEPS))
last  := $(lastword 00 $(steps))

.DELETE_ON_ERROR:
.SILENT:
.SECONDARY:

# --- the expert's play, and what the student learns from it

$(RUN)/rollouts-expert.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: the expert plays $(EXPERT_N) training questions" \
	  $(ROLLOUT) --policy expert --split train --limit $(EXPERT_N) --out $@

$(RUN)/policy-00/agentmill.json: $(RUN)/scored-expert.jsonl.zst
	$(STAGE) "train: supervised fine-tuning on the expert's play" \
	  bin/train $< --policy $(POLICY) --method sft $(SFT) --seed $(SEED) --out $(@D)

rate = $(shell awk 'BEGIN { printf "%.3g", $(LR) * (1 - $(DECAY) * ($(1) - 1) / $(STEPS)) }')

# --- one GRPO step: $(1) this step, $(2) the one before, $(3) questions to pass over.
# The trainer's state is kept in the newest folder alone, the weights in every tenth and the last.

define step
$(RUN)/rollouts-$(1).jsonl.zst: $(RUN)/policy-$(2)/agentmill.json
	$$(STAGE) "rollout: step $(1) of $(last), $(STEP_Q) questions, $(STEP_A) attempts each" \
	  $$(ROLLOUT) --policy $(RUN)/policy-$(2) --split train --offset $(3) --limit $(STEP_Q) --attempts $(STEP_A) --temperature 1 --out $$@

$(RUN)/policy-$(1)/agentmill.json: $(RUN)/scored-$(1).jsonl.zst
	$(if $(MONITOR),bin/judge --monitor $(RUN)/scored-[0-9][0-9].jsonl.zst >&2)
	$$(STAGE) "train: GRPO step $(1) of $(last)" \
	  bin/train $$< --policy $(RUN)/policy-$(2) --method grpo --lr $(call rate,$(1)) $$(GRPO) --seed $$(SEED) --out $$(@D)
	rm -rf $(RUN)/policy-$(2)/trainer $(if $(patsubst %0,,$(2)),$(RUN)/policy-$(2)/model.safetensors)
endef
$(foreach k,$(steps),$(eval $(call step,$(k),$(shell printf %02d $$((10#$(k) - 1))),$(shell echo $$(($(EXPERT_N) + (10#$(k) - 1) * $(STEP_Q)))))))

# --- the test: the same questions for every policy, greedy

$(RUN)/rollouts-test-heuristic.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: the heuristic policy plays the test questions" $(PLAYTEST) --policy heuristic --out $@

$(RUN)/rollouts-test-prompted.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: the prompted model plays the test questions" $(PLAYTEST) --policy $(POLICY) --out $@

$(RUN)/rollouts-test-sft.jsonl.zst: $(RUN)/policy-00/agentmill.json
	$(STAGE) "rollout: the policy after SFT plays the test questions" $(PLAYTEST) --policy $(<D) --out $@

$(RUN)/rollouts-test-grpo.jsonl.zst: $(RUN)/policy-$(last)/agentmill.json
	$(STAGE) "rollout: the policy after GRPO plays the test questions" $(PLAYTEST) --policy $(<D) --out $@

$(RUN)/scored-%.jsonl.zst: $(RUN)/rollouts-%.jsonl.zst
	$(STAGE) "judge: $*" $(JUDGE) $< --out $@

tested := heuristic prompted sft grpo
scored_test := $(tested:%=$(RUN)/scored-test-%.jsonl.zst)

$(RUN)/report.html: $(scored_test)
	bin/eval $(foreach p,$(tested),--name $(p)=$(RUN)/scored-test-$(p).jsonl.zst) --run $(RUN) \
	  --baseline prompted --baseline sft --report $@ >$(RUN)/table.txt.tmp && mv $(RUN)/table.txt.tmp $(RUN)/table.txt
