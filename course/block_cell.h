/* block_cell.h -- one element of a block, worked out with its numbers.
 *
 *     block_style style = {.b = b};
 *     char text[BLOCK_CELL_TEXT];
 *     block_cell_text(&style, BLOCK_DX_K, 0, 1, 1, text);
 *     puts(text);                  dX_K[t1,c1] = 1*-0.7251 + 1*4.3944 = 3.6694
 *
 * Where the scale is the logarithm of an integer, a gradient is a + k ln n, and can be written so:
 *
 *     block_style style;
 *     if (block_open_style(b, BLOCK_RIGHT, &style)) ...
 *     block_close_style(&style);   dX_K[t1,c1] = 1*-0.66 ln 3 + 1*4 ln 3 = 3.34 ln 3 = 3.6694
 *
 * Where the element is another number than its formula gives, because a mistake is in the backward,
 * both are given. */
#ifndef EXAMPLES_BLOCK_CELL_H
#define EXAMPLES_BLOCK_CELL_H
#include "block.h"
#include "block_mistakes.h"

enum {
    BLOCK_CELL_LABEL = 28,
    BLOCK_CELL_NAME = 90,
    BLOCK_CELL_NUMBER = 60,
    BLOCK_CELL_TEXT = 4000,
    BLOCK_CELL_FROM = 128
};

typedef struct {
    block_name what;
    int h, i, j; /* head, row, column */
} block_element;

/* After dR all is linear in the scale c that dR was multiplied with: with c = 0 an element is a, with
 * c = 1 it is a + k. */
typedef struct {
    const block *b;
    block *none, *one; /* the same backward with c = 0, and with c = 1; NULL: decimals alone */
} block_style;

/* How b, whose backward has this mistake in it, is written.  False: no memory. */
bool block_open_style(const block *b, block_mistake m, block_style *style);
void block_close_style(block_style *style);

/* "P_h0[t1,t2]", "W_q[c0,h1]"; where D > 1, "W_q[c0,h1d0]" */
void block_cell_name(const block *b, block_name what, int head, int row, int column,
                     char name[BLOCK_CELL_NAME]);
/* "t1", "c0", "h1", "h1d0": what a row, or a column, is called */
void block_cell_label(const block *b, block_name what, bool columns, int i,
                      char label[BLOCK_CELL_LABEL]);
/* Do its rows, or columns, belong to heads? */
bool block_cell_of_heads(const block *b, block_name what, bool columns);
/* "4.3 + 1.9 ln 3", or "6.387" */
void block_cell_number(const block_style *style, block_name what, int head, int row, int column,
                       char number[BLOCK_CELL_NUMBER]);
/* All of it; of what is given, its value */
void block_cell_text(const block_style *style, block_name what, int head, int row, int column,
                     char text[BLOCK_CELL_TEXT]);
/* The elements that its formula reads; returns how many, 0 for what is given or masked. */
int block_cell_from(const block *b, block_element x, block_element from[BLOCK_CELL_FROM]);
#endif
