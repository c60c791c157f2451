# attic: build, test, install.  Needs gcc and libc6-dev, or clang, and GNU make; the tests need Check as well.
#
#   make                         the library and the examples, for this machine
#   make demo                    train a small transformer on this repository's own text
#   make deps test               install Check, run the test suite
#   make install prefix=/usr     attic.h and three more, libattic.a, libattic.so, for pkg-config and CMake
#
#   CC=clang  CFLAGS=-g          the compiler, and flags added to those that are needed
#   ARCH=native                  or any -march name (x86-64, x86-64-v3, armv8-a); empty: the compiler's own
#   MODE=release                 or debug, size, asan, tsan, valgrind, coverage, fuzz
#   ARITHMETIC=portable          multiply-adds round twice, as where no processor has them (docs/bits.md)
#   PLAIN=1                      plain C kernels   WERROR=1  warnings are errors   V=1  show commands
#
# Every compiler, ARCH and MODE has a folder of its own under build/.  Sources are found by wildcard:
# a new file in src/, tests/, examples/ or bench/ needs no edit here.

# A definition that nothing uses; BSD make reads its line as one of the Makefile, says so, and stops.
define not_gnu_make
.error attic is built by GNU make, which BSD systems call gmake: gmake demo
endef

# ---- what may be set on the command line -----------------------------------------------------

ARCH ?= native
ARITHMETIC ?=
MODE ?= release
prefix ?= /usr/local
exec_prefix ?= $(prefix)
libdir ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
INSTALL ?= install
PKG_CONFIG ?= pkg-config
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy
CPPCHECK ?= cppcheck
VALGRIND ?= valgrind
GCOV ?= gcov
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

# ---- the version stands in one place ---------------------------------------------------------

version_part = $(shell sed -n 's/^.define ATTIC_VERSION_$(1) *//p' src/version.h)
MAJOR := $(call version_part,MAJOR)
MINOR := $(call version_part,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version_part,PATCH)
# Programs must still run with the library they were linked with: before 1.0 a minor version ends that.
ABI := $(if $(filter 0,$(MAJOR)),$(MAJOR).$(MINOR),$(MAJOR))

include make/flags.mk

# ---- sources and what becomes of them --------------------------------------------------------

library_c := $(sort $(wildcard src/*.c src/*/*.c))
# With MPI: make/mpi.mk builds it.
mpi_example_c := examples/gpt_mpi.c
example_c := $(sort $(filter-out $(mpi_example_c),$(wildcard examples/*.c)))
# In C++, with attic_prove.hpp alone: not among what `make` builds, which needs no compiler of C++.
example_cpp := $(if $(wasm),,$(sort $(wildcard examples/*.cpp)))
common_c := $(sort $(wildcard examples/common/*.c))
# Programs, each with all the rest
course_main := course/trace.c course/verdict_of_file.c course/worksheets.c
course_c := $(sort $(filter-out $(course_main),$(wildcard course/*.c)))
page_c := $(sort $(wildcard course/page/*.c course/page/tests/*.c))
# The grader of the exercises.  e3_softmax.c, solutions/ and wrong.txt are what it grades; runner.c is linked to them.
grade_c := $(sort $(filter-out course/exercises/e% %/runner.c,$(wildcard course/exercises/*.c)))
runner_c := course/exercises/runner.c
bench_c := $(sort $(wildcard bench/*.c))
bench_common_c := $(sort $(wildcard bench/common/*.c))
peer_c := $(sort $(wildcard bench/peer/*.c))
all_bench_c := $(bench_c) $(bench_common_c) $(peer_c)
gradcheck_c := $(sort $(wildcard tests/gradients/*.c))
crash_c := $(sort $(wildcard tests/crash/*.c))
export_c := tests/export/models.c
memory_c := tests/memory/full.c
bits_c := tests/bits/bits.c
corpus_c := tests/gradcheck/corpus.c
prove_c := tests/prove/models.c tests/prove/reach.c
mpi_c := $(sort $(wildcard mpi/*.c tests/mpi/*.c)) $(mpi_example_c)
test_c := $(sort $(filter-out $(corpus_c) $(foreach d,bits gradients mutation fuzz crash export memory prove mpi,tests/$d/%),$(wildcard tests/*.c tests/*/*.c)))
texts := $(sort $(wildcard *.md docs/*.md docs/*/*.md))
all_c := $(library_c) $(example_c) $(common_c) $(course_main) $(course_c) $(page_c) $(grade_c) $(all_bench_c) $(test_c) $(gradcheck_c) \
    $(runner_c) $(wildcard tests/fuzz/*.c) $(crash_c) $(export_c) $(memory_c) $(bits_c) $(corpus_c) $(prove_c) $(mpi_c)
all_h := $(sort $(wildcard mpi/*.h src/*.h src/*/*.h tests/*.h tests/*/*.h examples/*/*.h course/*.h course/*/*.h bench/*/*.h))
# What includes kernels/real.h is compiled once for each real type, but for those that macros leave out (tape.h).
typed_c := $(shell grep -ls '^.include "kernels/real.h"' $(all_c))
only_f32 := $(findstring -DATTIC_ONLY_F32,$(CPPFLAGS) $(CFLAGS))
no_dual := $(only_f32)$(findstring -DATTIC_WITHOUT_DUAL,$(mode_$(MODE)) $(CPPFLAGS) $(CFLAGS))
objects = $(patsubst %.c,$(B)/%.o,$(1)) \
    $(patsubst %.c,$(B)/%.f64.o,$(filter-out $(if $(only_f32),src/%),$(filter $(typed_c),$(1)))) \
    $(if $(no_dual),,$(patsubst %.c,$(B)/%.dual.o,$(filter src/%,$(filter $(typed_c),$(1)))))

static := $(B)/libattic.a
shared := $(B)/$(sofile)
examples := $(example_c:%.c=$(B)/%)
cpp_examples := $(example_cpp:%.cpp=$(B)/%)
trace := $(B)/course/trace
verdict := $(B)/course/verdict_of_file
benches := $(bench_c:%.c=$(B)/%)
peers := $(peer_c:%.c=$(B)/%)
# It starts a process for each submission: with fork, which Windows and WebAssembly lack.
grade := $(if $(windows)$(wasm),,$(B)/course/exercises/grade)
worksheets := $(if $(windows)$(wasm),,$(B)/course/worksheets)
runner := $(B)/tests/run
gradcheck := $(B)/tests/gradients/table

# ---- building --------------------------------------------------------------------------------

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
say = $(if $(V),,@printf '  %-5s %s\n' $(1) "$(2)";)
quoted = '$(subst ','\'',$(1))'
# a file that is new only when its text is: $(call keep,text), in a recipe
keep = @mkdir -p $(@D); echo $(call quoted,$(1)) | cmp -s - $@ || echo $(call quoted,$(1)) >$@

all: lib $(examples) $(trace) $(verdict) $(grade) $(worksheets) ## the libraries and the examples (the default)
lib: $(static) $(if $(wasm),,$(shared)) ## the libraries alone
benches: $(benches) $(peers) ## the benchmarks, built and not run
.PHONY: all lib benches FORCE

# Flags are a prerequisite like any other: whatever they change is compiled again.  Where nothing was compiled yet:
# what is missing is said once, and not by the compiler for each file.
$(B)/flags: FORCE
	@[ -f $@ ] || command -v $(firstword $(CC)) >/dev/null || { \
	    echo "There is no C compiler $(firstword $(CC)): install gcc and libc6-dev, or clang" >&2; exit 1; }
	@[ -f $@ ] || ! echo '#include <stdio.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - 2>&1 >/dev/null | \
	    grep -q 'stdio\.h' || { echo "No C library headers: install libc6-dev ($(CC) finds no <stdio.h>)" >&2; exit 1; }
	$(call keep,$(CC) $(flags) $(arch) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS))

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(compile) -c -o $@ $<
$(B)/%.f64.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$< for f64)$(compile) -DAT_F64 -c -o $@ $<
$(B)/%.dual.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$< for dual numbers)$(compile) -DAT_DUAL -c -o $@ $<

# Compiled for any processor: this code checks whether the processor has what ARCH needs (system/target.h).
portable_c := src/system/target.c src/autograd/tape.c src/autograd/errors.c src/tensor/arena.c examples/common/processor.c
$(call objects,$(portable_c)): tuned =

# A released library does not abort, so it has no asserts; tests and examples do.  Its stack frames are small,
# as threads may have small stacks: 512 KiB by default on macOS.
ifeq ($(MODE),release)
$(call objects,$(library_c)): extra = -DNDEBUG -Wframe-larger-than=16384
$(patsubst %.c,$(B)/%.dual.o,$(library_c)): extra = -DNDEBUG -Wframe-larger-than=32768
endif

$(static): $(call objects,$(library_c)) $(B)/flags
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $(filter %.o,$^)

$(shared): $(call objects,$(library_c)) $(B)/flags
	$(call say,LINK,$@)$(link) $(shared_flags) -o $@ $(filter %.o,$^) $(libs)
	@ln -sf $(sofile) $(B)/$(soname)
	@ln -sf $(soname) $(B)/$(solink)

$(call objects,$(example_c) $(common_c)): extra = -Iexamples
$(call objects,$(course_main) $(course_c) $(page_c) $(grade_c) $(runner_c)): extra = -Icourse -Iexamples
$(call objects,$(all_bench_c)): extra = -Iexamples -Ibench \
    -DBENCH_ARCH='"$(ARCH)"' -DBENCH_FLAGS='"$(strip $(mode_$(MODE)) $(arch) $(CFLAGS))"'
$(examples): $(call objects,$(common_c))
$(trace) $(verdict): $(call objects,$(course_c) examples/common/options.c examples/common/processor.c)
$(benches): $(call objects,$(bench_common_c) examples/common/options.c examples/common/names.c)
$(benches): $(B)/examples/common/processor.o
$(foreach c,$(filter $(bench_c),$(typed_c)),$(eval $(B)/$(c:.c=): $(B)/$(c:.c=.f64.o)))
$(examples) $(trace) $(verdict) $(benches): $(B)/%: $(B)/%.o $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)
$(cpp_examples): $(B)/%: %.cpp src/attic_prove.hpp $(B)/flags
	@mkdir -p $(@D)
	$(call tool,$(CXX),g++)
	$(call say,CXX,$<)$(CXX) -std=c++17 -O1 -ffp-contract=off -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -Isrc -o $@ $<
$(peers): %: %.o
	$(call say,LINK,$@)$(link) -o $@ $< $(if $(darwin),,-ldl)

-include $(patsubst %.o,%.d,$(call objects,$(all_c)))

# ---- tests -----------------------------------------------------------------------------------
# The suite of tests/ops/test_softmax.c is ops_softmax: the list follows from the file names.

tests_named := $(foreach f,$(test_c:.c=),$(if $(findstring /test_,$(f)),$(f)))
suites := $(subst /,_,$(patsubst tests/%,%,$(subst /test_,/,$(tests_named))))
# CHECK=folder: a Check of the user's own, as scripts/deps.sh tells to build it.
check_flag = $(if $(CHECK),$(CHECK$(1)),$$($(PKG_CONFIG) $(1) check))
CHECK--cflags = -I$(CHECK)/include -pthread
CHECK--libs = $(CHECK)/lib/libcheck.a -lrt

tests: $(runner) ## compile the tests
test: tests ## run the test suite; SUITE=name and CASE=name choose from it
	@$(if $(SUITE),CK_RUN_SUITE=$(SUITE)) $(if $(CASE),CK_RUN_CASE=$(CASE)) $(wrapper) $(runner) --jobs $(JOBS)
check: $(runner) $(gradcheck) ## before each commit, a minute: the tests, the gradient table, make lint-quick
	+@$(MAKE) --no-print-directory test
	@$(gradcheck) >$(gradcheck).log || { grep -F -e '<--' $(gradcheck).log; exit 1; }
	@tail -1 $(gradcheck).log
	+@$(MAKE) --no-print-directory lint-quick

gradcheck: $(gradcheck) ## check the gradient of every op against numerical differences; ARGS=softmax chooses
	@$(wrapper) $(gradcheck) $(ARGS)

deps: ## install what the tests need: Check and pkg-config
	@sh scripts/deps.sh '' $(CHECK)
.PHONY: tests test check gradcheck deps have-check

runner_o := $(call objects,$(test_c) $(common_c) $(course_c) bench/common/results.c bench/common/prose.c $(filter-out %/main.c,$(gradcheck_c)))
$(runner): $(runner_o) $(static)
	$(call say,LINK,$@)$(link) -o $@ $^ $(call check_flag,--libs) $(libs)
gradcheck_o = $(call objects,$(gradcheck_c)) $(B)/examples/common/processor.o $(B)/examples/common/options.o
$(gradcheck): $(gradcheck_o) $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)

# TEST_CFLAGS=-O1 compiles tests in half the time, and the library as always.
$(call objects,$(gradcheck_c)): extra = -Itests -Iexamples $(TEST_CFLAGS)
$(call objects,$(test_c)): extra = -Itests -Icourse -Iexamples -Ibench -I$(B) $(call check_flag,--cflags) \
    $(if $(filter release,$(MODE)),,-DATTIC_SLOW_MODE) $(TEST_CFLAGS)
$(call objects,$(test_c)): | have-check
$(B)/tests/main.o: $(B)/suites.inc
$(B)/suites.inc: FORCE
	$(call keep,$(foreach s,$(suites),TEST_SUITE($(s))))

have-check: $(filter deps,$(MAKECMDGOALS))
	@sh scripts/deps.sh say $(CHECK)

# ---- programs --------------------------------------------------------------------------------

TEXT ?= $(wildcard README.md docs/*.md src/*.h src/*/*.h src/*/*.c examples/*.c)

# Compiled on all cores, whether or not make was told so.
demo: ## train on real text; TEXT="files..." or ARGS="--help"
	+@$(on_all_cores) $(B)/examples/demo
	@$(B)/examples/demo $(ARGS) $(TEXT)

run-%: $(B)/examples/% ## run one example: make run-14_tiles_by_hand
	@mkdir -p out
	@$< $(ARGS)

.PHONY: demo

# ---- all else --------------------------------------------------------------------------------

include make/checks.mk make/lint.mk make/programs.mk make/course.mk make/install.mk make/mpi.mk

clean: ## remove build/ and out/
	rm -rf build out

help: ## this list
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile; echo
	@awk '/^[a-z0-9%-]+:.* ## / { name = $$1; sub(/:/, "", name); sub(/.* ## /, ""); \
	    printf "  %-14s %s\n", name, $$0 }' $(filter Makefile make/%.mk,$(MAKEFILE_LIST))
.PHONY: clean help
