// main.cpp -- is every backward the derivative of its forward, as an identity?  Asks of the compiled kernels, in a finite
// field (src/attic_prove.hpp, docs/proof.md).
//
//     make prove                     everything
//     make prove ARGS=softmax        what contains one of these words
//     make prove ARGS=--first        stop at the first answer that is not expected; large cases come last, and the
//                                    degrees, which take half of the time and change no answer, are not computed
//     make prove ARGS=--small        without large cases, which take nine tenths of the time
//     make prove ARGS=--failures     only the functions that must be refused, and what they are like when right
//
// degree     of the difference of both sides, as a quotient of polynomials
// missed     the probability that a difference would have been missed at all points, at most
// verdict    holds, refused, undefined (src/attic_prove.hpp); a question passes when its verdict is the one it expects;
//            one that holds must have been missed with less than 1e-9
//
// Exit status: 0 all passed, 1 some did not, 2 nothing could be run.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "prove/prove.hpp"

using attic_prove::verdict;

static const char *const words[] = {"holds", "refused", "undefined"};

static bool contains_one(const question &q, const std::vector<const char *> &of)
{
    for (const char *word : of)
        if ((q.of + " " + q.what).find(word) != std::string::npos) return true;
    return of.empty();
}

// The line of one question; false if the answer is not the one that is expected.
static bool answer(const question &q, std::FILE *to, bool degrees)
{
    const attic_prove::report r = attic_prove::prove(q.f, degrees);
    const bool none = q.empty && r.vacuous && (r.what == verdict::holds || r.where == "nothing was compared");
    const bool sure = r.what != verdict::holds || !degrees || r.bound < 1e-9;
    const bool expected = q.empty ? none : r.what == q.expected && sure && (!q.where || r.where == q.where);
    std::fprintf(to, "%-20s %-60s ", q.of.c_str(), q.what.c_str());
    if (none)
        std::fprintf(to, "%9s  %6s  holds, being empty", "", "");
    else if (r.what == verdict::holds && !degrees)
        std::fprintf(to, "%9s  %6s  holds", "", "");
    else if (r.what == verdict::holds)
        std::fprintf(to, "%9.0f  %6.0e  %s", r.degree, r.bound, r.vacuous ? "holds, all is 0" : "holds");
    else
        std::fprintf(to, "%9s  %6s  %s", "", "", words[int(r.what)]);
    if (!q.reason.empty()) std::fprintf(to, ": %s", q.reason.c_str());
    if (!expected) std::fprintf(to, "  <-- expected: %s; %s", words[int(q.expected)], r.text().c_str());
    std::fprintf(to, "\n");
    std::fflush(to);
    return expected;
}

// Copies one line.
static void copy_line(std::FILE *from, std::FILE *to)
{
    for (int c; (c = std::getc(from)) != EOF;) {
        std::putc(c, to);
        if (c == '\n') return;
    }
}

// Each of `jobs` processes answers every jobs-th question; their lines come in the order of the questions.
static int answer_all(const std::vector<const question *> &questions, int jobs, bool first)
{
    std::vector<std::FILE *> lines;
    int failed = 0;
    for (int k = 0; k < jobs; k++) {
        lines.push_back(std::tmpfile());
        const pid_t child = lines.back() ? fork() : -1;
        if (child < 0) return std::perror("prove"), -1;
        if (child > 0) continue;
        int wrong = 0;
        for (std::size_t i = std::size_t(k); i < questions.size() && !(first && wrong); i += std::size_t(jobs))
            wrong += !answer(*questions[i], lines.back(), !first);
        std::exit(wrong > 0); // counters of branches are written
    }
    for (int k = 0, status; k < jobs; k++) {
        wait(&status);
        if (!WIFEXITED(status)) std::fprintf(stderr, "prove: a process was ended by signal %d\n", WTERMSIG(status));
        failed += status != 0;
    }
    for (std::FILE *f : lines) std::rewind(f);
    for (std::size_t i = 0; i < questions.size(); i++) copy_line(lines[i % std::size_t(jobs)], stdout);
    return failed;
}

int main(int argc, char **argv)
{
    bool first = false, small = false, failures = false;
    int jobs = 1;
    std::vector<const char *> wanted;
    for (int i = 1; i < argc; i++)
        if (!std::strcmp(argv[i], "--first"))
            first = true;
        else if (!std::strcmp(argv[i], "--small"))
            small = true;
        else if (!std::strcmp(argv[i], "--failures"))
            failures = true;
        else if (!std::strncmp(argv[i], "--jobs=", 7))
            jobs = std::atoi(argv[i] + 7);
        else if (argv[i][0] == '-')
            return std::fprintf(stderr, "usage: prove [--first] [--small] [--failures] [--jobs=N] [word]...\n"), 2;
        else
            wanted.push_back(argv[i]);

    std::vector<question> all;
    ask_failures(all);
    if (!failures && ask_rows) ask_rows(all);
    std::vector<const question *> chosen;
    for (const question &q : all)
        if (contains_one(q, wanted) && !(small && q.large)) chosen.push_back(&q);
    if (first)
        std::stable_sort(chosen.begin(), chosen.end(),
                         [](auto *a, auto *b) { return a->large < b->large; });
    if (chosen.empty()) return std::fprintf(stderr, "prove: nothing has such a name\n"), 2;

    std::printf("Is every backward the derivative of its forward?  Both are computed in a finite field, where nothing is\n"
                "rounded: each line is an identity between two numbers, at three random points.\n\n"
                "  degree   of the difference of both sides, as a quotient of polynomials\n"
                "  missed   the probability that a difference was missed, at most\n\n"
                "%-20s %-60s %9s  %6s  %s\n",
                "op", "case", "degree", "missed", "verdict");
    std::fflush(stdout);
    const int failed = answer_all(chosen, jobs < 1 ? 1 : jobs, first);
    if (failed < 0) return 2;
    std::printf("%zu questions, %s\n", chosen.size(), failed ? "not all answered as expected" : "all answered as expected");
    return failed > 0;
}
