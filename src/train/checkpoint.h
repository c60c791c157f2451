/* checkpoint.h -- parameters to a file and back, all of them or some.
 *
 *     at_save(t, "model.safetensors", (at_part_args){0});
 *     at_load(t, "gpt2.safetensors", (at_part_args){.rename = "block*=h.*", .missing_ok = true});
 *
 * The file is a .safetensors (io/tensors.h) of parameters by name; its metadata holds the
 * descriptions of the tape (at_describe), that of "model" under the key "describe/model", the
 * "version" and the "arithmetic" (at_arithmetic) of the library that wrote it, and a
 * checksum.  at_tensors_open reads all of it.  The checkpoints of a run (run.h) are such files as
 * well, with the state of the optimizer beside the parameters, "optim/W:adam_m" for W:adam_m, and
 * where the run stood in the metadata: at_load takes the parameters from one. */
#ifndef AT_TRAIN_CHECKPOINT_H
#define AT_TRAIN_CHECKPOINT_H
#include "train/model.h"
#include "train/tokenizer.h"
AT_BEGIN_C

typedef struct {
    const char *only;   /* patterns of names, separated by commas, * stands for anything (optim.h):
                           the parameters that are meant.  NULL: all */
    const char *except; /* those that are not.  NULL: none */
    const char *rename; /* "A=B,C=D": what is named A on the tape is named B in the file, to save
                           and to load.  A may have one *, and what it stood for replaces the * of
                           B.  The first A that matches counts; without one the name stays */
    bool missing_ok;    /* at_load: what the file lacks stays as it is */
    at_dtype dtype;     /* at_save: ATTIC_F16 or ATTIC_BF16 halves the file, rounded as by at_cast;
                           a value that is too large is an error.  0: as they are */
} at_part_args;

/* Both return false after a sticky error: an `only` that matches nothing is one. */
AT_API bool at_save(at_tape *t, const char *path, at_part_args args);
/* Tensors of the file that no parameter asks for are left alone; that none is asked for is an
 * error.  Names, shapes and, if there is one, the checksum are compared before anything is loaded.
 * Reals convert. */
AT_API bool at_load(at_tape *t, const char *path, at_part_args args);

/* The model of a file that at_save or a run wrote, best.safetensors for instance, with its
 * parameters, in the open scope: made by the description that is in the file, so that it can be
 * read and sampled without its configuration; low-rank adapters that are in the file, too, as
 * adapters (lora.h).  Weights are read, not drawn, but count as drawn: what is drawn later has
 * the bits that it has behind at_model_make.  And the tokenizer of its data.  NULL after a sticky
 * error; it is one if the file describes none, or several. */
AT_API at_model *at_model_open(at_tape *t, const char *path);
AT_API at_tokenizer *at_tokenizer_open(at_tape *t, const char *path);
/* The same model, to be read and not to learn: its parameters are where the system maps the file,
 * so that all processes and tapes that open it take the memory of one.  They are read-only: they
 * want no gradient, and to write one (at_set, at_load, at_unfreeze, at_model_lora_merge) is a
 * sticky error; adapters (lora.h) learn beside them.  Parameters that the file stores in another
 * dtype than the tape, or not aligned to it, are copied, and can learn, as by at_model_open: of a
 * file of f16 or bf16 all, unless at_store_params asks for that dtype.  Where the system maps no
 * files (WebAssembly) the file is read.
 *
 * The file must not be written or cut before at_close: a process that reads where it was cut ends
 * by SIGBUS.  at_save and runs write a new file, which takes the name of the old one, and the model
 * keeps the old one; but through a symbolic link, where a file has two names or another owner, or
 * in a folder where no file can be made, they write in place (file.h).  (On Windows no file takes
 * the name of one that is mapped.) */
AT_API at_model *at_model_open_mapped(at_tape *t, const char *path);

AT_END_C
#endif
