/* sandbox.h -- what keeps somebody's file away from the rest of the machine, while it is compiled and
 * while it runs.  Three tiers, each beside those before it:
 *
 *     always               a process of its own, limits of time and memory, an environment and a folder that
 *                          are empty; results are written by the grader alone
 *     Linux                seccomp: no socket, no process, no other program, no signal to others, no file
 *                          opened for writing, from the first instruction; Landlock, where the kernel has it: of
 *                          the files only compiler, libraries and its own folder can be read
 *     started as root      compiler and program run as another user, nobody
 *
 * Namespaces are not used: they are often refused, in containers most of all. */
#ifndef EXERCISES_SANDBOX_H
#define EXERCISES_SANDBOX_H
#include <stdbool.h>

/* Once, at the beginning.  "on": all that there is; "require": the second tier must be there, else the
 * program ends with status 1; "off": the first tier alone. */
void sandbox_open(const char *how);
const char *sandbox_text(void); /* "own process, seccomp, Landlock, user nobody" */

/* Gives a file or folder to whom the compiler runs as. */
void sandbox_give(const char *path);

/* Both in a new process, which they end if something fails.  The files and folders named can be read, up to
 * a NULL; the folder can be written to, and is where the process is then. */
void sandbox_compile(const char *const readable[], const char *folder, const char *const argv[]);
void sandbox_run(const char *program, const char *empty_folder, const char *const argv[]);
#endif
