# results.mk: the comparisons of docs/RESULTS.md, one unit after the other.
#   make -f pipelines/results.mk                          all units that are not there yet, in order
#   make -f pipelines/results.mk enron-grpo-1             one unit, with what it needs
#   make -f pipelines/results.mk page                     the tables of the page anew
#   make -f pipelines/results.mk json NAME=enron-sft-reading-1 SCORED=scored.jsonl FOLDER=policy
#                                                         a unit from rows that were scored elsewhere
#
# A unit leaves docs/results/UNIT.json and is done then: delete the file to run it again. What it makes on the
# way is in runs/results/UNIT, file by file, so an interrupted unit goes on with the same command. Units of real mail
# need the user's mail and questions:
#
#   MAIL, QUESTIONS, OWNERS  as enron.mk has them; by default those of AGENTMILL_SHARED, if that is set
#   TEACHER, STRONG          recorded play of training and of test questions, for rollout --policy replay:FILE
#   MIX                      the rows (of mixes, below) after which GRPO begins: those that do best on validation
#   SEEDS                    of the main comparison
#   STEPS, ABL_STEPS         GRPO steps of the main comparison, and of ablations
#   …_N                      questions, 0 for all; those of sample mail are called SAMPLE_…

SHELL  := bash
OUT    ?= runs/results
DOCS   ?= docs/results
PAGE   ?= docs/RESULTS.md
POLICY ?= models/smollm2
SEEDS  ?= 1 2 3
MIX    ?= reading
GAME   ?= --max-turns 6 --turn-tokens 48 --max-hits 5 --mail-words 150 --tool-format line

ifneq ($(AGENTMILL_SHARED),)
MAIL      ?= $(AGENTMILL_SHARED)/enron/enron_sample_dev.tar.gz
QUESTIONS ?= $(AGENTMILL_SHARED)/enron/questions.jsonl.gz
OWNERS    ?= $(AGENTMILL_SHARED)/enron/owners.tsv
TEACHER   ?= $(AGENTMILL_SHARED)/enron/teacher.jsonl.gz
STRONG    ?= $(AGENTMILL_SHARED)/enron/strong-baseline.jsonl.gz
endif

# real mail: 395 test questions, 155 for validation, 554 to train on
SFT      ?= --epochs 1 --batch 8 --lr 2e-4 --warmup 5 --schedule linear
EXPERT_N ?= 0
OPEN_N   ?= 300
SYNTH_N  ?= 2000
TEST_N   ?= 0
VAL_N    ?= 0
STEPS    ?= 40
ABL_STEPS ?= 20
STEP_Q   ?= 8
STEP_A   ?= 6
LR       ?= 2e-5
DECAY    ?= .5

# sample mail, as make demo-long has it
SAMPLE_SFT      ?= --epochs 1 --batch 4 --lr 2e-4 --warmup 5 --schedule linear
SAMPLE_EXPERT_N ?= 256
SAMPLE_TEST_N   ?= 200
SAMPLE_VAL_N    ?= 60
SAMPLE_STEPS    ?= 60
SAMPLE_STEP_Q   ?= 8
SAMPLE_STEP_A   ?= 4
SAMPLE_LR       ?= 3e-5
SAMPLE_DECAY    ?= .9
SAMPLE_MAIL     ?=
FEW             ?= 72
# passes of SFT that take about as long as SFT and SAMPLE_STEPS of GRPO
EQUAL_EPOCHS    ?= 8

.NOTPARALLEL:
.DELETE_ON_ERROR:
.SECONDARY:
.SILENT:

all: results

# --- mail, questions, and rows to learn from. A unit's loop is loop.mk with the variables of its mail.

comma := ,
RESULTS = $(MAKE) --no-print-directory -f pipelines/results.mk
LOOP    = $(MAKE) --no-print-directory -f pipelines/loop.mk
world   = $(firstword $(subst -, ,$(1)))
played  = $(1:%=$(OUT)/%/test.jsonl.zst)
rows    = $(1:%=$(OUT)/%/scored-expert.jsonl.zst)

loop-enron  = INDEX=$(OUT)/enron/inbox.db QUESTIONS=$(QUESTIONS) POLICY=$(POLICY) GAME="$(GAME)" SFT="$(SFT)" EXPERT_N=$(EXPERT_N) \
  TEST_N=$(TEST_N) VAL_N=$(VAL_N) STEPS=$(STEPS) STEP_Q=$(STEP_Q) STEP_A=$(STEP_A) LR=$(LR) DECAY=$(DECAY) SEED=1 TEST_SEED=1
loop-sample = INDEX=$(OUT)/sample/inbox.db QUESTIONS=$(OUT)/sample/questions.parquet POLICY=$(POLICY) GAME="$(GAME)" SFT="$(SAMPLE_SFT)" \
  EXPERT_N=$(SAMPLE_EXPERT_N) TEST_N=$(SAMPLE_TEST_N) VAL_N=$(SAMPLE_VAL_N) STEPS=$(SAMPLE_STEPS) STEP_Q=$(SAMPLE_STEP_Q) \
  STEP_A=$(SAMPLE_STEP_A) LR=$(SAMPLE_LR) DECAY=$(SAMPLE_DECAY) SEED=1 TEST_SEED=1
data-enron  = $(OUT)/enron/inbox.db
data-sample = $(OUT)/sample/questions.parquet
ENRON       = $(MAKE) --no-print-directory -f pipelines/enron.mk RUN=$(OUT)/enron MAIL=$(MAIL) QUESTIONS=$(QUESTIONS) OWNERS=$(OWNERS) SEED=1

$(OUT)/enron/inbox.db:
	test -n "$(MAIL)" -a -n "$(QUESTIONS)" || { echo "results: MAIL and QUESTIONS are not set: units of real mail need both, as in make results MAIL=enron_mail_20150507.tar.gz QUESTIONS=questions.jsonl.gz" >&2; exit 2; }
	$(ENRON) $@

# the inboxes of extractive questions are split as those of QUESTIONS are
$(OUT)/enron/splits.tsv: | $(OUT)/enron/inbox.db
	bin/filterq $(QUESTIONS) --splits $@ >/dev/null

$(OUT)/enron/questions.parquet: | $(OUT)/enron/splits.tsv
	$(ENRON) $@

# what synthq wrote, with splits but none of filterq's other checks
$(OUT)/enron/unfiltered.jsonl: | $(OUT)/enron/questions.parquet
	bin/filterq $(@D)/candidates.jsonl.zst --splits $(@D)/splits.tsv --out $(@D)/loose.jsonl --keep-drops $(@D)/drops.jsonl
	cat $(@D)/loose.jsonl $(@D)/drops.jsonl | grep -F -f <(awk -F '\t' '$$2 == "train" { printf "\"inbox_address\":\"%s\"\n", $$1 }' $(@D)/splits.tsv) | \
	  sed 's/"split":"[a-z]*"/"split":"train"/' >$@.tmp && mv $@.tmp $@

$(OUT)/sample/questions.parquet:
	$(MAKE) --no-print-directory -f pipelines/demo.mk RUN=$(OUT)/sample MAIL=$(or $(SAMPLE_MAIL),$(@D)/mail.tar.gz) QUESTIONS=$@ SEED=1 $@

# FEW training questions, by their ids, which are hashes, and all the others
$(OUT)/sample/few.jsonl: | $(OUT)/sample/questions.parquet
	bin/filterq $(OUT)/sample/questions.parquet --out $(OUT)/sample/all.jsonl
	{ grep '"split":"train"' $(OUT)/sample/all.jsonl | LC_ALL=C sort | head -n $(FEW); grep -v '"split":"train"' $(OUT)/sample/all.jsonl; } >$@.tmp && mv $@.tmp $@

# rows to learn from: $(1) name, $(2) what the loop is told, $(3) what is needed besides
define rowset
$(call rows,$(1)): | $(data-$(call world,$(1))) $(3)
	mkdir -p $$(@D)
	$$(LOOP) RUN=$$(@D) $$(loop-$(call world,$(1))) $(2) $$@
endef

$(eval $(call rowset,sample-rows-expert))
$(eval $(call rowset,enron-rows-expert))
$(eval $(call rowset,enron-rows-teacher,EXPERT=replay:$(TEACHER) EXPERT_N=0,$(if $(TEACHER),,need-TEACHER)))
$(eval $(call rowset,enron-rows-open,QUESTIONS=$(OUT)/enron/questions.parquet EXPERT_N=$(OPEN_N) GAME="$(GAME) --open-mail",$(OUT)/enron/questions.parquet))
$(eval $(call rowset,enron-rows-synth,QUESTIONS=$(OUT)/enron/questions.parquet EXPERT_N=$(SYNTH_N),$(OUT)/enron/questions.parquet))
$(eval $(call rowset,enron-rows-unfiltered,QUESTIONS=$(OUT)/enron/unfiltered.jsonl EXPERT_N=$(SYNTH_N),$(OUT)/enron/unfiltered.jsonl))

# --- units. $(1) name, $(2) table of the page, $(3) whose play of the test questions it is, as loop.mk calls them,
# $(4) the unit that it is compared with, $(5) what is needed first, $(6) what the loop is told, $(7) what it is
define unit
units += $(1)
section-$(1)  := $(2)
against-$(1)  := $(4)
settings-$(1)  = $(6)
about-$(1)    := $(7)

$(1): $(DOCS)/$(1).json

$(DOCS)/$(1).json:
	$$(RESULTS) $(call played,$(1) $(4))
	$$(RESULTS) json NAME=$(1)

$(call played,$(1)): | $(data-$(call world,$(1))) $(5)
	mkdir -p $$(@D)
	$$(LOOP) RUN=$$(@D) $$(loop-$(call world,$(1))) $$(settings-$(1)) $$(@D)/rollouts-test-$(3).jsonl.zst
	bin/judge $$(@D)/rollouts-test-$(3).jsonl.zst --out $$@
	$(if $(filter sft best grpo,$(3)),$$(call keep,$(3)))
endef

# what a unit's policy is called, for those that go on from it; what its training needed is not kept
keep = rm -rf $(@D)/policy-*/trainer $(@D)/policy; ln -s "$$(cd "$(keep-$(1))" && pwd)" $(@D)/policy
keep-sft  = $(or $(patsubst START=%,%,$(filter START=%,$(settings-$(notdir $(@D))))),$(@D)/policy-00)
keep-grpo = $$(ls -d $(@D)/policy-[0-9]* | tail -1)
keep-best = $$(cat $(@D)/best)
policy = $(OUT)/$(1)/policy

# rows of several seeds count as attempts of one policy: $(1) name, $(2) table, $(3) units, $(4) compared with, $(5) what it is
define pooled
units += $(1)
section-$(1) := $(2)
against-$(1) := $(4)
about-$(1)   := $(5)

$(1): $(DOCS)/$(1).json

$(DOCS)/$(1).json:
	$$(RESULTS) $(call played,$(1) $(4))
	$$(RESULTS) json NAME=$(1)

$(call played,$(1)): | $(call played,$(3))
	mkdir -p $$(@D)
	cat $(call played,$(3)) >$$@.tmp && mv $$@.tmp $$@
endef

# accuracy on validation questions, checkpoint by checkpoint, of the unit $(1)
define curve
units += $(1)-curve
section-$(1)-curve := curves
about-$(1)-curve   := $(1) on validation questions, checkpoint by checkpoint

$(1)-curve: $(DOCS)/$(1)-curve.json

$(DOCS)/$(1)-curve.json:
	$$(RESULTS) $(call played,$(1))
	names=(); for f in $(OUT)/$(1)/scored-choice-*.jsonl.zst; do k=$$$${f##*choice-}; names+=(--name "$(1) step $$$${k%%.*}=$$$$f"); done; \
	bin/results unit --unit $(1)-curve --about "$$(about-$(1)-curve)" --command "make -f pipelines/results.mk $(1)-curve" \
	  "$$$${names[@]}" --baseline "$(1) step 00" --run $(OUT)/$(1) --out $$@
	$$(RESULTS) page
endef

# the comparison of all policies
$(eval $(call unit,enron-heuristic,main,heuristic,,,,the heuristic: a program without a model))
$(eval $(call unit,enron-prompted,main,prompted,enron-heuristic,,,the model before any training))
$(eval $(call unit,enron-strong,main,prompted,enron-heuristic,$(if $(STRONG),,need-STRONG),POLICY=replay:$(STRONG) GAME="--search all --max-turns 11 --tool-format line",a strong assistant's recorded play of some of the questions$(comma) judged by match))

s1 := $(firstword $(SEEDS))
mixes := expert teacher both reading
mix-expert       = expert
mix-teacher      = teacher
mix-both         = expert teacher
mix-reading      = expert open
mix-synth        = synth
mix-hand-synth   = expert synth
mix-unfiltered   = unfiltered
what-expert     := the scripted expert's play of the hand-written questions
what-teacher    := a strong assistant's recorded play of the hand-written questions
what-both       := expert and strong assistant
what-reading    := the expert's play and reading exercises on extractive questions
what-synth      := the expert's play of extractive questions alone
what-hand-synth := the expert's play of hand-written and extractive questions
what-unfiltered := the expert's play of extractive questions that no filter saw

mixrows = $(call rows,$(mix-$(1):%=enron-rows-%))
# $(1) mix, $(2) seed, $(3) table, $(4) compared with
sft = $(eval $(call unit,enron-sft-$(1)-$(2),$(3),sft,$(4),$(call mixrows,$(1)),SFT_ROWS="$(call mixrows,$(1))" SEED=$(2),after SFT on $(what-$(1))$(comma) seed $(2)))
grpo = $(eval $(call unit,enron-grpo-$(1),main,best,enron-sft-$(MIX)-$(1),$(call played,enron-sft-$(MIX)-$(1)),START=$(call policy,enron-sft-$(MIX)-$(1)) SEED=$(1),after GRPO from enron-sft-$(MIX)-$(1)$(comma) the checkpoint that is best on validation$(comma) seed $(1)))

$(foreach s,$(s1),$(foreach m,$(mixes),$(call sft,$(m),$(s),main,$(if $(filter expert,$(m)),enron-heuristic,enron-sft-expert-$(s))))$(call grpo,$(s)))
$(foreach s,$(wordlist 2,99,$(SEEDS)),$(foreach m,$(mixes),$(call sft,$(m),$(s),main,$(if $(filter expert,$(m)),enron-heuristic,enron-sft-expert-$(s))))$(call grpo,$(s)))
$(foreach m,$(mixes),$(eval $(call pooled,enron-sft-$(m),main,$(SEEDS:%=enron-sft-$(m)-%),$(if $(filter expert,$(m)),enron-heuristic,enron-sft-expert),after SFT on $(what-$(m))$(comma) all seeds)))
$(eval $(call pooled,enron-grpo,main,$(SEEDS:%=enron-grpo-%),enron-sft-$(MIX),after GRPO$(comma) all seeds))

# the error budget: $(1) the policy's unit, $(2) what the loop is told of it, $(3) whose play, $(4) what is needed
budget = $(eval $(call unit,$(1)-oracle-search,budget,$(3),$(1),$(4),$(2) GAME="$(GAME) --oracle search",$(1) after the expert's search))\
  $(eval $(call unit,$(1)-oracle-read,budget,$(3),$(1),$(4),$(2) GAME="$(GAME) --oracle read",$(1) with the right mail open))\
  $(call strict,$(1),$(2),$(3),$(4))
strict = $(eval $(call unit,$(1)-all,budget,$(3),$(1),$(4),$(2) GAME="$(GAME) --search all",$(1) under --search all: all words must occur$(comma) newest first))
budgeted = $(call $(1),$(2),START=$(call policy,$(2)),sft,$(call played,$(2)))

$(call strict,enron-heuristic,,heuristic,)
$(call budget,enron-prompted,,prompted,)
$(foreach m,$(filter-out $(MIX),$(mixes)),$(call budgeted,strict,enron-sft-$(m)-$(s1)))
$(foreach p,enron-sft-$(MIX)-$(s1) enron-grpo-$(s1),$(call budgeted,budget,$(p)))

# sample mail
$(eval $(call unit,sample-heuristic,sample,heuristic,,,,the heuristic))
$(eval $(call unit,sample-prompted,sample,prompted,sample-heuristic,,,the model before any training))
$(eval $(call unit,sample-sft,sample,sft,sample-heuristic,$(call rows,sample-rows-expert),SFT_ROWS=$(call rows,sample-rows-expert),after SFT on the expert's play))
$(eval $(call unit,sample-grpo,sample,best,sample-sft,$(call played,sample-sft),START=$(call policy,sample-sft),after $(SAMPLE_STEPS) steps of GRPO from sample-sft$(comma) the checkpoint that is best on validation))
$(foreach p,sample-sft sample-grpo,$(call budgeted,budget,$(p)))

# ablations, $(ABL_STEPS) steps from the same policy each: $(1) mail, $(2) name, $(3) table, $(4) what the loop is told,
# $(5) what it is, $(6) what is needed. The test is judged by the usual reward always.
abl-start-sample = sample-sft
abl-start-enron  = enron-sft-$(MIX)-$(s1)
ablation = $(eval $(call unit,$(1)-$(2),$(3),grpo,$(1)-short,$(call played,$(abl-start-$(1))) $(6),START=$(call policy,$(abl-start-$(1))) STEPS=$(ABL_STEPS) $(4),$(5)))
short = $(eval $(call unit,$(1)-short,rewards,grpo,$(abl-start-$(1)),$(call played,$(abl-start-$(1))),START=$(call policy,$(abl-start-$(1))) STEPS=$(ABL_STEPS),$(ABL_STEPS) steps of GRPO with nothing changed))
reward-ablations = $(call short,$(1))\
  $(call ablation,$(1),no-turns,rewards,JUDGE="bin/judge --without few_turns",the reward without the term for few turns)\
  $(call ablation,$(1),no-wrong,rewards,JUDGE="bin/judge --without abstain",the reward without the term for wrong answers: a wrong one costs nothing)\
  $(call ablation,$(1),binary,rewards,JUDGE="bin/judge --reward binary",1 for a right answer and 0 for any other)
advantage-ablations = $(call ablation,$(1),std,advantages,GRPO="--advantage grpo",advantages divided by the group's deviation)\
  $(call ablation,$(1),salt,advantages,GRPO="--advantage salt",SALT)\
  $(call ablation,$(1),hard-first,advantages,CURRICULUM="--order hard-first",hard questions first)
$(call reward-ablations,sample)
$(call reward-ablations,enron)
$(call advantage-ablations,sample)
$(call ablation,sample,few,advantages,QUESTIONS=$(OUT)/sample/few.jsonl,trained on $(FEW) questions,$(OUT)/sample/few.jsonl)
$(call advantage-ablations,enron)

# other ways to the same end
$(eval $(call unit,sample-grpo-only,methods,best,sample-sft,,START=$(POLICY),GRPO straight from the prompted model))
$(eval $(call unit,sample-distill-only,methods,best,sample-sft,$(call played,sample-grpo),START=$(POLICY) METHOD=distill GRPO="--teacher $(call policy,sample-grpo)",on-policy distillation straight from the prompted model; its teacher is sample-grpo))
$(eval $(call unit,sample-sft-distill,methods,best,sample-sft,$(call played,sample-sft sample-grpo),START=$(call policy,sample-sft) METHOD=distill GRPO="--teacher $(call policy,sample-grpo)",SFT and then on-policy distillation; its teacher is sample-grpo))
$(eval $(call unit,sample-sft-equal,methods,sft,sample-grpo,$(call rows,sample-rows-expert),SFT_ROWS=$(call rows,sample-rows-expert) SFT="$(SAMPLE_SFT) --epochs $(EQUAL_EPOCHS)",SFT alone$(comma) $(EQUAL_EPOCHS) passes))

# which questions teach
$(foreach m,synth hand-synth unfiltered,$(call sft,$(m),$(s1),data,$(if $(filter unfiltered,$(m)),enron-sft-synth-$(s1),enron-sft-expert-$(s1))))

$(foreach u,enron-grpo-$(s1) sample-grpo sample-grpo-only,$(eval $(call curve,$(u))))

# --- the page

# units whose inputs were named; those of recorded play have its name in theirs
recorded = $(if $(STRONG),,$(findstring strong,$(1)))$(if $(TEACHER),,$(findstring teacher,$(1))$(findstring both,$(1)))
ready := $(foreach u,$(if $(and $(MAIL),$(QUESTIONS)),$(units),$(filter sample-%,$(units))),$(if $(call recorded,$(u)),,$(u)))
unset := $(strip $(foreach v,MAIL QUESTIONS TEACHER STRONG,$(if $($(v)),,$(v))))

results:
	$(if $(unset),echo "results: not set: $(unset); units that need them are left out (real mail needs MAIL and QUESTIONS)" >&2)
	for u in $(ready); do $(RESULTS) $$u || exit; done
	$(RESULTS) page

SCORED  ?= $(OUT)/$(NAME)/test.jsonl.zst
FOLDER  ?= $(OUT)/$(NAME)
AGAINST ?= $(and $(against-$(NAME)),$(wildcard $(call played,$(against-$(NAME)))))
json:
	test -n "$(filter $(units),$(NAME))" || { echo "results: NAME=$(NAME): want a unit; make -f pipelines/results.mk list names all" >&2; exit 2; }
	bin/results unit --unit $(NAME) --about "$(about-$(NAME))" --command "make -f pipelines/results.mk $(NAME)" --settings '$(or $(SETTINGS),$(settings-$(NAME)))' \
	  $(SCORED:%=--name $(NAME)=%) $(if $(AGAINST),--name $(against-$(NAME))=$(AGAINST) --baseline $(against-$(NAME))) $(if $(wildcard $(FOLDER)),--run $(FOLDER)) --out $(DOCS)/$(NAME).json
	$(RESULTS) page

need-TEACHER need-STRONG:
	echo "results: $(@:need-%=%) is not set: want a file of recorded play, as rollout --policy replay:FILE reads it" >&2; exit 2

page:
	mkdir -p $(OUT) $(DOCS)
	{ $(foreach u,$(units),printf '%s\t%s\t%s\t%s\n' $(section-$(u)) $(u) "make -f pipelines/results.mk $(u)" "$(about-$(u))";) } >$(OUT)/units.tsv
	bin/results page --list $(OUT)/units.tsv --units $(DOCS) $(PAGE)

list:
	printf '%s\n' $(units)

.PHONY: all results json page list need-TEACHER need-STRONG $(units)
