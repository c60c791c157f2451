/* sandbox.c -- confines a compiler and what it compiled; see sandbox.h.
 *
 * The filter of seccomp is there before the program is executed, so that nothing of it runs without: no
 * constructor, no resolver of the loader.  execve must be left to it, then, once.  So the program is opened
 * as descriptor PROGRAM, which is closed by its own execution, no descriptor may have this number afterwards
 * (RLIMIT_NOFILE), and the filter allows execveat of PROGRAM alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The headers of Linux are not there for every compiler that compiles for it: musl-gcc has none. */
#if defined __linux__ && __has_include(<linux/seccomp.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#endif

enum { PROGRAM = 200, DESCRIPTORS = 64 };
enum { COMPILER_CPU = 30, COMPILER_FILE = 64 << 20, PROGRAM_CPU = 1, PROGRAM_FILE = 1 << 20 };

static struct {
    bool seccomp, landlock, user;
    uid_t uid;
    gid_t gid;
    char text[100];
} tiers;

static void limit(int what, rlim_t most)
{
    struct rlimit r = {most, most};
    setrlimit(what, &r);
}

static void give_up(const char *what)
{
    fprintf(stderr, "grade: the sandbox cannot %s: %s\n", what, strerror(errno));
    _exit(127);
}

/* ------------------------------------------------------------------ Landlock ------------------ */

#ifdef ARCHITECTURE
/* What linux/landlock.h has; many installed ones are older than the kernel. */
enum {
    LANDLOCK_CREATE = 444,
    LANDLOCK_ADD = 445,
    LANDLOCK_RESTRICT = 446,
    VERSION = 1,
    BENEATH = 1
};
enum { FS_EXECUTE = 1, FS_WRITE_FILE = 2, FS_READ_FILE = 4, FS_READ_DIR = 8 };
typedef struct {
    uint64_t files, net, scoped;
} landlock_ruleset;
typedef struct __attribute__((packed)) {
    uint64_t allowed;
    int32_t parent;
} landlock_beneath;

/* All rights that this kernel knows: of files, then TCP, then signals and abstract sockets. */
static landlock_ruleset all_rights(long version)
{
    const int files = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
    return (landlock_ruleset){.files = (UINT64_C(1) << files) - 1,
                              .net = version >= 4 ? 3 : 0,
                              .scoped = version >= 6 ? 3 : 0};
}

static void allow(int rules, const char *path, uint64_t rights)
{
    const int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return; /* there is nothing to be read */
    const landlock_beneath folder = {rights, at},
                           file = {rights & ~(uint64_t)FS_READ_DIR & 0x4007, at};
    if (syscall(LANDLOCK_ADD, rules, BENEATH, &folder, 0) !=
        0) /* what is no folder has fewer rights */
        syscall(LANDLOCK_ADD, rules, BENEATH, &file, 0);
    close(at);
}

static bool restrict_files(const char *const readable[], const char *folder)
{
    static const char *const system[] = {"/usr/bin",
                                         "/usr/lib",
                                         "/usr/lib32",
                                         "/usr/lib64",
                                         "/usr/libx32",
                                         "/usr/libexec",
                                         "/usr/sbin",
                                         "/bin",
                                         "/usr/local/bin",
                                         "/usr/local/lib",
                                         "/lib",
                                         "/lib32",
                                         "/lib64",
                                         "/libx32",
                                         "/usr/local/include",
                                         "/usr/include",
                                         "/etc/alternatives",
                                         "/etc/ld.so.cache",
                                         "/dev/null",
                                         "/dev/urandom",
                                         "/proc/self",
                                         NULL};
    const long version = syscall(LANDLOCK_CREATE, NULL, 0, VERSION);
    const landlock_ruleset all = all_rights(version);
    const size_t size = version >= 6 ? sizeof all : version >= 4 ? 16 : 8;
    const int rules = version > 0 ? (int)syscall(LANDLOCK_CREATE, &all, size, 0) : -1;
    if (rules < 0) return false;
    for (int i = 0; system[i]; i++)
        allow(rules, system[i], FS_EXECUTE | FS_READ_FILE | FS_READ_DIR);
    for (int i = 0; readable && readable[i]; i++)
        allow(rules, readable[i], FS_EXECUTE | FS_READ_FILE | FS_READ_DIR);
    if (folder) allow(rules, folder, all.files);
    allow(rules, "/dev/null", FS_READ_FILE | FS_WRITE_FILE);
    const bool done = syscall(LANDLOCK_RESTRICT, rules, 0) == 0;
    close(rules);
    return done;
}

/* ------------------------------------------------------------------ seccomp ------------------- */

/* A filter is a program on the number of the call and the lower halves of its arguments. */
enum { MOST_STEPS = 250 };
typedef struct {
    struct sock_filter step[MOST_STEPS];
    unsigned short n;
} filter;

static void add(filter *f, struct sock_filter step)
{
    f->step[f->n++] = step;
}
static void load(filter *f, size_t offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}
static void load_argument(filter *f, int k)
{
    load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)k);
}
static void answer(filter *f, uint32_t what)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}
/* Where the loaded number is not x, the next `steps` are skipped. */
static void only_if(filter *f, uint32_t x, unsigned char steps)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, x, 0, steps));
}

enum { REFUSE = SECCOMP_RET_ERRNO | EPERM };

static void allow_call(filter *f, long call)
{
    only_if(f, (uint32_t)call, 1);
    answer(f, SECCOMP_RET_ALLOW);
}
/* Allowed where argument k, of which `mask` counts, is x. */
static void allow_where(filter *f, long call, int k, uint32_t mask, uint32_t x)
{
    only_if(f, (uint32_t)call, 5);
    load_argument(f, k);
    add(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    only_if(f, x, 1);
    answer(f, SECCOMP_RET_ALLOW);
    answer(f, REFUSE);
}

/* What a program of numbers and text needs, with sanitizers and threads. */
static const short harmless[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_dup,
    SYS_fcntl,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_getcwd,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_exit,
    SYS_exit_group,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_getrandom,
    SYS_futex,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_sysinfo,
    SYS_uname,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_getrusage,
    SYS_ppoll,
    SYS_restart_syscall,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_membarrier,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef __x86_64__
    SYS_arch_prctl,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_poll,
    SYS_time,
#endif
};

static void build_filter(filter *f)
{
    const uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC, thread = 0x00010000, terminal = 0x5401,
                   own = (uint32_t)getpid();
    load(f, offsetof(struct seccomp_data, arch));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load(f, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) allow_call(f, harmless[i]);
    allow_where(f, SYS_openat, 2, writing, O_RDONLY);
#ifdef SYS_open
    allow_where(f, SYS_open, 1, writing, O_RDONLY);
#endif
    allow_where(f, SYS_kill, 0, UINT32_MAX, own);
    allow_where(f, SYS_tgkill, 0, UINT32_MAX, own);
    allow_where(f, SYS_clone, 0, thread, thread);
    allow_where(f, SYS_ioctl, 1, UINT32_MAX, terminal);
    allow_where(f, SYS_prctl, 0, UINT32_MAX, PR_SET_NAME);
    allow_where(f, SYS_prlimit64, 0, UINT32_MAX, 0); /* of itself */
    allow_where(f, SYS_execveat, 0, UINT32_MAX, PROGRAM);
    only_if(f, SYS_clone3, 1); /* its flags are in memory; without it, clone is called */
    answer(f, SECCOMP_RET_ERRNO | ENOSYS);
    answer(f, REFUSE);
}

static bool restrict_calls(void)
{
    filter f = {.n = 0};
    build_filter(&f);
    const struct sock_fprog program = {f.n, f.step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool forbid_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* Nobody of the same user can read this process's memory or environment, or trace it. */
static void be_private(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}
static void execute(const char *path, const char *const argv[], char *const environment[])
{
    const int program = open(path, O_RDONLY | O_CLOEXEC);
    if (dup3(program, PROGRAM, O_CLOEXEC) < 0) give_up("open the program");
    limit(RLIMIT_NOFILE, DESCRIPTORS);
    if (tiers.seccomp && !restrict_calls()) give_up("install its filter");
    syscall(SYS_execveat, PROGRAM, "", argv, environment, AT_EMPTY_PATH);
}
#else
static bool restrict_files(const char *const readable[], const char *folder)
{
    (void)readable, (void)folder;
    return false;
}
static bool restrict_calls(void)
{
    return false;
}
static bool forbid_privileges(void)
{
    return true;
}
static void be_private(void)
{
}
static void execute(const char *path, const char *const argv[], char *const environment[])
{
    limit(RLIMIT_NOFILE, DESCRIPTORS);
    execve(path, (char *const *)argv, environment);
}
#endif

/* ------------------------------------------------------------------ tiers --------------------- */

static bool be_nobody(void)
{
    return setgroups(0, NULL) == 0 && setgid(tiers.gid) == 0 && setuid(tiers.uid) == 0;
}

/* Does it work here?  Asked of a process of its own, as there is no way back. */
static bool works(bool (*f)(void))
{
    int status = 1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(forbid_privileges() && f() ? 0 : 1);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool restrict_all_files(void)
{
    return restrict_files(NULL, NULL);
}

void sandbox_open(const char *how)
{
    const bool on = strcmp(how, "off") != 0, require = strcmp(how, "require") == 0;
    if (on && !require && strcmp(how, "on") != 0) {
        fprintf(stderr, "grade: --sandbox must be on, off or require, not \"%s\"\n", how);
        exit(2);
    }
    const struct passwd *nobody = on && geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (on) be_private();
    if (nobody) tiers.uid = nobody->pw_uid, tiers.gid = nobody->pw_gid;
    tiers.user = nobody && works(be_nobody);
    tiers.seccomp = on && works(restrict_calls);
    tiers.landlock = on && works(restrict_all_files);
    if (require && !tiers.seccomp) {
        fprintf(stderr, "grade: SANDBOX=require, but there is no seccomp here\n");
        exit(1);
    }
    snprintf(tiers.text, sizeof tiers.text, "own process%s%s%s", tiers.seccomp ? ", seccomp" : "",
             tiers.landlock ? ", Landlock" : "", tiers.user ? ", user nobody" : "");
}

const char *sandbox_text(void)
{
    return tiers.text;
}

void sandbox_give(const char *path)
{
    if (tiers.user && lchown(path, tiers.uid, tiers.gid) != 0) {
        fprintf(stderr, "grade: cannot give %s to nobody: %s\n", path, strerror(errno));
        exit(1);
    }
}

/* What both have in common, after which there is no way back. */
static void enter(const char *folder, const char *const readable[], const char *writable)
{
    setpgid(0, 0);
    limit(RLIMIT_CORE, 0);
    if (chdir(folder) != 0) give_up("enter its folder");
    if (tiers.user && !be_nobody()) give_up("become nobody");
    if (!forbid_privileges()) give_up("give up privileges");
    if (tiers.landlock && !restrict_files(readable, writable)) give_up("restrict files");
}

void sandbox_compile(const char *const readable[], const char *folder, const char *const argv[])
{
    char path[4096], temporary[4200], home[4200];
    const char *from = getenv("PATH");
    snprintf(path, sizeof path, "PATH=%s", from ? from : "/usr/local/bin:/usr/bin:/bin");
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    snprintf(home, sizeof home, "HOME=%s", folder);
    char *environment[] = {path, temporary, home, "LC_ALL=C", "CCACHE_DISABLE=1", NULL};
    enter(folder, readable, folder);
    limit(RLIMIT_CPU, COMPILER_CPU);
    limit(RLIMIT_FSIZE, COMPILER_FILE);
    execve(argv[0], (char *const *)argv, environment);
    give_up("start the compiler");
}

void sandbox_run(const char *program, const char *empty_folder, const char *const argv[])
{
    const char *const readable[] = {program, NULL};
    char *environment[] = {"LC_ALL=C", NULL};
    enter(empty_folder, readable, NULL);
    limit(RLIMIT_CPU, PROGRAM_CPU);
    limit(RLIMIT_FSIZE, PROGRAM_FILE);
    execute(program, argv, environment);
    give_up("start the program");
}
