/* cases_elementwise.c -- gradient cases of ops that treat every element alike, broadcasting among them; see cases.h. */
#include "gradcheck/cases.h"

const at_case at_cases_elementwise[] = {{0}};
