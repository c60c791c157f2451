# flags.mk -- the compiler, what each ARCH and MODE means to it, and what the shared library is called.

target := $(shell $(CC) -dumpmachine 2>/dev/null)
x86 := $(filter x86_64% i386% i486% i586% i686%,$(target))
darwin := $(findstring darwin,$(target))
windows := $(findstring mingw,$(target))
wasm := $(findstring wasm,$(target))

# "this machine" is -march=native on x86 and -mcpu=native elsewhere
arch := $(if $(ARCH),$(if $(x86),-march,$(if $(filter native,$(ARCH)),-mcpu,-march))=$(ARCH))
macros := $(shell $(CC) $(arch) $(CFLAGS) -dM -E -x c /dev/null 2>/dev/null | grep -owE '__(AVX512F|i386|clang)__')
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
mode_coverage := -O0 -g --coverage -DATTIC_COVERAGE -fprofile-update=atomic
ifeq ($(mode_$(MODE)),)
$(error MODE=$(MODE) is none of release, debug, size, asan, tsan, valgrind, coverage, fuzz)
endif
ifneq ($(filter-out portable,$(ARITHMETIC)),)
$(error ARITHMETIC=$(ARITHMETIC): what can be chosen is portable)
endif

# Never -ffast-math: masks are -inf, and a NaN must surface.  -fno-semantic-interposition: inside
# the library, a call to at_x is a call to our own at_x.  -fvisibility=hidden: libattic.so shows what
# has AT_API, and nothing else.
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wdouble-promotion
flags := -std=gnu11 $(mode_$(MODE)) -ffp-contract=off -fno-math-errno -fno-trapping-math \
    $(if $(wasm),,-fPIC -fvisibility=hidden -fno-semantic-interposition -pthread) \
    $(if $(PLAIN),-DATTIC_PLAIN_KERNELS) $(if $(ARITHMETIC),-DATTIC_PORTABLE) $(warnings)
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
B := build/$(compiler)-$(if $(ARCH),$(ARCH),generic)-$(MODE)$(if $(PLAIN),-plain)$(if $(ARITHMETIC),-portable)

on_all_cores = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j $(JOBS))

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
