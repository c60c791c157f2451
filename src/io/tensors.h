/* tensors.h -- files of named tensors: safetensors, read and written, and NumPy's .npz, read.
 *
 *     at_tensors *f = at_tensors_open(t, "model.safetensors");
 *     at_tensor *W = at_tensors_load(f, "wte.weight");
 *     at_tensors_load_into(f, "wpe.weight", at_find_param(t, "position"));
 *     if (!at_ok(t)) fprintf(stderr, "%s\n", at_error(t));
 *
 * Ownership.  What at_tensors_open returns, and every name and text asked of it, is in step
 * memory: it is gone after a rewind to a mark from before, and nothing has to be closed.
 *
 * Errors are sticky errors of the tape and of kind ATTIC_FILE_ERROR where the file is at fault.
 * They name the file, the tensor and the numbers that disagree.  With f = NULL, as after an error,
 * every function here does nothing and returns NULL, false, 0 or -1. */
#ifndef AT_IO_TENSORS_H
#define AT_IO_TENSORS_H
#include "autograd/tape.h"
AT_BEGIN_C

/* ------------------------------------------------------------------ reading -------------------- */

typedef struct at_tensors at_tensors;

/* Opens a .safetensors or .npz file; which of them it is, its content says.  Names, dtypes and
 * shapes are read and proven: every tensor is within the file, none overlaps another.  Elements
 * are read by the two functions below.
 *
 * A file may be damaged or hostile.  Memory is asked for only in proportion to what the file has
 * been found to hold: here at most 8 times the header; for a tensor at most 8 times its bytes in
 * the file, and in an .npz that is compressed 8 x 1032 times, as deflate can't expand further.
 *
 * Refused with a reason, in a .safetensors file: a header that is no JSON of the form that the
 * format demands, a name or key that occurs twice, tensors that overlap, leave a gap or do not end
 * where the file ends, more than AT_MAX_DIMS dimensions, f8 and complex dtypes.  In an .npz file:
 * methods other than stored and deflated, encryption, several disks, members that are no .npy. */
AT_API at_tensors *at_tensors_open(at_tape *t, const char *path);

/* The tensors, in the order of the file's header.  i = 0 .. count - 1.  Names and metadata are
 * those of the file, whatever they hold: at_shown (attic_op.h) makes them fit for a terminal. */
AT_API int at_tensors_count(const at_tensors *f);
AT_API const char *at_tensors_name(const at_tensors *f, int i); /* of "W.npy" in an .npz: "W" */
AT_API at_shape at_tensors_shape(const at_tensors *f, int i);
/* As it is in the file: "f64" "f32" "f16" "bf16" "i64" "i32" "i16" "i8" "u64" "u32" "u16" "u8"
 * "bool". */
AT_API const char *at_tensors_dtype(const at_tensors *f, int i);
AT_API int at_tensors_find(const at_tensors *f, const char *name); /* i, or -1 */

/* Metadata of a .safetensors file: texts by key.  The value of a key, NULL if there is no such key;
 * the keys, sorted, i = 0 .. count - 1. */
AT_API const char *at_tensors_metadata(const at_tensors *f, const char *key);
AT_API int at_tensors_metadata_count(const at_tensors *f);
AT_API const char *at_tensors_metadata_key(const at_tensors *f, int i);

/* A tensor as a new constant in step memory, with its name:
 *
 *     f64 f32 f16 bf16                       the real type of the tape
 *     i64 i32 i16 i8  u64 u32 u16 u8         i32
 *     bool                                   bool
 *
 * An element that the new type cannot hold is an error (3000000000 as i32, 1e300 as f32), and so
 * are a name that is not there and a file that was replaced since it was opened. */
AT_API at_tensor *at_tensors_load(const at_tensors *f, const char *name);

/* The same into a leaf that exists, e.g. a parameter or the state of an optimizer: its shape must
 * be that of the file, and so must its kind of dtype (f64 goes into f32, i64 into i32).  Into a
 * leaf of f16 or bf16 (at_blank) go all reals, those of its own dtype bit by bit, without an f32
 * between; others are rounded to the nearest.  After an error that was found while elements were
 * read, x may be partly written. */
AT_API bool at_tensors_load_into(const at_tensors *f, const char *name, at_tensor *x);

/* For a filler of parameters (at_fill_params).  x, which has no data yet, has its elements from now
 * on where the file is mapped (at_file_map), read-only.  False where they are to be loaded: of
 * another dtype or shape, not aligned to their size, or not in a .safetensors file; and after a
 * sticky error.  Private to the library. */
bool at_tensors_share(at_tensors *f, const char *name, at_tensor *x);

/* Reads the whole file and compares it with its checksums: that of each tensor in an .npz; in a
 * .safetensors file the one that at_tensors_save puts there if asked, over header and elements.
 * False after a sticky error, and it is an error if a .safetensors file has none. */
AT_API bool at_tensors_verify(const at_tensors *f);

/* ------------------------------------------------------------------ writing -------------------- */

typedef struct {
    const char *key, *value;
} at_metadata;

typedef struct {
    const char *const *names;    /* of the n tensors; NULL, or one that is NULL: their own names */
    const at_metadata *metadata; /* n_metadata of them */
    int n_metadata;
    bool checksum; /* adds the metadata "crc32" for at_tensors_verify */
} at_tensors_save_args;

/* Writes x[0] .. x[n-1] to a .safetensors file, each in its dtype: F32, F64, I32, BOOL, F16, BF16.
 * The bytes are those of the reference implementation: largest dtype first, then by name; metadata
 * in the order of args.  An older file stays as it was if anything fails (file.h).  It is an
 * error if a name is missing, occurs twice, is "__metadata__" or is not UTF-8. */
AT_API bool at_tensors_save(at_tape *t, const char *path, at_tensor *const *x, int n,
                            at_tensors_save_args args);

AT_END_C
#endif
