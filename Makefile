# attic: build, test, install.  GNU make 4.0 or later; `make help` lists what it can do.
#
#   make                         the library and the examples, for this machine
#   make deps test               the test suite (needs Check)
#   make demo                    train a small transformer on this repository's own text
#   make install prefix=/usr     headers, libattic.a, libattic.so, attic.pc
#
# Sources are found by wildcard: a new file under src/, tests/, examples/ or bench/ needs no edit here.

# ---- what may be set on the command line -----------------------------------------------------

ARCH ?= native
MODE ?= release
CFLAGS ?=
LDFLAGS ?=
prefix ?= /usr/local
exec_prefix ?= $(prefix)
libdir ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
INSTALL ?= install
PKG_CONFIG ?= pkg-config

# ---- the version stands in one place ---------------------------------------------------------

version_part = $(shell sed -n 's/^\#define ATTIC_VERSION_$(1) *\([0-9]*\).*/\1/p' src/version.h)
MAJOR := $(call version_part,MAJOR)
VERSION := $(MAJOR).$(call version_part,MINOR).$(call version_part,PATCH)

# ---- compiler, target, flags -----------------------------------------------------------------

empty :=
space := $(empty) $(empty)
compiler := $(subst $(space),_,$(notdir $(CC)))
target := $(shell $(CC) -dumpmachine)
x86 := $(filter x86_64% i386% i486% i586% i686%,$(target))
darwin := $(findstring darwin,$(target))

# "native" is spelt -march on x86 and -mcpu elsewhere
arch_flags := $(if $(x86),-march,$(if $(filter native,$(ARCH)),-mcpu,-march))=$(ARCH)
# Left to itself clang splits 64-byte vectors in two, at half the speed.
ifneq ($(x86),)
ifneq ($(shell echo | $(CC) $(arch_flags) -dM -E - 2>/dev/null | grep __AVX512F__),)
arch_flags += -mprefer-vector-width=512
endif
endif

mode_release := -O3
mode_debug := -O1 -g3 -fno-omit-frame-pointer -DATTIC_DEBUG
mode_asan := $(mode_debug) -fsanitize=address,undefined -fno-sanitize-recover=all
mode_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
mode_valgrind := -O1 -g
mode_coverage := -O0 -g --coverage -fprofile-update=atomic
ifeq ($(mode_$(MODE)),)
$(error MODE=$(MODE) is none of release, debug, asan, tsan, valgrind, coverage)
endif

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wdouble-promotion
# Never -ffast-math: masks are -inf, and NaN must surface.
# -fno-semantic-interposition: inside the library, a call to at_x is a call to our at_x.
flags := -std=gnu11 $(mode_$(MODE)) -ffp-contract=fast -fno-math-errno -fno-trapping-math \
    -fPIC -fno-semantic-interposition -pthread $(arch_flags) $(warnings) -Isrc \
    $(if $(PLAIN),-DATTIC_PLAIN)
compile = $(CC) $(flags) $(extra) $(if $(WERROR),-Werror) -MMD -MP $(CPPFLAGS) $(CFLAGS)
link = $(CC) $(flags) $(CFLAGS) $(LDFLAGS)
libs := -lm -pthread

B := build/$(compiler)-$(ARCH)-$(MODE)$(if $(PLAIN),-plain)

# ---- sources and what becomes of them --------------------------------------------------------

library_c := $(sort $(wildcard src/*.c src/*/*.c))
example_c := $(sort $(wildcard examples/*.c))
bench_c := $(sort $(wildcard bench/*.c))
common_c := $(sort $(wildcard examples/common/*.c)) # what several examples share
case_c := $(sort $(filter-out tests/gradcheck/main.c,$(wildcard tests/gradcheck/*.c)))
test_c := $(sort $(filter-out tests/gradcheck/% tests/mutation/%,$(wildcard tests/*.c tests/*/*.c)))
objects = $(patsubst %.c,$(B)/%.o,$(1))

static := $(B)/libattic.a
ifneq ($(darwin),)
soname := libattic.$(MAJOR).dylib
sofile := libattic.$(VERSION).dylib
solink := libattic.dylib
shared_flags := -dynamiclib -install_name $(libdir)/$(soname)
else
soname := libattic.so.$(MAJOR)
sofile := libattic.so.$(VERSION)
solink := libattic.so
shared_flags := -shared -Wl,-soname,$(soname) -Wl,--version-script=scripts/attic.map \
    -Wl,-Bsymbolic-functions
endif
shared := $(B)/$(sofile)
examples := $(example_c:%.c=$(B)/%)
benches := $(bench_c:%.c=$(B)/%)
runner := $(B)/tests/run
gradcheck := $(B)/tests/gradcheck/table

# ---- building --------------------------------------------------------------------------------

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
quiet = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2);)

all: lib $(examples) ## the libraries and the examples (the default)
lib: $(static) $(shared) ## the libraries alone
.PHONY: all lib FORCE

# Flags are a prerequisite like any other: whatever they change is compiled again.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' | cmp -s - $@ || \
	    echo '$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' >$@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(compile) -c -o $@ $<

# A release neither aborts nor pays for asserts; tests and examples keep theirs.
ifeq ($(MODE),release)
$(call objects,$(library_c)): extra = -DNDEBUG
endif

$(static): $(call objects,$(library_c)) $(B)/flags
	@rm -f $@
	$(call quiet,AR,$@)$(AR) rcs $@ $(filter %.o,$^)

$(shared): $(call objects,$(library_c)) $(B)/flags scripts/attic.map
	$(call quiet,LINK,$@)$(link) $(shared_flags) -o $@ $(filter %.o,$^) $(libs)
	@ln -sf $(sofile) $(B)/$(soname)
	@ln -sf $(soname) $(B)/$(solink)

$(examples): $(call objects,$(common_c))
$(call objects,$(example_c) $(common_c)): extra = -Iexamples
$(examples) $(benches): $(B)/%: $(B)/%.o $(static)
	$(call quiet,LINK,$@)$(link) -o $@ $^ $(libs)

-include $(patsubst %.c,$(B)/%.d,$(library_c) $(example_c) $(common_c) $(bench_c) $(test_c) $(wildcard tests/gradcheck/*.c))

# ---- tests -----------------------------------------------------------------------------------
# tests/ops/test_softmax.c defines ops_softmax_suite(); this list of suites follows from the names.

suites := $(foreach t,$(test_c:.c=),$(if $(findstring /test_,$t),$(subst /,_,$(patsubst tests/%,%,$(subst /test_,/,$t)))))

test: $(runner) ## run the test suite; SUITE=name and CASE=name choose some of it
	@$(if $(SUITE),CK_RUN_SUITE=$(SUITE)) $(if $(CASE),CK_RUN_CASE=$(CASE)) $(runner)
check: test ## the same as test
.PHONY: test check have-check

$(runner): $(call objects,$(test_c) $(case_c)) $(static) | have-check
	$(call quiet,LINK,$@)$(link) -o $@ $^ $$($(PKG_CONFIG) --libs check) $(libs)

$(B)/suites.inc: FORCE
	@mkdir -p $(@D)
	@echo '$(foreach s,$(suites),TEST_SUITE($s))' | cmp -s - $@ || echo '$(foreach s,$(suites),TEST_SUITE($s))' >$@

$(call objects,$(test_c)): extra = -Itests -I$(B) $$($(PKG_CONFIG) --cflags check)
$(call objects,$(test_c)): | have-check
$(B)/tests/main.o: $(B)/suites.inc
$(call objects,$(wildcard tests/gradcheck/*.c)): extra = -Itests

have-check:
	@$(PKG_CONFIG) --exists 'check >= 0.13' 2>/dev/null || \
	    { echo "The tests need the unit test framework Check: run 'make deps' first." >&2; exit 1; }

deps: ## install what the tests need: Check and pkg-config
	@sh scripts/deps.sh check pkg-config
ifneq ($(filter deps,$(MAKECMDGOALS)),)
have-check: | deps
endif
.PHONY: deps

gradcheck: $(gradcheck) ## check the gradient of every op against numerical differences
	@$(gradcheck) $(ARGS)
$(gradcheck): $(call objects,$(wildcard tests/gradcheck/*.c)) $(static)
	$(call quiet,LINK,$@)$(link) -o $@ $^ $(libs)

mutation: ## plant wrong gradients in a copy of the sources; each must be caught
	@CC="$(CC)" MAKE="$(MAKE)" sh tests/mutation/run.sh $(ARGS)
.PHONY: gradcheck mutation

# ---- programs --------------------------------------------------------------------------------

TEXT ?= $(wildcard README.md docs/*.md src/*.h src/*/*.h src/*/*.c examples/*.c)

demo: $(B)/examples/demo ## train on real text; TEXT="files..." and ARGS="--help" are passed on
	@mkdir -p out
	@$(B)/examples/demo $(ARGS) $(TEXT)

graph: $(B)/examples/graph ## draw a tape: out/graph.dot, and out/graph.svg if Graphviz is installed
	@mkdir -p out
	@$(B)/examples/graph $(ARGS)
	@if command -v dot >/dev/null; then dot -Tsvg out/graph.dot -o out/graph.svg && echo out/graph.svg; \
	else echo "out/graph.dot written; install Graphviz to have it drawn"; fi

bench: $(benches) ## measure speed and memory; BENCH=name runs one program
	@for b in $(if $(BENCH),$(B)/bench/$(BENCH),$(benches)); do echo "== $$b"; $$b $(ARGS) || exit 1; done
.PHONY: demo graph bench

# ---- housekeeping ----------------------------------------------------------------------------

clean: ## remove build/ and out/
	rm -rf build out

help: ## this list
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' Makefile | awk -F '\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
.PHONY: clean help
