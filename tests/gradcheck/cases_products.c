/* cases_products.c -- gradient cases of products, reductions, changes of shape, embedding; see cases.h. */
#include "gradcheck/cases.h"

const at_case at_cases_products[] = {{0}};
