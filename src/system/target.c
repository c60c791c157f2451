/* target.c -- asks the processor what it can do; see target.h.
 *
 * Compiled without ARCH (see the Makefile), or it would need what it asks for.
 *
 *   x86        __builtin_cpu_supports, which also asks whether the system saves wide registers;
 *              for names that not every compiler takes, the bit of cpuid that it would look at
 *   AArch64    AT_HWCAP and AT_HWCAP2, which Linux hands to every process; other systems not */
#include "system/target.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    bool is_there;
} target_feature;

/* Known features, up to a name of NULL, asked for once: in a virtual machine the host answers every
 * cpuid, which takes microseconds. */
static target_feature target_known[40];
static int target_asked;

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

static bool target_cpuid(unsigned leaf, unsigned part, int reg, int bit)
{
    unsigned r[4] = {0};
    return __get_cpuid_count(leaf, part, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) && (r[reg] >> bit & 1);
}

#define FEATURE(name, is_there) ((target_feature){name, is_there})
#define BY_NAME(name) FEATURE(name, __builtin_cpu_supports(name) != 0)
#elif defined __aarch64__ && defined __linux__
#include <sys/auxv.h>
#endif

static void target_ask(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_cpu_init();
    const target_feature all[] = {
        /* names that every compiler takes */
        BY_NAME("sse3"), BY_NAME("ssse3"), BY_NAME("sse4.1"), BY_NAME("sse4.2"), BY_NAME("popcnt"),
        BY_NAME("avx"), BY_NAME("avx2"), BY_NAME("fma"), BY_NAME("bmi"), BY_NAME("bmi2"),
        BY_NAME("fma4"), BY_NAME("xop"), BY_NAME("gfni"), BY_NAME("avx512f"), BY_NAME("avx512cd"),
        BY_NAME("avx512dq"), BY_NAME("avx512bw"), BY_NAME("avx512vl"), BY_NAME("avx512ifma"),
        BY_NAME("avx512vbmi"), BY_NAME("avx512vbmi2"), BY_NAME("avx512vnni"),
        BY_NAME("avx512bitalg"), BY_NAME("avx512vpopcntdq"), BY_NAME("avx512bf16"),
        /* bits of cpuid */
        FEATURE("movbe", target_cpuid(1, 0, ECX, 22)), FEATURE("f16c", target_cpuid(1, 0, ECX, 29)),
        FEATURE("avx512fp16", target_cpuid(7, 0, EDX, 23)),
        FEATURE("avxvnni", target_cpuid(7, 1, EAX, 4)),
        FEATURE("lzcnt", target_cpuid(0x80000001, 0, ECX, 5))};
#elif defined __aarch64__ && defined __linux__
    const unsigned long has = getauxval(AT_HWCAP), has2 = getauxval(AT_HWCAP2);
    const target_feature all[] = {
        {"crc", has >> 7 & 1},   {"lse", has >> 8 & 1},      {"fp16", has >> 10 & 1},
        {"rdma", has >> 12 & 1}, {"dotprod", has >> 20 & 1}, {"sve", has >> 22 & 1},
        {"sve2", has2 >> 1 & 1}, {"i8mm", has2 >> 13 & 1},   {"bf16", has2 >> 14 & 1}};
#else
    const target_feature all[] = {{NULL, true}};
#endif
    memcpy(target_known, all, sizeof all);
}

at_presence at_target_has(const char *name)
{
    static atomic_int begun, done;
    if (!done && !atomic_fetch_add(&begun, 1)) {
        target_ask();
        target_asked++;
        done = 1;
    }
    while (!done) continue; /* another thread asks, for some microseconds */
    const target_feature *f = target_known;
    while (f->name && strcmp(f->name, name) != 0) f++;
    return !f->name ? AT_NOT_KNOWN : f->is_there ? AT_PRESENT : AT_ABSENT;
}

int at_target_asked(void)
{
    return target_asked;
}

bool at_target_missing(const char *const *needs, at_presence (*has)(const char *), char *names,
                       size_t size)
{
    size_t used = 0;
    bool missing = false;
    names[0] = 0;
    for (; *needs; needs++) {
        if (has(*needs)) continue;
        size_t left = size - used, length = strlen(*needs) + (missing ? 2 : 0);
        if (length < left) {
            snprintf(names + used, left, "%s%s", missing ? ", " : "", *needs);
            used += length;
        }
        missing = true;
    }
    return missing;
}

bool at_target_is_unsupported(char *message, size_t size)
{
    char names[320];
    if (!at_target_missing(at_target_needs, at_target_has, names, sizeof names)) return false;
    snprintf(
        message, size,
        "this build is for a processor with %s, which this one lacks: build it here, or for an "
        "older ARCH such as ARCH=x86-64",
        names);
    return true;
}
