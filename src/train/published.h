/* published.h -- how checkpoints of GPT-2 and Llama name and store what a model is made of: one
 * table for who reads such files and for who writes them.  Private to src/train. */
#ifndef AT_TRAIN_PUBLISHED_H
#define AT_TRAIN_PUBLISHED_H
#include "train/import.h"

/* ------------------------------------------------------------------ parameters ----------------- */

/* How a tensor of a file holds a parameter w [n_in,n_out], or [n_out] with n_in = 1:
 *
 *     file[i][row(j)] = w[i][j]       row(j) = part n_out + j: one of `parts` that are side by side
 *     file[row(j)][i] = w[i][j]       transposed */
typedef struct {
    bool transposed;
    int part, parts;
    int pairs;       /* D > 0: row(j) of the columns 2i, 2i+1 of each head is that of i, i + D/2 */
    bool first_rows; /* w is the first rows of what a file has */
} at_file_layout;

/* row(j), and where in the file's tensor w[i][j] is; the shape of that tensor. */
ptrdiff_t at_file_row(const at_file_layout *a, int n_out, int j);
ptrdiff_t at_file_place(const at_file_layout *a, int n_in, int n_out, ptrdiff_t i, int j);
at_shape at_file_shape(const at_file_layout *a, at_shape w);

/* A parameter of the model, and its place in a file. */
typedef struct {
    at_tensor *w;
    char name[80];          /* "model.layers.0.self_attn.q_proj.weight" */
    const at_linear *layer; /* whose W it is; NULL: no layer's */
    int block;              /* -1: it is in none */
    const char *stem;       /* "self_attn.q_proj", "lm_head" */
    at_file_layout layout;
} at_published;

/* All parameters of m, in step memory, in the order of the tables in import.h, *n of them.  Parts
 * of one tensor have one name.  NULL after a sticky error. */
at_published *at_published_list(at_tape *t, const at_model *m, at_published_names names,
                                const char *prefix, int *n);

/* ------------------------------------------------------------------ config.json ---------------- */

/* A number of config.json, or of rope_scaling in it: an int or a double of the config here. */
typedef struct {
    const char *key; /* NULL: the end of the list */
    size_t at;       /* of at_model_config; of at_rope_scaling */
    bool needed;     /* in the file, where it is an int */
    bool real;
    double least; /* of a real one */
    int types;    /* of rope_scaling: 1 << at_rope_type of those that have it, added */
} at_published_number;
extern const at_published_number at_gpt2_numbers[], at_llama_numbers[], at_scaling_numbers[];

#endif
