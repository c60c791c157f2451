/* worksheet_page.h -- a sheet as a page that prints: HTML in one file, without scripts. */
#ifndef COURSE_WORKSHEET_PAGE_H
#define COURSE_WORKSHEET_PAGE_H
#include "worksheet.h"

#include <stdio.h>

/* With the answers, and what each mistake gives, it is the key.  False: no memory. */
bool worksheet_page(FILE *f, const worksheet *w, const char *id, bool with_answers);
#endif
