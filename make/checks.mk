# checks.mk -- checks that take longer than the tests, and the tools that they need.

mutation: ## plant wrong gradients in a copy of the sources; each must be caught
	@CC="$(CC)" MAKE="$(MAKE)" sh tests/mutation/run.sh $(ARGS)

# Calls of every public function, with arguments that nobody should give them.
$(B)/tests/misuse/test_calls.o: $(B)/misuse.inc
$(B)/misuse.inc: scripts/misuse.awk scripts/code.awk tests/misuse/pickers.h tests/misuse/test_calls.c tests/misuse/bases.txt \
    $(filter src/%,$(all_h))
	$(call say,AWK,$@)awk -f scripts/code.awk $(public_h) | awk -f scripts/misuse.awk tests/misuse/pickers.h \
	    tests/misuse/test_calls.c tests/misuse/bases.txt - >$@

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
fuzz: ## any bytes as .npy, safetensors, .npz, deflated data, vocabularies, config.json and JSON: read or refused? SECONDS=30 each; needs clang
	$(call tool,clang,clang)
	$(sub) CC=clang MODE=fuzz fuzz-run
fuzz-run: $(fuzzer)
	@sh scripts/fuzz.sh $(fuzzer) $(or $(SECONDS),30) $(JOBS)
$(fuzzer): $(call objects,tests/fuzz/files.c course/arrays.c $(filter src/system/% src/kernels/% src/tensor/% src/autograd/% src/io/% $(addprefix src/train/,import_config.c pairs.c published.c settings.c tokenizer.c tokenizer_files.c unicode.c),$(library_c)))
	$(call say,LINK,$@)$(link) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(libs)
$(B)/tests/fuzz/files.o: extra = -Itests -Icourse

coverage: export CK_DEFAULT_TIMEOUT = 0# -O0, and counting
coverage: ## lines of src/ reached by tests and gradient checks, per file
	@find build -path '*-coverage/*' -name '*.gcda' -delete 2>/dev/null || true
	$(sub) MODE=coverage test $(gradcheck_too)
	$(sub) MODE=coverage coverage-report
coverage-report:
	@GCOV="$(GCOV)" sh scripts/coverage.sh $(B) $(library_c)

check-install: lib check-exports ## install into a temporary folder, use it from there, uninstall it
	@CC="$(CC)" MAKE="$(MAKE)" PKG_CONFIG="$(PKG_CONFIG)" sh scripts/check-install.sh

check-single: single $(static) $(gradcheck) $(B)/examples/18_curvature ## compile these files with gcc, clang, for Windows, for WebAssembly; gradient checks, examples, C99, C++
	$(have_mingw)
	$(call tool,node,nodejs)
	$(have_wasm)
	@sh scripts/check-single.sh build/single $(static) $(JOBS) $(B)/examples $(gradcheck_o)

# The kernels for dual numbers once more, as C++ with a class that converts to nothing: what drops a tangent does not
# compile.  The tests of tangents are run with these in place of those of the library.
witness_o := $(patsubst %.c,$(B)/%.witness.o,$(filter src/%,$(typed_c)))
$(B)/%.witness.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$< for the witness)printf 'extern "C" {\n#include "$<"\n}\n' | $(CXX) -x c++ -std=gnu++20 -fpermissive -w \
	    $(mode_$(MODE)) $(arch) -ffp-contract=off -DAT_DUAL -DNDEBUG -Isrc -I. -include tests/duals/number.hpp \
	    -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ -
-include $(witness_o:.o=.d)
$(B)/tests/duals/run: $(filter %.o,$(runner_o)) $(witness_o) $(static)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(call check_flag,--libs) $(libs)
check-duals: $(B)/tests/duals/run ## tests of tangents, with kernels compiled as C++ from a class of dual numbers
	@CK_RUN_SUITE=autograd_tangent $(B)/tests/duals/run

# The same with elements of a finite field: what is right is an identity there.  The linker gives it what reads and writes
# elements without their type (tests/prove/cells.cpp); the tiles of gemm.c are replaced by their plain twins.
field_o := $(patsubst %.c,$(B)/%.field.o,$(filter-out %/gemm_dual.c,$(filter src/%,$(typed_c))) tests/prove/gemm.c)
prove_o := $(patsubst %.cpp,$(B)/%.o,$(sort $(wildcard tests/prove/*.cpp)))
field_cells := at_fetch at_store at_convert at_element at_grad_element at_tangents_hold
field_flags = -std=gnu++20 -fpermissive -w $(mode_$(MODE)) -O1 -DAT_DUAL -DNDEBUG -Isrc -I.
field_cxx = printf 'extern "C" {\n\#include "$<"\n}\n' | $(CXX) -x c++ $(field_flags) -include $(field_header) \
    -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@
# The header of all of them is read once.
$(B)/tests/prove/kernel.hpp.gch: tests/prove/kernel.hpp $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -x c++-header $(field_flags) -MMD -MP -MT $@ -MF $(@:.gch=.d) -o $@ $<
-include $(B)/tests/prove/kernel.hpp.d
$(B)/%.field.o: field_header = $(B)/tests/prove/kernel.hpp
$(B)/%.field.o: %.c $(B)/tests/prove/kernel.hpp.gch $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$< for the field)$(field_cxx) -
$(B)/tests/prove/%.o: tests/prove/%.cpp $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -std=c++17 -O1 -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -Isrc -Itests -MMD -MP -c -o $@ $<
-include $(field_o:.o=.d) $(prove_o:.o=.d)
$(call objects,$(prove_c)): extra = -Itests -Iexamples
prover := $(B)/tests/prove/prove
asked_o := $(call objects,$(prove_c) examples/common/names.c examples/common/numbers.c) $(filter-out %/main.o,$(filter %.o,$(gradcheck_o)))
prove_link = $(CXX) $(filter-out -std=gnu11,$(mode_$(MODE))) -o $@ $(field_cells:%=-Wl,--wrap=%) $(filter %.o,$^) $(static) $(libs)
$(prover): $(prove_o) $(field_o) $(asked_o) $(static)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(prove_link)
# What must be refused, alone: it needs nothing of the library.
$(B)/tests/prove/failures: $(B)/tests/prove/main.o $(B)/tests/prove/failures.o
	$(call say,LINK,$@)$(CXX) $(filter-out -std=gnu11,$(mode_$(MODE))) -o $@ $^
# Its tables are looked up at random: with pages of 2 MB it takes a tenth less.
prove: $(prover) ## backward is the derivative of forward, as an identity in a finite field: ARGS=softmax, --first
	@GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(prover) --jobs=$(or $(JOBS),2) $(ARGS)

# Once more, with a counter for each branch that the text has: nothing is optimised (scripts/prove-coverage.sh).
branches_o := $(field_o:.field.o=.branches.o)
brancher := $(B)/tests/prove/branches
$(B)/%.branches.o: field_header = tests/prove/kernel.hpp
$(B)/%.branches.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$< for its branches)$(field_cxx) -O0 --coverage -fprofile-filter-files='src/.*[.][ch]' -fno-exceptions \
	    --param=logical-op-non-short-circuit=0 -Dalways_inline=unused -
-include $(branches_o:.o=.d)
$(brancher): $(prove_o) $(branches_o) $(asked_o) $(static)
	$(call say,LINK,$@)$(prove_link) --coverage
prove-coverage: $(brancher) ## is each branch of a kernel taken both ways in some question of `make prove`?
	@GCOV="$(GCOV)" sh scripts/prove-coverage.sh $(JOBS) $(brancher) $(branches_o)

check-exports: $(shared) ## does libattic.so export what its headers declare and scripts/exports.txt lists? WRITE=1 writes it
	@CC="$(CC)" sh scripts/check-exports.sh $(shared) $(if $(WRITE),write)

# All of the engine is linked, and not what a program happens to call: then it needs nothing of io, train or plot.
engine_o := $(call objects,$(filter $(addprefix src/,$(addsuffix /%,system kernels tensor autograd gradcheck ops attention nn)),$(library_c)))
by_engine := $(addprefix $(B)/engine/,00_attention_in_100_lines 00_tape_in_80_lines 01_training_loop 03_attention_by_hand \
    04_three_paths 05_toy_transformer)
by_plot := $(addprefix $(B)/engine/,02_check_a_gradient 06_why_scale 07_never_minus_1e9 08_look_at_attention)
$(by_plot): $(call objects,$(filter src/plot/% src/terminal/%,$(library_c)) $(common_c))
$(by_engine) $(by_plot): $(B)/engine/%: $(B)/examples/%.o $(call objects,examples/common/options.c examples/common/processor.c)
$(B)/engine/table: $(gradcheck_o)
$(by_engine) $(by_plot) $(B)/engine/table: $(engine_o)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(libs)
check-engine: $(by_engine) $(by_plot) $(B)/engine/table ## do the first examples and the gradient table link without io and train?

check-fresh: ## README's two commands in the root folder of a bare Debian, from a clone; AS="root user clang folder bare"
	@sh scripts/check-fresh.sh $(or $(AS),root) || [ $$? -eq 3 ] # NOT RUN, which it says at its end

check-pip: ## pip installs the source archive into a virtual environment; the program of docs/install.md runs there
	@PYTHON='$(PYTHON)' sh scripts/check-pip.sh "$(MAKE)"
check-dist: ## unpack the source archive, build it, run its demo
	@sh scripts/check-dist.sh "$(MAKE)"

# Suites with random problems, and the variable that says how many.
check-long: $(runner) ## the tests on random problems with 10,000 of them, in place of 300
	@for suite in attention_paths attention_dual attention_identities attention_nan attention_fused attention_tangent; do \
	    ATTIC_PROBLEMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=$$suite $(runner) || exit 1; \
	done
	@ATTIC_FLOAT_PROBLEMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=gradcheck_float $(runner)
	@ATTIC_PLANTED=all CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=gradcheck_planted $(runner)
	@ATTIC_CORRECT_FUNCTIONS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=gradcheck_correct $(runner)
	@ATTIC_PROGRAMS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=autograd_random_programs $(runner)
	@ATTIC_PAIRS=10000 CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=misuse_calls $(runner)
	@ATTIC_ANSWERS=all CK_DEFAULT_TIMEOUT=0 CK_RUN_SUITE=course_judged $(runner)

# What the gradient checker says of functions whose backward is right.
corpus := $(corpus_c:%.c=$(B)/%)
corpus_o := $(call objects,$(corpus_c) $(wildcard tests/gradcheck/correct_*.c) tests/gradcheck/real_bugs.c examples/common/options.c)
$(call objects,$(corpus_c)): extra = -Itests -Iexamples $(TEST_CFLAGS)
$(corpus): $(corpus_o) $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)
gradcheck-corpus: $(corpus) ## what does the gradient checker say of 300 correct functions? ARGS="--count 10000", "--only 17"
	@$(RUN) $(corpus) $(ARGS)

check-readme: $(static) $(shared) exercises ## run the commands and programs of README.md and of docs/; WRITE=1 fills in what programs print
	@set -e; for page in README $(addprefix docs/,attention checking cookbook derivatives files gradient_checking install lecturer microgpt proof pytorch reading runs tasks training variants); do \
	    PYTHON='$(PYTHON)' sh scripts/check-readme.sh $$page.md '$(CC)' $(static) $(if $(WRITE),write); done

# The arithmetic of this build, and a hash of all bits that it computes.
bits := $(bits_c:%.c=$(B)/%)
$(bits).o: extra = -Itests -Iexamples $(TEST_CFLAGS)
$(bits): $(bits).o $(call objects,examples/common/names.c examples/common/numbers.c) $(filter-out %/main.o,$(gradcheck_o)) $(static)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)
bits: $(bits) ## the name of the arithmetic, and a hash of all bits that the library computes
	@$(RUN) $(bits)$(if $(windows),.exe) $(ARGS)
check-bits: ## have all builds that this machine can make and run the bits of their arithmetic? ONLY="gcc sse2"
	@sh scripts/check-bits.sh "$(MAKE) -j $(JOBS)" $(ONLY)

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

# A Python that has NumPy, where there is one: Debian's may stand behind another in the path.
PYTHON ?= $(shell for p in python3 /usr/bin/python3; do $$p -c 'import numpy' 2>/dev/null && echo $$p && exit; done; echo python3)
python: ## write what the headers declare into python/attic.py
	@CC='$(CC)' $(PYTHON) python/generate.py
check-python: $(shared) $(B)/examples/microgpt ## the tests of attic.py, and whether it is what the headers say: needs NumPy; pytest, PyTorch and JAX where they are
	@$(PYTHON) -c 'import numpy' || { echo "There is no NumPy; on Debian: apt-get install python3-numpy" >&2; exit 1; }
	@CC='$(CC)' ATTIC_LIBRARY='$(abspath $(shared))' ATTIC_MICROGPT='$(abspath $(B)/examples/microgpt)' PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/python/run.py
.PHONY: python check-python

export_models := $(export_c:%.c=$(B)/%)
$(export_models): $(call objects,$(export_c)) $(static)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(link) -o $@ $(filter %.o,$^) $(static) $(libs)
check-export: $(export_models) ## exported models and adapters, read by NumPy, and by PyTorch (here or in PEER_ROOT=folder): the same logits?
	@PYTHON='$(PYTHON)' sh scripts/check-export.sh $(export_models) $(B)/exported

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

check-examples: $(examples) $(cpp_examples) $(trace) ## run the examples: do they still print expected/? WRITE=1 writes it
	@CC='$(CC)' RUN='$(RUN)' ONLY='$(ONLY)' WRITE='$(WRITE)' sh scripts/check-examples.sh $(B)/examples $(B)/course

# Claims that stand in docs/programs.md: the status is 1 if one does not hold.
check-programs: $(patsubst %,$(B)/examples/%,reverse induction digits lora) ## full runs: strings reversed, periods found, digits recognised, a model adapted?
	@for p in $^; do case $$p in */lora) texts="$(lora_texts)" ;; esac; \
	    $$p --fresh --check --out $(B)/check-programs/$${p##*/} $$texts || exit 1; done

check-all: ## everything, both compilers; takes long
	$(sub) check-format lint
	$(sub) CC=gcc WERROR=1 all benches test gradcheck check-duals prove check-install
	$(sub) CC=clang WERROR=1 all benches test gradcheck check-duals prove check-install
	$(sub) PLAIN=1 WERROR=1 test gradcheck
	$(sub) ARCH= WERROR=1 test gradcheck
	$(sub) CC=gcc ARCH=x86-64-v3 CFLAGS=-mtune=znver3 SUITE=kernels_gemm test
	$(sub) check-fresh AS="root user clang folder bare"
	$(sub) check-unsupported check-arm check-i386 check-musl check-mingw check-wasm check-gcc14 check-single check-dist
	$(sub) check-long check-programs
	$(sub) check-exercises SEEDS=100
	$(sub) check-class STUDENTS=100
	$(sub) check-worksheets check-course
	$(sub) check-crash check-kill N=500
	$(sub) CC=gcc sanitize
	$(sub) CC=clang sanitize
	$(sub) tsan
	$(sub) valgrind
	$(sub) fuzz SECONDS=600
	$(sub) coverage prove-coverage
	$(sub) mutation
	$(sub) graph check-readme check-examples check-sandbox check-python check-export check-pip check-benches check-page FIREFOX=1
	$(sub) mpi-test
	$(sub) check-site STALE=error
.PHONY: bits check-bits gradcheck-corpus prove prove-coverage mutation sanitize tsan valgrind fuzz fuzz-run check-crash check-kill coverage coverage-report check-install check-exports check-engine check-single check-fresh check-dist \
    check-long check-programs check-duals check-readme check-links check-export check-pip check-examples check-unsupported check-arm check-i386 check-musl check-mingw \
    check-wasm check-gcc14 memory-full check-all
