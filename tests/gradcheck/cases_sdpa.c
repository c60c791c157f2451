/* cases_sdpa.c -- gradient cases of attention; see cases.h. */
#include "gradcheck/cases.h"

const at_case at_cases_sdpa[] = {{0}};
