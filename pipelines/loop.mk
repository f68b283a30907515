# loop.mk: from questions to a trained policy and its report. Included by the
# pipelines, which set the variables below. Every target is a file that appears
# whole, so an interrupted run goes on with the same command.
#
#   RUN        folder of the run              INDEX      inbox.db to play in
#   QUESTIONS  questions with splits          POLICY     folder of the first policy
#   GAME       rollout's rules of the game    EXPERT_N   questions that the expert plays
#   TEST_N     test questions (0: all)        STEPS      GRPO steps
#   STEP_Q     questions of a step            STEP_A     attempts at each
#   MONITOR    what an alarm of judge --monitor over the steps so far does before a step is trained on: tell (default:
#              it is shown), stop (the loop ends), 0 (nobody looks)
#   SECOND     flags of another judge, such as '--judge llm --base-url URL --model NAME', for the monitor: the reward must
#              not rise while it sees fewer right answers
#   VALIDATE   N: the policy of each step plays N validation questions, for the monitor
#   CURRICULUM flags of filterq --difficulty, such as '--max-pass .95 --order weighted': from the second step on
#              questions are chosen by the attempts of all steps before
#   REFILL     N: where fewer than STEP_Q groups of a step have a signal, more questions are played, at most N times
#   STRAGGLERS share of a step's attempts, such as .9, that is waited for, with three in four at each question; the rest
#              are records of failed attempts. Which those are depends on time: two runs then differ
#   EXPERT     who plays for the student to learn from: expert, or replay:FILE of recorded play
#   SFT_ROWS   scored rows that the student learns from, by default the expert's
#   START      folder of a policy that GRPO starts from; without it the loop makes one by SFT, in policy-00
#   METHOD     of a step: grpo, or distill (with --teacher FOLDER in GRPO)
#   VAL_N      validation questions for choosing a checkpoint (0: all), when RUN/best is asked for
#   ASYNC      K: a step's attempts are played by the policy of K steps earlier, so that with make -j2 playing
#              and training overlap; importance sampling corrects for the difference

SHELL    := bash
STAGE    := pipelines/stage.sh
SEED     ?= 1
# which test questions are played where not all are
TEST_SEED ?= $(SEED)
GAME     ?= --max-turns 6 --turn-tokens 48 --max-hits 5 --mail-words 150 --tool-format line
SFT      ?= --epochs 2 --batch 4 --lr 2e-4 --warmup 5 --schedule linear
GRPO     ?=
EXPERT   ?= expert
SFT_ROWS ?= $(RUN)/scored-expert.jsonl.zst
METHOD   ?= grpo
VAL_N    ?= 0
# the rate of the first GRPO step, and which share of it is gone at the last
LR       ?= 2e-5
DECAY    ?= 0
EXPERT_N ?= 96
TEST_N   ?= 64
STEPS    ?= 4
STEP_Q   ?= 6
STEP_A   ?= 4
ASYNC    ?= 0
MONITOR  ?= tell

PLAY     = bin/rollout $(QUESTIONS) --index $(INDEX) $(GAME) --shuffle --seed
ROLLOUT  = $(PLAY) $(SEED)
PLAYTEST = $(PLAY) $(TEST_SEED) --split test --limit $(TEST_N) --temperature 0
PLAYVAL  = $(PLAY) $(TEST_SEED) --split val --temperature 0
JUDGE   ?= bin/judge

steps := $(shell seq -f %02g 1 $(STEPS))
last  := $(lastword 00 $(steps))
# the checkpoints whose weights are kept
kept  := $(sort 00 $(filter %0,$(steps)) $(last))

# of policy $(1): its folder, and the file that says that it is whole, where the loop makes it
folder = $(if $(and $(START),$(filter 00,$(1))),$(START),$(RUN)/policy-$(1))
made   = $(if $(and $(START),$(filter 00,$(1))),,$(RUN)/policy-$(1)/agentmill.json)

.DELETE_ON_ERROR:
.SILENT:
.SECONDARY:

# --- the expert's play, and what the student learns from it

$(RUN)/rollouts-expert.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: $(EXPERT) plays $(if $(filter 0,$(EXPERT_N)),the,$(EXPERT_N)) training questions" \
	  $(ROLLOUT) --policy $(EXPERT) --split train --limit $(EXPERT_N) --out $@

$(RUN)/policy-00/agentmill.json: $(SFT_ROWS)
	$(STAGE) "train: supervised fine-tuning on $(if $(filter-out $(RUN)/%,$(SFT_ROWS)),$(SFT_ROWS),the expert's play)" \
	  bin/train $^ --policy $(POLICY) --method sft $(SFT) --seed $(SEED) --out $(@D)

rate = $(shell awk 'BEGIN { printf "%.3g", $(LR) * (1 - $(DECAY) * ($(1) - 1) / $(STEPS)) }')

# --- one GRPO step: $(1) this step, $(2) the one before, $(3) questions to pass over, $(4) the policy that
# plays, $(5) the policy that nobody plays any more, $(6) questions to pass over for a refill. The trainer's state is kept in the newest folder alone, the
# weights in every tenth and the last.

# whether the questions of a step that policy $(1) plays are chosen by attempts
chosen = $(and $(CURRICULUM),$(filter-out 00,$(1)))
earlier = $(foreach k,$(steps),$(if $(filter 1,$(shell echo $$((10#$(k) < 10#$(1))))),$(RUN)/scored-$(k).jsonl.zst))

define step
$(RUN)/questions-$(1).jsonl.zst: $(call made,$(4))
	$$(STAGE) "filterq: questions of step $(1), by the attempts so far" \
	  bin/filterq $(QUESTIONS) $(foreach f,$(call earlier,$(4)) $(if $(filter-out 00,$(4)),$(RUN)/scored-$(4).jsonl.zst),--difficulty $(f)) $(CURRICULUM) --order-seed $$(SEED)$(1) --out $$@

$(RUN)/rollouts-$(1).jsonl.zst: $(call made,$(4)) $(if $(call chosen,$(4)),$(RUN)/questions-$(1).jsonl.zst)
	$$(STAGE) "rollout: step $(1) of $(last), $(STEP_Q) questions, $(STEP_A) attempts each" \
	  $(if $(REFILL),pipelines/refill.sh $$@ $(call folder,$(4)) $(STEP_Q) $(if $(call chosen,$(4)),0 $(STEP_Q),$(3) $(6)) $(REFILL) "$(JUDGE)" -- )$(if $(call chosen,$(4)),bin/rollout $(RUN)/questions-$(1).jsonl.zst --index $(INDEX) $(GAME) --seed $(SEED),$$(ROLLOUT)) --policy $(call folder,$(4)) --split train$(if $(REFILL),,$(if $(call chosen,$(4)),, --offset $(3)) --limit $(STEP_Q)) --attempts $(STEP_A) --temperature 1$(if $(STRAGGLERS), --stragglers $(STRAGGLERS))$(if $(REFILL),, --out $$@)

$(RUN)/second-$(1).jsonl.zst: $(RUN)/rollouts-$(1).jsonl.zst
	$$(STAGE) "judge: step $(1), by the second judge" bin/judge $$< $$(SECOND) --out $$@

$(RUN)/rollouts-val-$(1).jsonl.zst: $(call made,$(4))
	$$(STAGE) "rollout: step $(1), $(VALIDATE) validation questions" $$(PLAYVAL) --policy $(call folder,$(4)) --limit $(VALIDATE) --out $$@

$(RUN)/policy-$(1)/agentmill.json: $(RUN)/scored-$(1).jsonl.zst$(if $(SECOND), $(RUN)/second-$(1).jsonl.zst)$(if $(VALIDATE), $(RUN)/scored-val-$(1).jsonl.zst)$(if $(filter-out 0,$(ASYNC)), $(call made,$(2)))
	$(if $(filter-out 0,$(MONITOR)),pipelines/monitor.sh $(RUN) $(patsubst 1,stop,$(MONITOR)))
	$$(STAGE) "train: $(METHOD) step $(1) of $(last)" \
	  bin/train $$< --policy $(call folder,$(2)) --method $(METHOD) --lr $(call rate,$(1)) $(if $(filter 1 stop,$(MONITOR)),--stop-on-alarm $(RUN)/alarms.jsonl )$(if $(filter-out 0,$(ASYNC)),--max-staleness $(ASYNC) )$$(GRPO) --seed $$(SEED) --out $$(@D)
	rm -rf $(RUN)/policy-$(2)/trainer $(if $(patsubst %0,,$(5)),$(RUN)/policy-$(5)/model.safetensors)
endef
number = $(shell printf %02d $$(($(1))))
before = $(call number,10#$(1) > $(2) ? 10#$(1) - $(2) : 0)
$(foreach k,$(steps),$(eval $(call step,$(k),$(call before,$(k),1),$(shell echo $$(($(EXPERT_N) + (10#$(k) - 1) * $(STEP_Q)))),$(call before,$(k),(1 + $(ASYNC))),$(call before,$(k),(1 + $(ASYNC))),$(shell echo $$(($(EXPERT_N) + ($(STEPS) + (10#$(k) - 1) * $(or $(REFILL),0)) * $(STEP_Q)))))))

# --- the checkpoint that does best on validation questions; its play of the test questions is scored-test-best

define choice
$(RUN)/rollouts-choice-$(1).jsonl.zst: $(call made,$(1))
	$$(STAGE) "rollout: policy $(1) plays the validation questions" $$(PLAYVAL) --policy $(call folder,$(1)) --limit $(VAL_N) --out $$@
endef
$(foreach k,$(kept),$(eval $(call choice,$(k))))

$(RUN)/best: $(kept:%=$(RUN)/scored-choice-%.jsonl.zst)
	bin/results best $(foreach k,$(kept),--name $(call folder,$(k))=$(RUN)/scored-choice-$(k).jsonl.zst) >$@.tmp && mv $@.tmp $@

$(RUN)/rollouts-test-best.jsonl.zst: $(RUN)/best
	$(STAGE) "rollout: the checkpoint chosen on validation plays the test questions" $(PLAYTEST) --policy $$(cat $<) --out $@

# --- the test: the same questions for every policy, greedy

$(RUN)/rollouts-test-heuristic.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: the heuristic policy plays the test questions" $(PLAYTEST) --policy heuristic --out $@

$(RUN)/rollouts-test-prompted.jsonl.zst: $(QUESTIONS) $(INDEX)
	$(STAGE) "rollout: the prompted model plays the test questions" $(PLAYTEST) --policy $(POLICY) --out $@

$(RUN)/rollouts-test-sft.jsonl.zst: $(call made,00)
	$(STAGE) "rollout: the policy after SFT plays the test questions" $(PLAYTEST) --policy $(call folder,00) --out $@

$(RUN)/rollouts-test-grpo.jsonl.zst: $(RUN)/policy-$(last)/agentmill.json
	$(STAGE) "rollout: the policy after GRPO plays the test questions" $(PLAYTEST) --policy $(<D) --out $@

$(RUN)/scored-%.jsonl.zst: $(RUN)/rollouts-%.jsonl.zst
	$(STAGE) "judge: $*" $(JUDGE) $< --out $@

tested := heuristic prompted sft grpo
scored_test := $(tested:%=$(RUN)/scored-test-%.jsonl.zst)

$(RUN)/report.html: $(scored_test)
	bin/eval $(foreach p,$(tested),--name $(p)=$(RUN)/scored-test-$(p).jsonl.zst) --run $(RUN) \
	  --baseline prompted --baseline sft --report $@ >$(RUN)/table.txt.tmp && mv $(RUN)/table.txt.tmp $(RUN)/table.txt
