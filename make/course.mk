# course.mk -- what teaches by doing: the trace, the exercises and their grader, the page.

run-trace: $(trace) ## attention step by step, on given numbers: make run-trace ARGS=--causal
	@$< $(ARGS)

run-verdict: $(verdict) ## are gradients from a file right, or which mistake is it? FILE=x.npz ARGS=--help
	@$< $(ARGS) $(FILE) || [ $$? -eq 1 ]

$(grade): $(call objects,$(grade_c) $(patsubst %,course/%.c,mistakes verdict verdict_cell verdict_where draw steps steps_text block block_text block_mistakes block_cell block_verdict roster sha256) examples/common/options.c src/system/utf8.c)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(libs)

$(worksheets): $(call objects,$(patsubst %,course/%.c,worksheets worksheet worksheet_page roster sha256 mistakes steps steps_text) examples/common/options.c src/system/utf8.c)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(libs)

# A submission and its runner: with sanitizers if the compiler has them, and no variable happens to begin with 0.
# ONLY=0,1,3:20 and ONLY=0,E1,e3:20 need those of three; what names no exercise is refused before anything is compiled.
comma := ,
all_exercises := 0 1 2 3 4 5 6 7 8 9 10
only := $(foreach e,$(subst $(comma), ,$(ONLY)),$(firstword $(subst :, ,$e)))
exercises := $(or $(strip $(foreach e,$(all_exercises),$(if $(filter $e E$e e$e,$(only)),$e))),$(all_exercises))
ifneq ($(filter grade-all grade-class exercises course,$(MAKECMDGOALS)),)
no_exercise := $(filter-out $(foreach e,$(all_exercises),$e E$e e$e),$(only))
$(if $(no_exercise),$(error ONLY=$(ONLY): there is no exercise $(firstword $(no_exercise)); allowed are E0 to E10, with or without the E: ONLY=0,E1,3:20))
$(if $(word 2,$(ONLY)),$(error ONLY=$(ONLY): no blanks are allowed in a list of exercises: ONLY=0,E1,3:20))
endif
exercise_runners := $(exercises:%=$(B)/exercises/runner%.o) $(B)/exercises/include/exercise.h
exercise_compile = $(CC) -std=gnu11 -O0 -g1 -Wall -Wextra -Werror=return-type $$(cat $(B)/exercises/sanitizers)
grade_run = $(grade) --compile "$(exercise_compile)" --runners $(B)/exercises --sandbox $(or $(SANDBOX),on) \
    $(if $(SEED),--seed $(SEED)) $(if $(TIME_LIMIT),--seconds $(TIME_LIMIT)) \
    $(if $(TICKET),--ticket $(TICKET)) $(if $(KEY),--key "$(KEY)" $(if $(ID),--id "$(ID)"))
$(B)/exercises/sanitizers: $(B)/flags
	@mkdir -p $(@D)
	@with="-fsanitize=address,undefined -fno-sanitize-recover=all"; \
	echo 'int main(void) { return 0; }' | $(CC) $$with -x c -o $@.try - 2>/dev/null && $@.try || with=; \
	init=-ftrivial-auto-var-init=pattern; \
	echo 'int main(void) { return 0; }' | $(CC) $$init -x c -o $@.try - 2>/dev/null || init=; \
	rm -f $@.try; echo "$$with $$init" >$@
# All that a submission includes, and nothing that would help it: headers.
exercise_headers := $(wildcard src/*.h src/*/*.h)
$(B)/exercises/include/exercise.h: course/exercises/exercise.h $(exercise_headers)
	@mkdir -p $(patsubst src/%,$(@D)/%,$(sort $(dir $(exercise_headers))))
	@for h in $(exercise_headers:src/%=%); do cp "src/$$h" "$(@D)/$$h"; done
	@cp $< $@
# To E8 the backwards are linked, to E9 kernels and the library, to E10 one head.
$(B)/exercises/runner8.o: with = course/steps.c course/mistakes.c
$(B)/exercises/runner9.o: with = course/exercises/kernels.c
$(B)/exercises/runner10.o: with = course/exercises/head.c
$(B)/exercises/runner10.o: course/exercises/head.c
$(B)/exercises/runner8.o: course/steps.c course/mistakes.c $(wildcard course/*.h)
$(B)/exercises/runner9.o: course/exercises/kernels.c $(static)
$(filter %.o,$(exercise_runners)): $(B)/exercises/runner%.o: course/exercises/runner.c $(wildcard course/exercises/*.h) \
    $(B)/exercises/sanitizers
	$(call say,CC,$<:E$*)for c in $< $(with); do \
	    $(exercise_compile) -Icourse/exercises -Icourse -Iexamples -Isrc $(if $(WERROR),-Werror) -DEXERCISE=$* -c -o $@.$${c##*/}.o $$c || exit 1; done; \
	$(CC) -r -nostdlib -o $@ $(patsubst %,$@.%.o,$(notdir $< $(with))) $(filter %.a,$^)

# A wrong answer is no error of make; grade-all has the status.
exercise-%: $(grade) $(B)/exercises/runner%.o $(B)/exercises/include/exercise.h ## the verdict on an exercise: make exercise-3 FILE=my.c SEED=17 HINT=1 OF=dS
	@$(grade_run) $(if $(HINT),--hint $(HINT)) $(if $(OF),--of "$(OF)") --exercise $* \
	    $(if $(FILE),"$(FILE)",course/exercises/e$*_*.c) || [ $$? -eq 1 ]

exercise-8-answers: $(grade) ## the ticket of a student and the ten mistakes behind it: KEY=file ID=ada
	@$(grade) --answers $(if $(KEY),--key "$(KEY)") $(if $(ID),--id "$(ID)") $(if $(TICKET),--ticket $(TICKET))

grade-all: $(grade) $(exercise_runners) ## grade all exercises in DIR=folder: a table, RESULTS=file.json, the status; ONLY=0,1,3:20
	@mkdir -p out
	@$(grade_run) $(if $(ONLY),--only '$(ONLY)') --table --results "$(or $(RESULTS),out/results.json)" "$(or $(DIR),course/exercises)"

exercises: $(grade) $(exercise_runners) ## the grader and all that it needs, for ONLY=0,1,3:20
course: $(grade) $(worksheets) ## a course in a box, in OUT=folder: archive, worksheets, tickets, autograder; IDS=file ONLY=0,1,3:20 DUE=
	@sh scripts/course.sh $(grade) $(worksheets) "$(or $(OUT),out/course)" "$(IDS)" "$(ONLY)" "$(KEY)" "$(DUE)"
check-course: $(grade) $(worksheets) ## does the box hold what students need and nothing else, and does its autograder grade?
	@MAKE="$(MAKE)" sh scripts/check-course.sh $(grade) $(worksheets)

grade-class: $(grade) $(exercise_runners) ## grade DIR=folder, which has one for each student: OUT=folder/grades.csv; ONLY, IDS, DUE, TIMES, KEY, SEED
	@$(grade_run) $(if $(ONLY),--only '$(ONLY)') --class "$(DIR)" --out "$(or $(OUT),out/class)" $(if $(IDS),--ids "$(IDS)") \
	    $(if $(DUE),--due "$(DUE)") $(if $(TIMES),--times "$(TIMES)")

worksheets: $(worksheets) ## a sheet and a key for each student: KEY=file IDS=file OUT=folder; ANSWERS="a.csv b.csv" grades what comes back, GRADES=grades.csv adds the exercises
	@$< --key "$(KEY)" --ids "$(IDS)" --out "$(or $(OUT),out/course)" $(if $(GRADES),--grades "$(GRADES)") $(ANSWERS)

check-exercises: $(grade) $(exercise_runners) ## is every submission in course/exercises graded as it expects? SEEDS=100
	@CC="$(CC)" SEEDS="$(SEEDS)" sh scripts/check-exercises.sh $(grade) "$(exercise_compile)" $(B)/exercises
sample-answers: $(grade) $(exercise_runners) ## the grades of the sample answers of docs/lecturer.md
	@sh scripts/samples.sh $(grade) "$(exercise_compile)" $(B)/exercises
check-class: $(grade) $(exercise_runners) ## is a whole class graded, whatever they hand in? STUDENTS=100 made-up ones, in ten minutes
	@MAKE="$(MAKE)" sh scripts/check-class.sh $(grade) "$(exercise_compile)" $(B)/exercises $(STUDENTS)
check-worksheets: $(worksheets) ## are sheets drawn from a key, and answers graded by it, whatever is in them?
	@sh scripts/check-worksheets.sh $(worksheets)
check-sandbox: $(grade) $(exercise_runners) ## can a submission do anything but compute? Attacks, as root and not
	@sh scripts/check-sandbox.sh $(grade) "$(exercise_compile)" $(B)/exercises
.PHONY: exercise-8-answers grade-all grade-class worksheets exercises course check-course sample-answers check-exercises check-class check-worksheets check-sandbox

# ---- the page --------------------------------------------------------------------------------

page: ## out/attic.html: attention, forward and backward, to look at and to change in a browser; TEXTS=translation.js
	$(call tool,node,nodejs)
	$(have_wasm)
	$(sub) CC="$(wasm_cc)" AR=llvm-ar ARCH= CFLAGS=-msimd128 MODE=size WERROR=1 page-wasm
	@mkdir -p out
	@node course/page/build.mjs build/page.wasm out/attic.html $(TEXTS)

# --export: JavaScript puts the command line into memory.
page_wasm := $(B)/page.wasm
page-wasm: $(page_wasm)
	@cp $< build/page.wasm
$(page_wasm): $(call objects,$(filter-out course/page/run.c course/page/tests/%,$(page_c)) $(filter-out course/block_verdict.c course/worksheet% course/roster.c course/sha256.c,$(course_c)) examples/common/options.c) $(static)
	$(call say,LINK,$@)$(link) -mexec-model=reactor -Wl,--gc-sections,--strip-all,-O2,--compress-relocations,--export=malloc,--export=free \
	    -o $@ $(filter %.o,$^) $(static) $(libs)

page_run := $(B)/course/page/run
$(B)/course/page/tests/train_twin $(page_run): $(B)/%: $(B)/%.o $(call objects,course/page/train.c examples/common/options.c) $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)

page-run: page-native ## train the page's model natively, with the same bits, from the file that it saved; ARGS="--out folder --steps 600"
	@mkdir -p out
	@build/page_run $(ARGS)
page-native:
	+@$(on_all_cores) ARITHMETIC=portable page-native-here
page-native-here: $(page_run)
	@cp $< build/page_run

# The numbers of the page are compared with those of a native program with the same mathematical functions
# (musl's) and without fused multiply-adds (ARCH=): they must be equal in every bit.  A browser often waits: one more
# than there are cores.
check-page: page page-native build/page/node_modules ## open the page in Chromium and look at everything; FIREFOX=1: in Firefox, too
	$(call tool,chromium,chromium)
	$(call tool,musl-gcc,musl-tools)
	$(sub) CC=musl-gcc ARCH= MODE=size $(addprefix build/musl-gcc-generic-size/,course/trace course/verdict_of_file course/page/tests/train_twin)
	$(if $(FIREFOX),$(call tool,firefox-esr,firefox-esr))
	@node --test --test-reporter=spec --test-concurrency=$$(($(JOBS) + 1)) $(if $(FIREFOX),course/page/tests/firefox.mjs) \
	    $(or $(PAGE_TESTS),$(filter-out %/latency.test.mjs,$(sort $(wildcard course/page/tests/*.test.mjs))))
	$(if $(PAGE_TESTS),,@node --test --test-reporter=spec course/page/tests/latency.test.mjs)

# The page for those who have no compiler: docs/ can be served as it is.  Its file is built and committed where a change
# of the page is complete, not with each change: a stale one is a line of text, an error with STALE=error.
site: page ## docs/attic.html, the page as it is committed and served
	@node course/page/site.mjs --write out/attic.html clang
check-site: page ## is docs/attic.html the page of these sources?
	@node course/page/site.mjs out/attic.html clang

page-picture: page build/page/node_modules ## the page's picture in the README, taken again
	$(call tool,chromium,chromium)
	@node course/page/picture.mjs docs/images/page.png

build/page/node_modules: course/page/package.json
	$(call tool,npm,npm)
	@mkdir -p $(@D) && cp $< $(@D)
	@cd $(@D) && npm install --no-audit --no-fund --loglevel=error
	@touch $@
.PHONY: page page-wasm page-run page-native page-native-here page-picture site check-site check-page
