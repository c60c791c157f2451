/* submission.c -- compiles a file together with its runner, and grades it; see submission.h. */
#include "submission.h"
#include "sandbox.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *compiler, *runners;
static double seconds;

/* In `work` a submission is compiled, in `empty` it runs; `include` and `runner` are copies, which can be read
 * by whom the compiler runs as. */
static char folder[] = "/tmp/attic-grade-XXXXXX", work[40], empty[40], compiled[50], include[40],
            runner[40];

static bool run(const char *const command[])
{
    int status = 1;
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) execvp(command[0], (char *const *)command);
    if (process == 0) _exit(127);
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    return process > 0 && status == 0;
}

static void remove_folder(void)
{
    run((const char *const[]){"rm", "-rf", folder, NULL});
}

void begin_submissions(const char *with, const char *runners_in, double limit)
{
    char from[PATH_MAX];
    compiler = with, runners = runners_in, seconds = limit;
    umask(022);
    bool made = mkdtemp(folder);
    snprintf(work, sizeof work, "%s/work", folder);
    snprintf(empty, sizeof empty, "%s/empty", folder);
    snprintf(compiled, sizeof compiled, "%s/program", work);
    snprintf(include, sizeof include, "%s/include", folder);
    snprintf(runner, sizeof runner, "%s/runner.o", folder);
    made = made && chmod(folder, 0711) == 0 && mkdir(work, 0755) == 0 && mkdir(empty, 0755) == 0;
    if (!made) {
        fprintf(stderr, "grade: cannot write to /tmp: %s\n", strerror(errno));
        exit(1);
    }
    atexit(remove_folder);
    sandbox_give(work);
    snprintf(from, sizeof from, "%s/include", runners);
    if (!run((const char *const[]){"cp", "-R", from, include, NULL}) ||
        !run((const char *const[]){"chmod", "-R", "a+rX", include, NULL}))
        exit(2);
}

/* ------------------------------------------------------------------ grading a file ------------ */

int exercise_of(const char *name)
{
    char *end = NULL;
    const size_t n = strlen(name);
    if ((name[0] != 'e' && name[0] != 'E') || !isdigit((unsigned char)name[1])) return -1;
    if (strcmp(name + n - 2, ".c") != 0) return -1;
    const long number = strtol(name + 1, &end, 10);
    const bool written_so = name[1] != '0' || end == name + 2; /* not e03 */
    return written_so && number < EXERCISES ? (int)number : -1;
}

enum { DEEPEST = 8 };

static int is_listed(const struct dirent *e)
{
    return e->d_name[0] != '.' && strcmp(e->d_name, "__MACOSX") != 0;
}

/* What is in top/inside, which ends in / or is empty */
static void add_files(const char *top, const char *inside, int depth, roster *files)
{
    char path[PATH_MAX], name[PATH_MAX];
    struct dirent **entry = NULL;
    struct stat is;
    snprintf(path, sizeof path, "%s/%s", top, inside);
    const int entries = depth < DEEPEST ? scandir(path, &entry, is_listed, alphasort) : 0;
    for (int folders = 0; folders < 2; folders++)
        for (int k = 0; k < entries; k++) {
            const int n = snprintf(name, sizeof name, "%s%s", inside, entry[k]->d_name),
                      m = snprintf(path, sizeof path, "%s/%s", top, name);
            if (n >= (int)sizeof name - 1 || m >= (int)sizeof path) continue;
            if (lstat(path, &is) != 0 || S_ISDIR(is.st_mode) != folders) continue;
            if (folders)
                add_files(top, strcat(name, "/"), depth + 1, files);
            else
                roster_add(files, name);
        }
    for (int k = 0; k < entries; k++) free(entry[k]);
    free(entry);
}

roster files_within(const char *top)
{
    roster files = {.n = 0};
    add_files(top, "", 0, &files);
    return files;
}

enum { LARGEST = 1 << 20 };

static bool copy_bytes(int from, const char *to)
{
    FILE *f = from >= 0 ? fdopen(from, "rb") : NULL, *g = f ? fopen(to, "wb") : NULL;
    for (int c; g && (c = getc(f)) != EOF;) putc(c, g);
    const bool good = g && !ferror(f) && !ferror(g);
    if (f) fclose(f);
    return g && fclose(g) == 0 && good;
}

/* Is there anything but white space?  The file is read from its beginning again later. */
static bool has_text(int file)
{
    char some[4096];
    ssize_t n, k = 0;
    while ((n = read(file, some, sizeof some)) > 0) {
        for (k = 0; k < n && isspace((unsigned char)some[k]);) k++;
        if (k < n) break;
    }
    return lseek(file, 0, SEEK_SET) == 0 && n > 0;
}

/* The file, opened; else -1 and why it cannot be graded.  A link could lead to what only the grader may read. */
static int open_file(const char *path, const char **why)
{
    struct stat is = {.st_size = 0};
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool link = file < 0 && (errno == ELOOP || errno == EMLINK);
    *why = NULL;
    if (link)
        *why = "is a link";
    else if (file < 0 || fstat(file, &is) != 0)
        *why = "cannot be read";
    else if (!S_ISREG(is.st_mode))
        *why = "is no file";
    else if (is.st_size > LARGEST)
        *why = "is larger than a megabyte";
    else if (!has_text(file))
        *why = "is empty";
    if (!*why) return file;
    if (file >= 0) close(file);
    return -1;
}

/* It is compiled from a copy, as what compiles it need not be able to read anything else. */
static void compile_submission(submission *x)
{
    char name[300], copy[400];
    const int file = open_file(x->path, &x->unread);
    if (file < 0) return;
    snprintf(name, sizeof name, "%s%.250s", x->name[0] == '-' ? "./" : "", x->name);
    snprintf(copy, sizeof copy, "%s/%s", work, name);
    if (!copy_bytes(file, copy)) {
        fprintf(stderr, "grade: cannot copy %s to %s: %s\n", x->path, copy, strerror(errno));
        exit(1);
    }
    sandbox_give(copy);
    const compilation c = {compiler, include, runner, work, name, compiled};
    x->compiled = compile(&c, sizeof x->said, x->said);
    unlink(copy);
}

void open_submission(submission *x, const char *path, int which)
{
    char from[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *x = (submission){.path = path, .name = slash ? slash + 1 : path, .which = which};
    snprintf(from, sizeof from, "%s/runner%d.o", runners, which);
    if (!copy_bytes(open(from, O_RDONLY | O_CLOEXEC), runner)) {
        fprintf(stderr, "grade: cannot read %s: %s\n", from, strerror(errno));
        exit(2);
    }
    compile_submission(x);
}

void grade_submission(submission *x, uint64_t seed, uint64_t ticket)
{
    x->g = (grading){.program = compiled,
                     .file = x->path,
                     .folder = empty,
                     .seconds = seconds,
                     .seed = seed,
                     .state = seed,
                     .ticket = ticket,
                     .which = x->which};
    if (x->compiled)
        exercises[x->which].grade(&x->g);
    else
        snprintf(x->g.failure, sizeof x->g.failure, "%s",
                 x->unread ? x->unread : "does not compile");
}

void close_submission(submission *x)
{
    unlink(compiled);
    x->compiled = false;
}

/* ------------------------------------------------------------------ what is right ------------- */

const char *const kind_names[] = {"not reached", "exact", "close", "wrong", "not written"};

bool is_right(const grade *q)
{
    return q->kind == VERDICT_EXACT || q->kind == VERDICT_CLOSE;
}

int right_ones(const submission *x)
{
    int n = 0;
    for (int k = 0; k < x->g.grades && x->compiled; k++) n += is_right(&x->g.of[k]);
    return n;
}

double points_right(const submission *x, const assignment *a)
{
    double sum = 0;
    for (int k = 0; k < x->g.grades && x->compiled; k++)
        if (is_right(&x->g.of[k])) sum += points_of(a, x->which, k);
    return sum;
}

bool all_right(const submission *x)
{
    return !x->g.failure[0] && right_ones(x) == quantities(x->which);
}
