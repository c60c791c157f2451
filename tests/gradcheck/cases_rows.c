/* cases_rows.c -- gradient cases of ops on rows: softmax, cross-entropy, norms, rotary embedding; see cases.h. */
#include "gradcheck/cases.h"

const at_case at_cases_rows[] = {{0}};
