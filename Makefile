# attic: build, test, install.  Needs gcc and libc6-dev, or clang, and GNU make; the tests need Check as well.
#
#   make                         the library and the examples, for this machine
#   make demo                    train a small transformer on this repository's own text
#   make deps test               install Check, run the test suite
#   make install prefix=/usr     attic.h and two more, libattic.a, libattic.so, for pkg-config and CMake
#
#   CC=clang  CFLAGS=-g          the compiler, and flags added to those that are needed
#   ARCH=native                  or any -march name (x86-64, x86-64-v3, armv8-a); empty: the compiler's own
#   MODE=release                 or debug, size, asan, tsan, valgrind, coverage, fuzz
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

# ---- compiler and flags ----------------------------------------------------------------------

target := $(shell $(CC) -dumpmachine)
x86 := $(filter x86_64% i386% i486% i586% i686%,$(target))
darwin := $(findstring darwin,$(target))
windows := $(findstring mingw,$(target))
wasm := $(findstring wasm,$(target))

# "this machine" is -march=native on x86 and -mcpu=native elsewhere
arch := $(if $(ARCH),$(if $(x86),-march,$(if $(filter native,$(ARCH)),-mcpu,-march))=$(ARCH))
macros := $(shell $(CC) $(arch) $(CFLAGS) -dM -E -x c /dev/null | grep -owE '__(AVX512F|i386|clang)__')
# By default clang splits a 64-byte vector in two, at half the speed.
arch += $(if $(filter __AVX512F__,$(macros)),-mprefer-vector-width=512)
# 32-bit x86 would compute in 80 bits, whatever the type (kernels/real.h).
arch += $(if $(filter __i386__,$(macros)),-msse2 -mfpmath=sse)
# Tuned for Zen 1 to 3, gcc leaves some multiply-adds of a sum in two, others not: then the bits of a
# product depend on its shape.
arch += $(if $(filter __clang__,$(macros)),,--param=avoid-fma-max-bits=0)

debug := -O1 -g -fno-omit-frame-pointer
# Aligned: else the speed of a loop depends, by up to half, on what was linked before it.
mode_release := -O3 -falign-functions=64 -falign-loops=32
mode_debug := $(debug) -DATTIC_DEBUG
mode_asan := $(debug) -DATTIC_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all
mode_tsan := $(debug) -fsanitize=thread
mode_valgrind := $(debug)
mode_fuzz := $(debug) -DATTIC_DEBUG -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
mode_size := -Oz -ffunction-sections -fdata-sections -DNDEBUG -DATTIC_WITHOUT_DUAL
mode_coverage := -O0 -g --coverage -fprofile-update=atomic
ifeq ($(mode_$(MODE)),)
$(error MODE=$(MODE) is none of release, debug, size, asan, tsan, valgrind, coverage, fuzz)
endif

# Never -ffast-math: masks are -inf, and a NaN must surface.  -fno-semantic-interposition: inside
# the library, a call to at_x is a call to our own at_x.  -fvisibility=hidden: libattic.so shows what
# has AT_API, and nothing else.
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wdouble-promotion
flags := -std=gnu11 $(mode_$(MODE)) -ffp-contract=fast -fno-math-errno -fno-trapping-math \
    $(if $(wasm),,-fPIC -fvisibility=hidden -fno-semantic-interposition -pthread) \
    $(if $(PLAIN),-DATTIC_PLAIN_KERNELS) $(warnings)
ifneq ($(windows),)
flags += -D__USE_MINGW_ANSI_STDIO -D_FILE_OFFSET_BITS=64
endif
tuned = $(arch)
compile = $(CC) $(flags) $(tuned) $(if $(WERROR),-Werror) -Isrc $(extra) -MMD -MP $(CPPFLAGS) $(CFLAGS)
link = $(CC) $(flags) $(arch) $(CFLAGS) $(LDFLAGS)
libs := -lm $(if $(wasm),,-pthread)
ifneq ($(wasm),)
# The stack would be 64 KiB.  With nothing below it, what overflows it ends the program.
link += -Wl,-z,stack-size=1048576 -Wl,--stack-first
endif

empty :=
# Without =, or make would read the lists of headers (x=y.o: x.c x.h) as definitions of a variable.
compiler := $(subst =,-,$(subst $(empty) $(empty),_,$(notdir $(CC))))
B := build/$(compiler)-$(if $(ARCH),$(ARCH),generic)-$(MODE)$(if $(PLAIN),-plain)

on_all_cores = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j $(JOBS))

# ---- sources and what becomes of them --------------------------------------------------------

library_c := $(sort $(wildcard src/*.c src/*/*.c))
example_c := $(sort $(wildcard examples/*.c))
common_c := $(sort $(wildcard examples/common/*.c))
course_c := $(sort $(filter-out course/trace.c,$(wildcard course/*.c)))
page_c := $(sort $(wildcard course/page/*.c course/page/tests/*.c))
# The grader of the exercises.  e3_softmax.c, solutions/ and wrong/ are what it grades; runner.c is linked to them.
grade_c := $(sort $(filter-out course/exercises/e% %/runner.c,$(wildcard course/exercises/*.c)))
runner_c := course/exercises/runner.c
bench_c := $(sort $(wildcard bench/*.c))
bench_common_c := $(sort $(wildcard bench/common/*.c))
peer_c := $(sort $(wildcard bench/peer/*.c))
all_bench_c := $(bench_c) $(bench_common_c) $(peer_c)
gradcheck_c := $(sort $(wildcard tests/gradients/*.c))
crash_c := $(sort $(wildcard tests/crash/*.c))
memory_c := tests/memory/full.c
test_c := $(sort $(filter-out $(foreach d,gradients mutation fuzz crash memory,tests/$d/%),$(wildcard tests/*.c tests/*/*.c)))
texts := $(sort $(wildcard *.md docs/*.md docs/*/*.md))
all_c := $(library_c) $(example_c) $(common_c) course/trace.c $(course_c) $(page_c) $(grade_c) $(all_bench_c) $(test_c) $(gradcheck_c) \
    $(runner_c) $(wildcard tests/fuzz/*.c) $(crash_c) $(memory_c)
all_h := $(sort $(wildcard src/*.h src/*/*.h tests/*.h tests/*/*.h examples/*/*.h course/*.h course/*/*.h bench/*/*.h))
# What includes kernels/real.h is compiled once for each real type.
typed_c := $(shell grep -l '^.include "kernels/real.h"' $(all_c))
objects = $(patsubst %.c,$(B)/%.o,$(1)) $(patsubst %.c,$(B)/%.f64.o,$(filter $(typed_c),$(1))) \
    $(if $(filter size,$(MODE)),,$(patsubst %.c,$(B)/%.dual.o,$(filter src/%,$(filter $(typed_c),$(1)))))

ifneq ($(darwin),)
soname := libattic.$(ABI).dylib
sofile := libattic.$(VERSION).dylib
solink := libattic.dylib
shared_flags := -dynamiclib -install_name $(libdir)/$(soname)
else
soname := libattic.so.$(ABI)
sofile := libattic.so.$(VERSION)
solink := libattic.so
shared_flags := -shared -Wl,-soname,$(soname)
endif
static := $(B)/libattic.a
shared := $(B)/$(sofile)
examples := $(example_c:%.c=$(B)/%)
trace := $(B)/course/trace
benches := $(bench_c:%.c=$(B)/%)
peers := $(peer_c:%.c=$(B)/%)
# It starts a process for each submission: with fork, which Windows and WebAssembly lack.
grade := $(if $(windows)$(wasm),,$(B)/course/exercises/grade)
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

all: lib $(examples) $(trace) $(grade) ## the libraries and the examples (the default)
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
portable_c := src/system/target.c src/autograd/tape.c src/tensor/arena.c examples/common/processor.c
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
$(call objects,course/trace.c $(course_c) $(page_c) $(grade_c) $(runner_c)): extra = -Icourse -Iexamples
$(call objects,$(all_bench_c)): extra = -Iexamples -Ibench \
    -DBENCH_ARCH='"$(ARCH)"' -DBENCH_FLAGS='"$(strip $(mode_$(MODE)) $(arch) $(CFLAGS))"'
$(examples): $(call objects,$(common_c))
$(trace): $(call objects,$(course_c) examples/common/options.c examples/common/processor.c)
$(benches): $(call objects,$(bench_common_c) examples/common/options.c)
$(benches): $(B)/examples/common/processor.o
$(foreach c,$(filter $(bench_c),$(typed_c)),$(eval $(B)/$(c:.c=): $(B)/$(c:.c=.f64.o)))
$(examples) $(trace) $(benches): $(B)/%: $(B)/%.o $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)
$(peers): %: %.o
	$(call say,LINK,$@)$(link) -o $@ $< $(if $(darwin),,-ldl)

$(grade): $(call objects,$(grade_c) $(patsubst %,course/%.c,mistakes verdict verdict_cell verdict_where draw steps steps_text) examples/common/options.c)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(libs)

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
check: test ## the same as test

gradcheck: $(gradcheck) ## check the gradient of every op against numerical differences; ARGS=softmax chooses
	@$(wrapper) $(gradcheck) $(ARGS)

mutation: ## plant wrong gradients in a copy of the sources; each must be caught
	@CC="$(CC)" MAKE="$(MAKE)" sh tests/mutation/run.sh $(ARGS)

deps: ## install what the tests need: Check and pkg-config
	@sh scripts/deps.sh '' $(CHECK)
.PHONY: tests test check gradcheck mutation deps have-check

runner_o := $(call objects,$(test_c) $(common_c) $(course_c) bench/common/results.c $(filter-out %/main.c,$(gradcheck_c)))
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
# Calls of every public function, with arguments that nobody should give them.
$(B)/tests/misuse/test_calls.o: $(B)/misuse.inc
$(B)/misuse.inc: scripts/misuse.awk scripts/code.awk tests/misuse/pickers.h tests/misuse/test_calls.c tests/misuse/bases.txt \
    $(filter src/%,$(all_h))
	$(call say,AWK,$@)awk -f scripts/code.awk $(public_h) | awk -f scripts/misuse.awk tests/misuse/pickers.h \
	    tests/misuse/test_calls.c tests/misuse/bases.txt - >$@
$(B)/suites.inc: FORCE
	$(call keep,$(foreach s,$(suites),TEST_SUITE($(s))))

have-check: $(filter deps,$(MAKECMDGOALS))
	@sh scripts/deps.sh say $(CHECK)

# ---- slower checks ---------------------------------------------------------------------------

sub = +@$(MAKE) --no-print-directory
# Without forks: what a child of Check has not freed looks like a leak.  It is slow: fewer random problems.
nofork = +@CK_FORK=no CK_DEFAULT_TIMEOUT=0 ATTIC_PROBLEMS=$${ATTIC_PROBLEMS:-100} $(MAKE) --no-print-directory
gradcheck_too := $(if $(SUITE),,gradcheck)

# gcc 12 does not align vectors of 64 bytes where variables of a function are kept for use after its return.
after_return := $(if $(findstring clang,$(macros)),1,$(if $(findstring AVX512F,$(macros)),0,1))
sanitize: ## tests and gradient checks under AddressSanitizer and UBSan, leaks included
	$(nofork) MODE=asan test $(gradcheck_too) wrapper="env UBSAN_OPTIONS=print_stacktrace=1 \
	    ASAN_OPTIONS=detect_stack_use_after_return=$(after_return):strict_string_checks=1"

tsan: ## tests under ThreadSanitizer
	$(nofork) MODE=tsan test wrapper="$$(setarch -R true 2>/dev/null && echo setarch -R) \
	    env TSAN_OPTIONS=halt_on_error=1"

valgrind: ## tests under Valgrind (which knows no AVX-512); SUITE=name is faster
	$(nofork) MODE=valgrind $(if $(x86),ARCH=x86-64-v3) test \
	    wrapper="env EMULATED=1 $(VALGRIND) -q --error-exitcode=1 --leak-check=full \
	    --show-leak-kinds=definite --errors-for-leak-kinds=definite"

# A fuzzer tries inputs that reach code which no input before has reached.
fuzzer := $(B)/tests/fuzz/files
fuzz: ## any bytes as .npy, safetensors, .npz, deflated data and vocabularies: read or refused? SECONDS=30 each; needs clang
	$(call tool,clang,clang)
	$(sub) CC=clang MODE=fuzz fuzz-run
fuzz-run: $(fuzzer)
	@sh scripts/fuzz.sh $(fuzzer) $(or $(SECONDS),30) $(JOBS)
$(fuzzer): $(call objects,tests/fuzz/files.c $(filter src/system/% src/kernels/% src/tensor/% src/autograd/% src/io/% $(addprefix src/train/,tokenizer.c tokenizer_files.c pairs.c unicode.c),$(library_c)))
	$(call say,LINK,$@)$(link) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(libs)
$(B)/tests/fuzz/files.o: extra = -Itests

coverage: ## lines of src/ reached by tests and gradient checks, per file
	@find build -path '*-coverage/*' -name '*.gcda' -delete 2>/dev/null || true
	$(sub) MODE=coverage test $(gradcheck_too)
	$(sub) MODE=coverage coverage-report
coverage-report:
	@GCOV="$(GCOV)" sh scripts/coverage.sh $(B) $(library_c)

check-install: lib check-exports ## install into a temporary folder, use it from there, uninstall it
	@CC="$(CC)" MAKE="$(MAKE)" PKG_CONFIG="$(PKG_CONFIG)" sh scripts/check-install.sh

check-single: single $(static) $(gradcheck) ## compile these two files with gcc, clang, for Windows, for WebAssembly; gradient checks, examples, C99, C++
	$(have_mingw)
	$(call tool,node,nodejs)
	$(have_wasm)
	@sh scripts/check-single.sh build/single $(static) $(JOBS) $(gradcheck_o)

# The kernels for dual numbers once more, as C++ with a class that converts to nothing: what drops a tangent does not
# compile.  The tests of tangents are run with these in place of those of the library.
witness_o := $(patsubst %.c,$(B)/%.witness.o,$(filter src/%,$(typed_c)))
$(B)/%.witness.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$< for the witness)printf 'extern "C" {\n#include "$<"\n}\n' | $(CXX) -x c++ -std=gnu++20 -fpermissive -w \
	    $(mode_$(MODE)) $(arch) -ffp-contract=fast -DAT_DUAL -DNDEBUG -Isrc -I. -include tests/duals/number.hpp \
	    -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ -
-include $(witness_o:.o=.d)
$(B)/tests/duals/run: $(filter %.o,$(runner_o)) $(witness_o) $(static)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(call check_flag,--libs) $(libs)
check-duals: $(B)/tests/duals/run ## tests of tangents, with kernels compiled as C++ from a class of dual numbers
	@CK_RUN_SUITE=autograd_tangent $(B)/tests/duals/run

check-exports: $(shared) ## does libattic.so export what its headers declare and scripts/exports.txt lists? WRITE=1 writes it
	@CC="$(CC)" sh scripts/check-exports.sh $(shared) $(if $(WRITE),write)

check-fresh: ## README's two commands in the root folder of a bare Debian, from a clone; AS="root user clang folder bare"
	@sh scripts/check-fresh.sh $(or $(AS),root) || [ $$? -eq 3 ] # NOT RUN, which it says at its end

check-dist: ## unpack the source archive, build it, run its demo
	@sh scripts/check-dist.sh "$(MAKE)"

# Suites with random problems, and the variable that says how many.
check-long: $(runner) ## the tests on random problems with 10,000 of them, in place of 300
	@for suite in attention_paths attention_dual attention_identities attention_nan attention_fused attention_tangent; do \
	    ATTIC_PROBLEMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=$$suite $(runner) || exit 1; \
	done
	@ATTIC_FLOAT_PROBLEMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=gradcheck_float $(runner)
	@ATTIC_PROGRAMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=autograd_random_programs $(runner)
	@ATTIC_PAIRS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=misuse_calls $(runner)

check-readme: $(static) $(shared) ## run the commands and programs of README.md and of docs/; WRITE=1 fills in what programs print
	@set -e; for page in README $(addprefix docs/,attention cookbook derivatives files pytorch runs training); do \
	    sh scripts/check-readme.sh $$page.md '$(CC)' $(static) $(if $(WRITE),write); done

# Every call of these by the library comes by tests/crash/faults.c.
faulty := fwrite fflush fclose fsync rename ftruncate
crash := $(B)/tests/crash/crash
$(call objects,$(crash_c)): extra = -Itests -Iexamples
$(crash): $(call objects,$(crash_c) tests/train/little.c examples/common/options.c) $(static)
	$(call say,LINK,$@)$(link) $(faulty:%=-Wl,--wrap=%) -o $@ $(filter %.o,$^) $(static) $(libs)
check-crash: $(crash) ## fail and kill a run at each write, sync and rename: does what is there always load?
	@$(crash) faults
check-kill: $(crash) ## kill a run N times (30) at random: does it end with the same bits?
	@$(crash) kill $(or $(N),30)

check-links: ## do the links of the documentation lead to what they name and quote?
	@sh scripts/check-links.sh $(texts)

check-unsupported: ## build for AVX2 and AVX-512, run on (emulated) processors without: is there a message?
	@sh scripts/check-unsupported.sh "$(MAKE)" "$(CC)"

check-gcc14: ## all there is, compiled by gcc 14 in a root folder of Debian 13, which debootstrap makes as root
	@sh scripts/check-gcc14.sh $(JOBS)

check-arm: ## the tests on 64-bit Arm: cross compiler and QEMU, see scripts/check-arm.sh
	@sh scripts/check-arm.sh "$(MAKE)" $(ARGS)

# $(call tool,COMMAND,PACKAGES): fails, and says what to install, unless the command is there
tool = @command -v $(1) >/dev/null || { echo "There is no $(1); on Debian: apt-get install $(2)" >&2; exit 1; }

check-musl: ## build all with musl's C library; gradient checks, examples
	$(call tool,musl-gcc,musl-tools)
	$(sub) CC=musl-gcc WERROR=1 all benches gradcheck check-examples

# Not for AVX: gcc does not align the stack for it on Windows.
check-mingw: ## cross compile the libraries and the examples for Windows
	$(have_mingw)
	$(sub) CC=x86_64-w64-mingw32-gcc ARCH=x86-64 WERROR=1 all

have_mingw = $(call tool,x86_64-w64-mingw32-gcc,gcc-mingw-w64-x86-64)

check-wasm: ## cross compile the library and the examples for WebAssembly; node runs some of them
	$(call tool,node,nodejs)
	$(have_wasm)
	$(sub) CC="$(wasm_cc)" AR=llvm-ar ARCH= CFLAGS=-msimd128 WERROR=1 all check-examples memory-full \
	    RUN="node --no-warnings scripts/wasi.mjs" \
	    ONLY="03_attention_by_hand 05_toy_transformer 06_why_scale 11_cat_and_rat"
wasm_cc = clang --target=wasm32-wasi
have_wasm = @echo 'int main(void) { return 0; }' | $(wasm_cc) -x c -o /dev/null - 2>/dev/null || { echo \
    "$(wasm_cc) does not link; on Debian: apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32" >&2; exit 1; }

# The headers of the 64-bit system are used as well: gcc-multilib would add a link to them.
check-i386: ## gradient checks on 32-bit x86 with SSE2; x87 must be refused
	@echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2>/dev/null || { echo \
	    "gcc -m32 does not link; on Debian: apt-get install gcc-12-multilib libc6-dev-i386" >&2; exit 1; }
	@gcc -m32 -mfpmath=387 $(i386_headers) -std=gnu11 -Isrc -fsyntax-only src/kernels/rows.c 2>&1 | \
	    grep -q 'compile with -msse2 -mfpmath=sse' || { echo "x87 is not refused" >&2; exit 1; }
	$(sub) CC="gcc -m32" ARCH= CPPFLAGS="$(i386_headers)" WERROR=1 lib gradcheck memory-full
i386_headers = -idirafter /usr/include/$$(gcc -print-multiarch)

# With 32-bit addresses: may a tape use them all?
memory := $(memory_c:%.c=$(B)/%)
$(memory): %: %.o $(static)
	$(call say,LINK,$@)$(link) -o $@ $< $(static) $(libs)
memory-full: $(memory)
	@$(RUN) $(memory)

check-examples: $(examples) $(trace) ## run the examples: do they still print expected/? WRITE=1 writes it
	@CC='$(CC)' RUN='$(RUN)' ONLY='$(ONLY)' WRITE='$(WRITE)' sh scripts/check-examples.sh $(B)/examples $(B)/course

# Claims that stand in docs/programs.md: the status is 1 if one does not hold.
check-programs: $(patsubst %,$(B)/examples/%,reverse induction digits lora) ## full runs: strings reversed, periods found, digits recognised, a model adapted?
	@for p in $^; do case $$p in */lora) texts="$(lora_texts)" ;; esac; \
	    $$p --fresh --check --out $(B)/check-programs/$${p##*/} $$texts || exit 1; done

check-all: ## everything, both compilers; takes long
	$(sub) check-format lint
	$(sub) CC=gcc WERROR=1 all benches test gradcheck check-duals check-install
	$(sub) CC=clang WERROR=1 all benches test gradcheck check-duals check-install
	$(sub) PLAIN=1 WERROR=1 test gradcheck
	$(sub) ARCH= WERROR=1 test gradcheck
	$(sub) CC=gcc ARCH=x86-64-v3 CFLAGS=-mtune=znver3 SUITE=kernels_gemm test
	$(sub) check-fresh AS="root user clang folder bare"
	$(sub) check-unsupported check-arm check-i386 check-musl check-mingw check-wasm check-gcc14 check-single check-dist
	$(sub) check-long check-programs
	$(sub) check-crash check-kill N=500
	$(sub) sanitize
	$(sub) tsan
	$(sub) valgrind
	$(sub) fuzz SECONDS=600
	$(sub) coverage
	$(sub) mutation
	$(sub) graph check-readme check-examples check-exercises check-benches check-page FIREFOX=1
.PHONY: sanitize tsan valgrind fuzz fuzz-run check-crash check-kill coverage coverage-report check-install check-exports check-single check-fresh check-dist \
    check-long check-programs check-duals check-readme check-links check-examples check-unsupported check-arm check-i386 check-musl check-mingw \
    check-wasm check-gcc14 memory-full check-all

# ---- style -----------------------------------------------------------------------------------

# One make for all of them, so that no core waits.
lints := $(addprefix lint-,layers statics symbols words links names numbers mutants cppcheck)
lint: check-exports ## layers, unique statics, symbols, exports, words, links, names, cppcheck, clang-tidy, lines per folder
	+@$(on_all_cores) $(lints) tidy
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
	$(call say,LINT,names)sh scripts/lint-names.sh $(public_h) $(filter-out CHANGELOG.md,$(texts)) >/dev/null
lint-numbers:
	$(call say,LINT,numbers)sh scripts/lint-numbers.sh
lint-mutants:
	$(call say,LINT,mutants)sh tests/mutation/run.sh --check
lint-cppcheck:
	$(call say,LINT,cppcheck)$(CPPCHECK) -q -j $(JOBS) --std=c11 --error-exitcode=1 \
	    --enable=warning,performance,portability --inline-suppr --suppressions-list=scripts/cppcheck.supp \
	    -DATTIC_CPPCHECK -D__extension__= -Isrc -Icourse -Iexamples -Ibench $(library_c) $(example_c) $(common_c) course/trace.c $(course_c) $(grade_c) $(runner_c) $(all_bench_c)

# The object depends on the headers that the source includes.  One pass, with float.
tidied := $(patsubst %.c,$(B)/%.tidied,$(library_c) $(example_c) $(common_c) course/trace.c $(course_c) $(page_c) $(grade_c) \
    $(runner_c) $(all_bench_c) $(gradcheck_c))
tidy_flags = $(filter-out -m%,$(flags)) -Isrc -Itests -Icourse -Iexamples -Ibench
tidy: $(tidied)
$(B)/%.tidied: %.c $(B)/%.o .clang-tidy
	$(call say,TIDY,$<)$(CLANG_TIDY) --quiet $< -- $(tidy_flags) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

# One submission is no C: it lacks a semicolon.
submissions := $(filter-out %_semicolon_missing.c,$(wildcard course/exercises/e*.c course/exercises/*/*.c))
format: ## bring all C files into the project's format
	@$(CLANG_FORMAT) -i $(all_c) $(all_h) $(submissions)
check-format: ## fail if `make format` would change a file
	@$(CLANG_FORMAT) --dry-run --Werror $(all_c) $(all_h) $(submissions)
.PHONY: lint $(lints) tidy format check-format

# ---- programs --------------------------------------------------------------------------------

TEXT ?= $(wildcard README.md docs/*.md src/*.h src/*/*.h src/*/*.c examples/*.c)

# Compiled on all cores, whether or not make was told so.
demo: ## train on real text; TEXT="files..." or ARGS="--help"
	+@$(on_all_cores) $(B)/examples/demo
	@$(B)/examples/demo $(ARGS) $(TEXT)

gpt: ## train a language model and keep it in out/gpt; TEXT="files..." or ARGS="--help"
	+@$(on_all_cores) $(B)/examples/gpt
	@$(B)/examples/gpt train $(ARGS) $(TEXT)

lora_texts = docs/attention.md $(wildcard src/attention/*.c)
lora: ## train a small model on English, fine-tune it on C by adapters; others: make run-lora ARGS="FIRST OTHER"
	+@$(on_all_cores) $(B)/examples/lora
	@$(B)/examples/lora $(ARGS) $(lora_texts)

run-trace: $(trace) ## attention step by step, on given numbers: make run-trace ARGS=--causal
	@$< $(ARGS)
run-%: $(B)/examples/% ## run one example: make run-05_toy_transformer
	@mkdir -p out
	@$< $(ARGS)

# A submission and its runner: with sanitizers if the compiler has them, and no variable happens to begin with 0.
exercises := 0 1 2 3 4 5 6 7 8 9
exercise_runners := $(exercises:%=$(B)/exercises/runner%.o)
exercise_compile = $(CC) -std=gnu11 -O0 -g1 -Wall -Wextra -Werror=return-type -Icourse/exercises -Icourse -Iexamples -Isrc $$(cat $(B)/exercises/sanitizers)
grade_run = $(grade) --compile "$(exercise_compile)" --runners $(B)/exercises \
    $(if $(SEED),--seed $(SEED)) $(if $(TIME_LIMIT),--seconds $(TIME_LIMIT))
$(B)/exercises/sanitizers: $(B)/flags
	@mkdir -p $(@D)
	@with="-fsanitize=address,undefined -fno-sanitize-recover=all"; \
	echo 'int main(void) { return 0; }' | $(CC) $$with -x c -o $@.try - 2>/dev/null && $@.try || with=; \
	init=-ftrivial-auto-var-init=pattern; \
	echo 'int main(void) { return 0; }' | $(CC) $$init -x c -o $@.try - 2>/dev/null || init=; \
	rm -f $@.try; echo "$$with $$init" >$@
# To E8 the backwards are linked, to E9 kernels and the library.
$(B)/exercises/runner8.o: with = course/steps.c course/mistakes.c
$(B)/exercises/runner9.o: with = course/exercises/kernels.c
$(B)/exercises/runner8.o: course/steps.c course/mistakes.c $(wildcard course/*.h)
$(B)/exercises/runner9.o: course/exercises/kernels.c $(static)
$(exercise_runners): $(B)/exercises/runner%.o: course/exercises/runner.c $(wildcard course/exercises/*.h) \
    $(B)/exercises/sanitizers
	$(call say,CC,$<:E$*)for c in $< $(with); do \
	    $(exercise_compile) $(if $(WERROR),-Werror) -DEXERCISE=$* -c -o $@.$${c##*/}.o $$c || exit 1; done; \
	$(CC) -r -nostdlib -o $@ $(patsubst %,$@.%.o,$(notdir $< $(with))) $(filter %.a,$^)

# A wrong answer is no error of make; grade-all has the status.
exercise-%: $(grade) $(B)/exercises/runner%.o ## the verdict on an exercise: make exercise-3 FILE=my.c SEED=17 HINT=1
	@$(grade_run) $(if $(HINT),--hint $(HINT)) --exercise $* \
	    $(if $(FILE),"$(FILE)",course/exercises/e$*_*.c) || [ $$? -eq 1 ]

grade-all: $(grade) $(exercise_runners) ## grade all exercises in DIR=folder: a table, RESULTS=file.json, the status
	@mkdir -p out
	@$(grade_run) --table --results "$(or $(RESULTS),out/results.json)" "$(or $(DIR),course/exercises)"/e[0-9]*.c

check-exercises: $(grade) $(exercise_runners) ## is every submission in course/exercises graded as it expects?
	@CC="$(CC)" sh scripts/check-exercises.sh $(grade) "$(exercise_compile)" $(B)/exercises
.PHONY: grade-all check-exercises

graph: $(B)/examples/graph ## draw a tape: out/graph.dot, and out/graph.svg if Graphviz is installed
	@$< $(ARGS)
	@if command -v dot >/dev/null; then dot -Tsvg out/graph.dot -o out/graph.svg; \
	else echo "With Graphviz installed, out/graph.dot would have been drawn as out/graph.svg."; fi

# The peers must be installed, here or in the root folder of a system that PEER_ROOT names.
bench_args = $(if $(PEER),--peer $(PEER)) $(if $(THREADS),--threads $(THREADS)) \
    $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ONLY),--only '$(ONLY)') $(ARGS)
bench_run = $(filter $(B)/bench/bench_%,$(if $(BENCH),$(BENCH:%=$(B)/bench/bench_%),$(benches)))

bench: benches ## measure speed; BENCH=sdpa ONLY=causal THREADS=1 PEER=torch|openblas|blis|onednn|all
# BEFORE=folder: beside another build of the same benchmarks, in turn (build/cc-native-release elsewhere)
	@for b in $(bench_run); do \
	    $$b $(bench_args) $(if $(BEFORE),--before $(BEFORE)/bench/$${b##*/}) || exit 1; done

performance: $(B)/bench/pictures ## put what make bench measured into docs/performance.md and its pictures
	@sh scripts/performance.sh $(B)/results docs/performance.md
	@$< $(B)/results docs/images

check-benches: benches ## run the small rows of every benchmark once: do they still work?
	@for b in $(bench_run); do $$b --smoke >/dev/null || { echo "$$b --smoke fails"; exit 1; }; done
	@for n in '' 0 0x1 1e0 ' 1' 1,,2; do \
	    $(B)/bench/bench_gemm --smoke --threads "$$n" 2>&1 | grep -q 'must be whole numbers' || \
	        { echo "bench_gemm takes --threads '$$n'"; exit 1; }; done
.PHONY: demo gpt lora graph bench performance check-benches

# ---- the page --------------------------------------------------------------------------------

page: ## out/attic.html: attention, forward and backward, to look at and to change in a browser
	$(call tool,node,nodejs)
	$(have_wasm)
	$(sub) CC="$(wasm_cc)" AR=llvm-ar ARCH= CFLAGS=-msimd128 MODE=size WERROR=1 page-wasm
	@mkdir -p out
	@node course/page/build.mjs build/page.wasm out/attic.html

# --export: JavaScript puts the command line into memory.
page_wasm := $(B)/page.wasm
page-wasm: $(page_wasm)
	@cp $< build/page.wasm
$(page_wasm): $(call objects,$(filter-out course/page/tests/%,$(page_c)) $(filter-out course/verdict%,$(course_c)) examples/common/options.c) $(static)
	$(call say,LINK,$@)$(link) -mexec-model=reactor -Wl,--gc-sections,--strip-all,--export=malloc,--export=free \
	    -o $@ $(filter %.o,$^) $(static) $(libs)

$(B)/course/page/tests/train_twin: $(call objects,course/page/tests/train_twin.c examples/common/options.c) $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)

# The numbers of the page are compared with those of a native program with the same mathematical functions
# (musl's) and without fused multiply-adds (ARCH=): they must be equal in every bit.  A browser often waits: one more
# than there are cores.
check-page: page build/page/node_modules ## open the page in Chromium and look at everything; FIREFOX=1: in Firefox, too
	$(call tool,chromium,chromium)
	$(call tool,musl-gcc,musl-tools)
	$(sub) CC=musl-gcc ARCH= MODE=size $(addprefix build/musl-gcc-generic-size/,course/trace course/page/tests/train_twin)
	$(if $(FIREFOX),$(call tool,firefox-esr,firefox-esr))
	@node --test --test-reporter=spec --test-concurrency=$$(($(JOBS) + 1)) $(if $(FIREFOX),course/page/tests/firefox.mjs) \
	    $(or $(PAGE_TESTS),$(filter-out %/latency.test.mjs,$(sort $(wildcard course/page/tests/*.test.mjs))))
	$(if $(PAGE_TESTS),,@node --test --test-reporter=spec course/page/tests/latency.test.mjs)

page-picture: page build/page/node_modules ## the page's picture in the README, taken again
	$(call tool,chromium,chromium)
	@node course/page/picture.mjs docs/images/page.png

build/page/node_modules: course/page/package.json
	$(call tool,npm,npm)
	@mkdir -p $(@D) && cp $< $(@D)
	@cd $(@D) && npm install --no-audit --no-fund --loglevel=error
	@touch $@
.PHONY: page page-wasm page-picture check-page

# ---- installing ------------------------------------------------------------------------------
# The faces lie in include/, what they include in include/attic/: no other name is taken.

faces := src/attic.h src/attic_train.h src/attic_plot.h src/attic_op.h
public_h = $(sort $(filter src/%.h,$(shell $(CC) -MM -Isrc $(faces))))
into := $(DESTDIR)$(includedir)
# In attic.pc and attic-config.cmake all paths follow from where that file lies, so that the folder may be
# moved.  $(call up,FOLDER,NAME): the prefix, as seen from the folder of this name in libdir.
from_prefix = $(patsubst $(prefix)/%,$${$(2)prefix}/%,$(1))
up = $(if $(filter $(prefix)/%,$(libdir)),$${$(1)}$(subst $(empty) $(empty),,$(patsubst \
    %,/..,$(subst /, ,$(patsubst $(prefix)/%,%,$(libdir))/$(2)))),$(prefix))
cmake_dir = $(libdir)/cmake/attic

install: lib ## install under $(DESTDIR)$(prefix): headers, libraries, attic.pc, attic-config.cmake
	@for h in $(public_h); do \
	    case " $(faces) " in *" $$h "*) to=$${h#src/} ;; *) to=attic/$${h#src/} ;; esac; \
	    $(INSTALL) -d $(into)/$$(dirname $$to) && \
	    sed '/^#include "attic\.h"/!s|^#include "|&attic/|' $$h >$(into)/$$to && chmod 644 $(into)/$$to || exit 1; \
	done
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig
	$(INSTALL) -m 644 $(static) $(DESTDIR)$(libdir)/libattic.a
	$(INSTALL) -m 755 $(shared) $(DESTDIR)$(libdir)/$(sofile)
	ln -sf $(sofile) $(DESTDIR)$(libdir)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(libdir)/$(solink)
	sed -e 's|@prefix@|$(call up,pcfiledir,pkgconfig)|; s|@libdir@|$(call from_prefix,$(libdir))|; s|@version@|$(VERSION)|' \
	    -e 's|@includedir@|$(call from_prefix,$(includedir))|' attic.pc.in >$(DESTDIR)$(libdir)/pkgconfig/attic.pc
	$(INSTALL) -d $(DESTDIR)$(cmake_dir)
	for f in attic-config.cmake attic-config-version.cmake; do \
	    sed -e 's|@prefix@|$(call up,CMAKE_CURRENT_LIST_DIR,cmake/attic)|; s|@libdir@|$(call from_prefix,$(libdir),attic_)|' \
	    -e 's|@includedir@|$(call from_prefix,$(includedir),attic_)|; s|@version@|$(VERSION)|; s|@abi@|$(ABI)|' \
	    -e 's|@sofile@|$(sofile)|; s|@soname@|$(soname)|' $$f.in >$(DESTDIR)$(cmake_dir)/$$f || exit 1; done
	@echo "This is a build for $(if $(ARCH),$(if $(filter native,$(ARCH)),this processor,ARCH=$(ARCH)),any processor): \
	on one that lacks what it uses, at_open reports an error."
	@echo "For others: make install ARCH=x86-64-v3 (a -march name), or ARCH= for any processor, at a lower speed."

uninstall: ## remove what install installed
	rm -rf $(addprefix $(into)/,$(notdir $(faces))) $(into)/attic $(DESTDIR)$(libdir)/pkgconfig/attic.pc $(DESTDIR)$(cmake_dir) \
	    $(addprefix $(DESTDIR)$(libdir)/,libattic.a $(sofile) $(soname) $(solink))

single: ## build/single/attic.h and attic.c, the library in two files: cc -O3 -I. main.c attic.c -lm -pthread
	$(call say,JOIN,build/single/attic.c)sh scripts/single.sh build/single $(library_c)
	@wc -l -c build/single/attic.h build/single/attic.c | awk '{ printf "  %6d lines %8d bytes  %s\n", $$1, $$2, $$3 }'

dist: ## a source archive: build/attic-VERSION.tar.gz, what is committed (without git: what is here)
	@rm -rf build/attic-$(VERSION) && mkdir -p build/attic-$(VERSION)
	@{ git archive HEAD 2>/dev/null || tar cf - --exclude=./build --exclude=./out --exclude=./.git .; } | \
	    tar xf - -C build/attic-$(VERSION)
	@tar czf build/attic-$(VERSION).tar.gz -C build attic-$(VERSION) && rm -r build/attic-$(VERSION)
	@echo build/attic-$(VERSION).tar.gz

clean: ## remove build/ and out/
	rm -rf build out

help: ## this list
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile; echo
	@awk '/^[a-z0-9%-]+:.* ## / { name = $$1; sub(/:/, "", name); sub(/.* ## /, ""); \
	    printf "  %-14s %s\n", name, $$0 }' Makefile
.PHONY: install uninstall single dist clean help
