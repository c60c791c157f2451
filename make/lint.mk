# lint.mk -- style: the layers of src/, names, words, links; clang-tidy, cppcheck, clang-format.

# One make for all of them, so that no core waits.
quick := $(addprefix lint-,layers statics symbols words links names numbers values mutants golden commits examples texts site python)
lints := $(quick) lint-cppcheck
lint: check-exports check-engine ## layers, the engine alone, unique statics, symbols, exports, words, links, names, values, commits, texts of the page, the page in docs/, structs of attic.py, examples of headers, cppcheck, clang-tidy, lines of code
	+@$(on_all_cores) $(lints) tidy
	@sh scripts/lines.sh
lint-quick: check-exports check-engine ## the same without cppcheck and clang-tidy
	+@$(on_all_cores) $(quick)
	@sh scripts/lines.sh
lint-layers:
	$(call say,LINT,layers)sh scripts/lint-layers.sh $(all_c) $(all_h)
lint-statics:
	$(call say,LINT,statics)sh scripts/lint-statics.sh $(library_c) $(filter src/%,$(all_h))
lint-symbols: $(static)
	$(call say,LINT,symbols)sh scripts/lint-symbols.sh $(static)
lint-words:
	$(call say,LINT,words)sh scripts/lint-words.sh $(all_c) $(all_h)
lint-links:
	$(call say,LINT,links)sh scripts/check-links.sh $(texts) >/dev/null
lint-names:
	$(call say,LINT,names)sh scripts/lint-names.sh $(public_h) mpi/attic_mpi.h $(filter-out CHANGELOG.md,$(texts)) >/dev/null
lint-numbers:
	$(call say,LINT,numbers)sh scripts/lint-numbers.sh
lint-values:
	$(call say,LINT,values)sh scripts/lint-values.sh $(filter-out %/dual.h %/gemm_dual.c,$(filter src/%,$(all_c) $(all_h)))
lint-golden:
	$(call say,LINT,golden)sh scripts/lint-golden.sh
lint-examples:
	$(call say,LINT,examples of headers)sh scripts/check-headers.sh '$(CC)' src $(public_h) >/dev/null
lint-texts:
	$(call say,LINT,texts)$(call with_node,scripts/lint-texts.mjs)
lint-site:
	$(call say,LINT,docs/attic.html)$(call with_node,course/page/site.mjs)
lint-python:
	$(call say,LINT,python/attic.py)if command -v python3 >/dev/null; then CC='$(CC)' python3 python/generate.py --check; \
	else echo "$@: NOT RUN, there is no python3"; fi
with_node = if command -v node >/dev/null; then node $1; else echo "$@: NOT RUN, there is no node"; fi
lint-mutants:
	$(call say,LINT,mutants)sh tests/mutation/run.sh --check
lint-commits:
	$(call say,LINT,commits)sh scripts/lint-commits.sh
lint-cppcheck:
	@mkdir -p $(B)/cppcheck
	$(call say,LINT,cppcheck)$(CPPCHECK) -q -j $(JOBS) --cppcheck-build-dir=$(B)/cppcheck --std=c11 --error-exitcode=1 \
	    --enable=warning,performance,portability --inline-suppr --suppressions-list=scripts/cppcheck.supp \
	    -DATTIC_CPPCHECK -D__extension__= -Isrc -Icourse -Iexamples -Ibench -Impi $(mpi_c) $(library_c) $(example_c) $(common_c) $(course_main) $(course_c) $(grade_c) $(runner_c) $(all_bench_c)

# One pass, with float.
tidied := $(patsubst %.c,$(B)/%.tidied,$(library_c) $(example_c) $(common_c) $(course_main) $(course_c) $(page_c) $(grade_c) \
    $(runner_c) $(all_bench_c) $(gradcheck_c) $(prove_c))
tidy_flags = $(filter-out -m%,$(flags)) -Isrc -Itests -Icourse -Iexamples -Ibench
tidy: $(tidied)
	@find "$${XDG_CACHE_HOME:-$$HOME/.cache}/attic/tidy" -type f -mtime +60 -delete
$(B)/%.tidied: %.c .clang-tidy $(B)/flags
	@CC="$(CC)" CLANG_TIDY="$(CLANG_TIDY)" sh scripts/tidy.sh $@ $< $(tidy_flags)
-include $(tidied:=.d)

submissions := $(wildcard course/exercises/e*.c course/exercises/solutions/*.c)
format: ## bring all C files into the project's format
	@$(CLANG_FORMAT) -i $(all_c) $(all_h) $(submissions)
check-format: ## fail if `make format` would change a file
	@$(CLANG_FORMAT) --dry-run --Werror $(all_c) $(all_h) $(submissions)
.PHONY: lint lint-quick $(lints) tidy format check-format
