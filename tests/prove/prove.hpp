// prove.hpp -- what make prove asks, and what it expects.
#ifndef ATTIC_TESTS_PROVE_HPP
#define ATTIC_TESTS_PROVE_HPP
#include <functional>
#include <string>
#include <vector>

#include "attic_prove.hpp"

// Something to prove, and the verdict that is right.  A reason stands beside each that is not `holds`.
struct question {
    std::string of, what; // "softmax", "[3,300]"
    std::function<void(attic_prove::point &)> f;
    attic_prove::verdict expected = attic_prove::verdict::holds;
    std::string reason = {};
    const char *where = nullptr; // what is to be refused: "input 1, element 4"; NULL: anywhere
    bool empty = false;          // no input has an element: all that is compared, if anything is, must be 0
    bool large = false;          // comes last where the first mistake is searched for
};

// failures.cpp: functions of its own with backwards that are wrong, and the same ones right
void ask_failures(std::vector<question> &questions);
// rows.cpp: the gradient table, models, and the tangents that at_sdpa_jvp computes.  Null where it is not linked: in a
// program of the failures alone.
void ask_rows(std::vector<question> &questions) __attribute__((weak));

#endif
