/* test_system.c -- CPU quotas, on control groups made of plain files; large pages; terminals.
 * What starts threads is tested with the pool, what opens and renames files with .npy. */
#include "test.h"
#include "system/system.h"
#include "scratch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char quota_dir[SCRATCH_PATH];

static void make_quota_dir(void)
{
    ck_assert_ptr_nonnull(scratch_folder(quota_dir));
}

static void remove_quota_dir(void)
{
    scratch_remove(quota_dir);
}

/* Writes a file below quota_dir, and the folders it lies in. */
static void put_file(const char *path, const char *text)
{
    char full[2 * SCRATCH_PATH];
    snprintf(full, sizeof full, "%s/%s", quota_dir, path);
    for (char *c = full + strlen(quota_dir) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = 0;
        mkdir(full, 0700);
    }
    FILE *f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* The quota when the process' groups are these and the files are those below quota_dir/fs. */
static int quota_with(const char *groups)
{
    char list[SCRATCH_PATH + 8], mount[SCRATCH_PATH + 8];
    put_file("groups", groups);
    snprintf(list, sizeof list, "%s/groups", quota_dir);
    snprintf(mount, sizeof mount, "%s/fs", quota_dir);
    return at_cpus_of_quota(list, mount);
}

START_TEST(a_process_may_use_at_least_one_cpu_and_at_most_those_online)
{
    ck_assert_int_ge(at_cpus(), 1);
    ck_assert_int_le(at_cpus(), (int)sysconf(_SC_NPROCESSORS_ONLN));
}
END_TEST

START_TEST(no_files_no_quota)
{
    make_quota_dir();
    ck_assert_int_eq(at_cpus_of_quota("/nonexistent", "/nonexistent"), 0);
    ck_assert_int_eq(quota_with("0::/user\n4:cpu:/user\n"), 0);
    ck_assert_int_eq(quota_with(""), 0);
    ck_assert_int_eq(quota_with("nonsense\n:\n::\n"), 0);
    remove_quota_dir();
}
END_TEST

START_TEST(a_v2_quota_rounds_up_to_whole_cpus)
{
    static const struct {
        const char *text;
        int cpus;
    } cases[] = {{"max 100000\n", 0},
                 {"200000 100000\n", 2},
                 {"150000 100000\n", 2},
                 {"1000 100000\n", 1},
                 {"50000 50000\n", 1},
                 {"0 100000\n", 0},
                 {"-5 100000\n", 0},
                 {"100000\n", 0},
                 {"100000 0\n", 0},
                 {"rubbish\n", 0},
                 {"", 0},
                 {"300000 100000", 3}};
    make_quota_dir();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file("fs/job/cpu.max", cases[i].text);
        ck_assert_msg(quota_with("0::/job\n") == cases[i].cpus, "cpu.max: %s", cases[i].text);
    }
    remove_quota_dir();
}
END_TEST

START_TEST(a_v1_quota_is_found_under_either_name_of_its_controllers)
{
    make_quota_dir();
    put_file("fs/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
    put_file("fs/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota_with("5:memory:/job\n4:cpu,cpuacct:/job\n"), 3);
    ck_assert_int_eq(quota_with("4:cpuacct,cpu:/job\n"), 0);
    put_file("fs/cpu/job/cpu.cfs_quota_us", "400000\n");
    put_file("fs/cpu/job/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota_with("4:cpuacct,cpu:/job\n"), 4);
    ck_assert_int_eq(quota_with("4:cpuset,cpuacct:/job\n"), 0);
    put_file("fs/cpu/job/cpu.cfs_quota_us", "-1\n");
    ck_assert_int_eq(quota_with("4:cpuacct,cpu:/job\n"), 0);
    remove_quota_dir();
}
END_TEST

START_TEST(the_smallest_quota_on_the_way_up_counts)
{
    make_quota_dir();
    put_file("fs/a/b/c/cpu.max", "800000 100000\n");
    put_file("fs/a/b/cpu.max", "max 100000\n");
    put_file("fs/a/cpu.max", "300000 100000\n");
    ck_assert_int_eq(quota_with("0::/a/b/c\n"), 3);
    put_file("fs/cpu.max", "200000 100000\n");
    ck_assert_int_eq(quota_with("0::/a/b/c\n"), 2);
    remove_quota_dir();
}
END_TEST

START_TEST(a_container_that_sees_its_hosts_path_finds_its_own_quota_at_the_root)
{
    make_quota_dir();
    put_file("fs/cpu/cpu.cfs_quota_us", "100000\n");
    put_file("fs/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota_with("3:cpuacct,cpu:/docker/0123\n0::/docker/0123\n"), 1);
    remove_quota_dir();
}
END_TEST

START_TEST(v2_beside_v1_lies_under_unified)
{
    make_quota_dir();
    put_file("fs/unified/job/cpu.max", "600000 100000\n");
    ck_assert_int_eq(quota_with("1:cpu:/job\n0::/job\n"), 6);
    remove_quota_dir();
}
END_TEST

START_TEST(a_path_too_long_for_us_is_no_quota)
{
    char groups[3000] = "0::/";
    memset(groups + 4, 'x', 2900);
    make_quota_dir();
    put_file("fs/cpu.max", "100000 100000\n");
    ck_assert_int_eq(quota_with(groups), 0);
    remove_quota_dir();
}
END_TEST

/* What the kernel says of the pages at p, "" if it says nothing. */
static const char *page_flags(const void *p)
{
    static char line[4096], flags[4096];
    unsigned long from = 0, to = 0, a, b;
    FILE *f = fopen("/proc/self/smaps", "r");
    *flags = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) from = a, to = b;
        if (from <= (uintptr_t)p && (uintptr_t)p < to && sscanf(line, "VmFlags: %4000[^\n]", flags))
            break;
    }
    if (f) fclose(f);
    return flags;
}

START_TEST(whole_large_pages_are_asked_for_and_no_others)
{
    enum { LARGE = 2 << 20 };
    char *p = aligned_alloc(LARGE, 3 * LARGE), *middle = p + LARGE;
    ck_assert_ptr_nonnull(p);
    at_prefer_large_pages(p, 0);
    at_prefer_large_pages(p, LARGE - 1); /* no whole one is in there */
    at_prefer_large_pages(p + 1, LARGE);
    ck_assert_ptr_null(strstr(page_flags(p), " hg"));
    at_prefer_large_pages(middle - 1, LARGE + 2);
#ifdef __x86_64__ /* an emulator of another processor does not pass the wish on */
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0) {
        ck_assert_ptr_nonnull(strstr(page_flags(middle), " hg"));
        ck_assert_ptr_null(strstr(page_flags(middle - 1), " hg"));
        ck_assert_ptr_null(strstr(page_flags(middle + LARGE), " hg"));
    }
#endif
    memset(p, 7, 3 * LARGE);
    free(p);
}
END_TEST

START_TEST(a_file_is_no_terminal)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(at_terminal_width(f), 0);
    fclose(f);
}
END_TEST

SUITE(system_system, a_file_is_no_terminal,
      a_process_may_use_at_least_one_cpu_and_at_most_those_online, no_files_no_quota,
      a_v2_quota_rounds_up_to_whole_cpus, a_v1_quota_is_found_under_either_name_of_its_controllers,
      the_smallest_quota_on_the_way_up_counts,
      a_container_that_sees_its_hosts_path_finds_its_own_quota_at_the_root,
      v2_beside_v1_lies_under_unified, a_path_too_long_for_us_is_no_quota,
      whole_large_pages_are_asked_for_and_no_others)
