/* peer.c -- another library, in a process of its own. */
#define _GNU_SOURCE /* unshare, pipe2 */
#include "common/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ in the child --------------- */

static void set_threads(int threads)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "PEER_THREADS"};
    char n[16];
    snprintf(n, sizeof n, "%d", threads);
    for (int i = 0; i < 5; i++) setenv(names[i], n, 1);
}

/* Settings with which peers are fastest, found by measuring. */
static void set_fastest(bool compile)
{
    setenv("MALLOC_TOP_PAD_", "268435456", 0); /* PyTorch: buffers are kept, not returned */
    setenv("MALLOC_MMAP_THRESHOLD_", "1073741824", 0);
    setenv("MALLOC_TRIM_THRESHOLD_", "4294967296", 0);
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0); /* pages of 2 MiB, as attic has them */
    setenv("THP_MEM_ALLOC_ENABLE", "1", 0);
#ifdef __AVX512F__
    setenv("BLIS_ARCH_TYPE", "skx",
           0); /* BLIS takes its kernels for AVX2 where it doesn't know the processor */
#endif
    glob_t
        found; /* PyTorch with an OpenBLAS of other threads than its own is slower on two than on one */
    if (glob("/usr/lib/*/openblas-openmp", 0, NULL, &found) == 0)
        setenv("LD_LIBRARY_PATH", found.gl_pathv[0], 0);
    globfree(&found);
    if (!compile) return;
    /* Code that torch.compile makes calls Sleef, and isn't linked to it. */
    if (glob("/usr/lib/*/libsleef.so.3", 0, NULL, &found) == 0)
        setenv("LD_PRELOAD", found.gl_pathv[0], 0);
    globfree(&found);
}

static void enter_root(void)
{
    const char *root = getenv("PEER_ROOT");
    if (!root || !*root) return;
    bool in = chroot(root) == 0;
    if (!in && errno == EPERM) in = unshare(CLONE_NEWUSER) == 0 && chroot(root) == 0;
    if (in && chdir("/") == 0) return;
    fprintf(stderr, "bench: PEER_ROOT=%s: %s\n", root, strerror(errno));
    _exit(1);
}

/* The text of a small file; lives as long as this process. */
static char *read_text(const char *path)
{
    static char text[100000];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (n == 0)
        fprintf(stderr, "bench: can't read %s (run this from the top folder of attic)\n", path);
    if (f) fclose(f);
    return n ? text : NULL;
}

/* bench/peer/cblas beside this program.  Opened before the root changes: it is not in the new
 * one. */
static int open_cblas(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n < 0) return -1;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, "/peer/cblas");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
    return fd;
}

static void become_peer(const char *name, int threads)
{
    char *program = NULL, *python = getenv("PEER_PYTHON"), own[32];
    bool compile = strcmp(name, "torch-compile") == 0,
         torch = compile || strcmp(name, "torch") == 0;
    int fd = torch ? -1 : open_cblas();
    if (torch) program = read_text("bench/peer/torch.py");
    if (fd < 0 && !program) return;
    enter_root();
    set_threads(threads);
    set_fastest(compile);
    snprintf(own, sizeof own, "%s", name);
    if (!python) python = "python3";
    if (torch)
        execlp(python, python, "-c", program, compile ? "compile" : NULL, (char *)NULL);
    else
        fexecve(fd, (char *[]){"cblas", own, NULL}, environ);
    fprintf(stderr, "bench: %s: %s\n", torch ? python : "cblas", strerror(errno));
}

/* ------------------------------------------------------------------ in the parent -------------- */

/* Sends a line and reads the answer; NULL if the peer has ended. */
static const char *ask(peer *p, const char *line)
{
    static char answer[256];
    if (line) {
        fputs(line, p->to);
        fputc('\n', p->to);
        fflush(p->to);
    }
    if (!fgets(answer, sizeof answer, p->from)) return NULL;
    answer[strcspn(answer, "\n")] = 0;
    return answer;
}

static const char *const peers[PEERS][2] = {
    {"torch", "python3 with torch (Debian: python3-torch)"},
    {"torch-compile",
     "python3 with torch 2, a C++ compiler and Sleef (Debian: python3-torch g++ python3-dev "
     "libtorch-dev libsleef-dev)"},
    {"openblas", "libopenblas.so.0 (Debian: libopenblas0-openmp)"},
    {"blis", "libblis.so.4 (Debian: libblis4-openmp)"},
    {"onednn", "libdnnl.so.3 (Debian: libdnnl3)"},
};

const char *peer_name(int i)
{
    return peers[i][0];
}

static const char *what_is_needed(const char *name)
{
    for (int i = 0; i < PEERS; i++)
        if (strcmp(name, peers[i][0]) == 0) return peers[i][1];
    return NULL;
}

/* Forks; the child, which reads from and writes to the peer's pipes, returns from this as well:
 * 0. */
static pid_t fork_peer(peer *p)
{
    int to[2], from[2];
    fflush(NULL);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        return 0;
    }
    close(to[0]);
    close(from[1]);
    p->to = fdopen(to[1], "w");
    p->from = fdopen(from[0], "r");
    return child;
}

static bool is_ready(peer *p)
{
    const char *answer = p->to && p->from ? ask(p, NULL) : NULL;
    if (answer && strncmp(answer, "ready ", 6) == 0) {
        snprintf(p->version, sizeof p->version, "%.*s", (int)sizeof p->version - 1, answer + 6);
        return true;
    }
    peer_stop(p);
    return false;
}

bool peer_start(peer *p, const char *name, int threads)
{
    const char *needs = what_is_needed(name), *root = getenv("PEER_ROOT");
    *p = (peer){.name = name, .threads = threads};
    if (!needs) {
        fprintf(stderr, "bench: there is no peer %s; there are", name);
        for (int i = 0; i < PEERS; i++) fprintf(stderr, "%s %s", i ? "," : "", peer_name(i));
        fprintf(stderr, "\n");
        return false;
    }
    if (fork_peer(p) == 0) {
        become_peer(name, threads);
        _exit(1);
    }
    if (is_ready(p)) return true;
    fprintf(stderr, "bench: the peer %s did not start.  It needs %s, installed %s%s\n", name, needs,
            root && *root ? "under PEER_ROOT="
                          : "on this system, or in a folder that PEER_ROOT names",
            root && *root ? root : "");
    return false;
}

bool peer_start_before(peer *p, const char *program, int threads, const char *only)
{
    char n[16];
    *p = (peer){.name = "before", .threads = threads};
    snprintf(n, sizeof n, "%d", threads);
    if (fork_peer(p) == 0) {
        execl(program, program, "--serve", "--threads", n, "--only", only, (char *)NULL);
        _exit(1);
    }
    if (is_ready(p)) return true;
    fprintf(stderr, "bench: %s does not serve: is it this benchmark, of another build?\n", program);
    return false;
}

void peer_stop(peer *p)
{
    if (p->to) fclose(p->to); /* it reads the end of its input, and ends */
    if (p->from) fclose(p->from);
    p->to = p->from = NULL;
    wait(NULL);
}

bool peer_case(peer *p, const char *text)
{
    char line[256];
    snprintf(line, sizeof line, "case %s", text);
    const char *answer = ask(p, line);
    return answer && strcmp(answer, "ok") == 0;
}

double peer_run(peer *p, long times, long warm, int cpu)
{
    char line[64];
    snprintf(line, sizeof line, "run %ld %ld %d", times, warm, cpu);
    const char *answer = ask(p, line);
    double ns = answer ? strtod(answer, NULL) : 0;
    if (ns > 0) return 1e-9 * ns / (double)times;
    fprintf(stderr, "bench: the peer %s ended, or answered \"%s\"\n", p->name,
            answer ? answer : "");
    exit(1);
}
