/* files.c -- fuzzing what reads files: any bytes are read or refused, and nothing else happens.
 *
 *     npy            at_npy_load
 *     safetensors    at_tensors_open, load and verify; what was read is saved and read again
 *     npz            the same; checksums hide nothing, as they are compared after all else
 *     inflate        at_inflate alone: the first two bytes are the size of the output
 *     gpt2           at_tokenizer_gpt2 of a vocab.json, a byte 0 and a merges.txt
 *     llama2         at_tokenizer_llama2
 *     tokenizer      at_tokenizer_of_text
 *     config         at_model_config_json
 *     arrays         arrays_read of course/arrays.h: JSON, and all of the first three
 *
 * The program is one of these by its name.  `files --seeds FOLDER` writes the golden files of the
 * tests to FOLDER/npy, FOLDER/npz ..., to begin with.  make fuzz does all of this. */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arrays.h"
#include "attic_op.h"
#include "io/golden_files.h"
#include "io/inflate.h"
#include "io/npy.h"
#include "io/tensors.h"
#include "printable.h"
#include "train/import.h"
#include "train/tokenizer.h"

/* The beginning of a row of golden/npy.inc and inflate.inc */
typedef struct {
    const char *name;
    int size;
    const char *bytes;
    at_dtype dtype;
    at_shape shape;
    const double *values;
} npy_row;
typedef struct {
    const char *name;
    int packed;
    const char *bytes;
    int size;
    uint32_t crc;
    const char *why;
} inflate_row;
static const npy_row npy_rows[] = {
#include "golden/npy.inc"
};
static const inflate_row inflate_rows[] = {
#include "golden/inflate.inc"
};

static void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "files: not so: %s\n", what);
    abort();
}

/* A file in memory, and a path for it */
static const char *memory_file(int *fd, char path[64], const uint8_t *bytes, size_t n)
{
    if (*fd < 0) *fd = memfd_create("attic", 0);
    require(*fd >= 0 && ftruncate(*fd, 0) == 0, "a file in memory can be made");
    require(pwrite(*fd, bytes, n, 0) == (ssize_t)n, "a file in memory can be written");
    snprintf(path, 64, "/proc/self/fd/%d", *fd);
    return path;
}

/* The tape has an error of the right kind, or none; and not more memory than so many times n. */
static void check_tape(at_tape *t, size_t n, size_t times)
{
    require(at_ok(t) || at_error_kind_of(t) == ATTIC_FILE_ERROR, "an error is one of the file");
    require(at_memory_of(t).step <= times * n + (1 << 17), "memory is bounded by the file's size");
}

/* A message may quote the file, but does no more than appear. */
static void close_tape(at_tape *t)
{
    require(is_printable(at_error(t)), "a message is UTF-8 without control characters");
    at_close(t);
}

static void fuzz_npy(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    char path[64];
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensor *x = at_npy_load(t, memory_file(&fd, path, bytes, n));
    require((x != NULL) == at_ok(t), "a tensor or an error");
    check_tape(t, n, 8);
    close_tape(t);
}

static void save_and_read_again(at_tape *t, at_tensor *const *x, int n, const at_tensors *f)
{
    char path[64];
    at_metadata pair[16] = {{0}};
    int n_pairs = at_tensors_metadata_count(f) < 16 ? at_tensors_metadata_count(f) : 16;
    for (int i = 0; i < n_pairs; i++) {
        pair[i].key = at_tensors_metadata_key(f, i);
        pair[i].value = at_tensors_metadata(f, pair[i].key);
    }
    if (at_tensors_metadata(f, "crc32")) return; /* which the checksum would be called, too */
    snprintf(path, sizeof path, "/dev/shm/attic_fuzz_%d", (int)getpid());
    bool saved = at_tensors_save(
        t, path, x, n,
        (at_tensors_save_args){.metadata = pair, .n_metadata = n_pairs, .checksum = true});
    require(saved, at_error(t));
    at_tensors *g = at_tensors_open(t, path);
    require(at_tensors_count(g) == n && at_tensors_metadata_count(g) == n_pairs + 1,
            "all is there");
    require(at_tensors_verify(g), at_error(t));
    for (int i = 0; i < n; i++) {
        const at_tensor *y = at_tensors_load(g, x[i]->name);
        require(y && y->dtype == x[i]->dtype && at_same_shape(y->shape, x[i]->shape), "as it was");
        require(at_bytes(y) == 0 || memcmp(y->data, x[i]->data, at_bytes(y)) == 0, "bit for bit");
    }
    unlink(path);
}

static void fuzz_tensors(const uint8_t *bytes, size_t n, size_t times)
{
    static int fd = -1;
    char path[64];
    at_tensor *x[16] = {0};
    at_tape *t = at_open(ATTIC_F64, 1);
    at_tensors *f = at_tensors_open(t, memory_file(&fd, path, bytes, n));
    require((f != NULL) == at_ok(t), "a file or an error");
    int all = at_tensors_count(f), few = all < 16 ? all : 16;
    for (int i = 0; i < all; i++) {
        at_tensor *y = at_tensors_load(f, at_tensors_name(f, i));
        require((y != NULL) == at_ok(t), "a tensor or an error");
        require(at_tensors_find(f, at_tensors_name(f, i)) == i, "a tensor is found by its name");
        require(at_tensors_dtype(f, i) && at_shape_valid(at_tensors_shape(f, i)), "described");
        if (i < few) x[i] = y;
    }
    check_tape(t, n, times);
    if (f && at_ok(t)) save_and_read_again(t, x, few, f);
    if (at_ok(t)) at_tensors_verify(f);
    close_tape(t);
}

static void fuzz_safetensors(const uint8_t *bytes, size_t n)
{
    fuzz_tensors(bytes, n, 16);
}

static void fuzz_npz(const uint8_t *bytes, size_t n)
{
    fuzz_tensors(bytes, n, (size_t)8 * AT_INFLATE_RATIO);
}

static void fuzz_inflate(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    static at_inflate z;
    static unsigned char output[1 << 16];
    char path[64];
    if (n < 2) return;
    ptrdiff_t size = bytes[0] | bytes[1] << 8;
    FILE *f = fopen(memory_file(&fd, path, bytes + 2, n - 2), "rb");
    require(f, "a file in memory can be opened");
    at_inflate_begin(&z, f, (ptrdiff_t)n - 2);
    bool good = at_inflate_read(&z, output, size) && at_inflate_end(&z);
    require(good == (z.why == NULL), "output or an error");
    require(!good || z.made == (size_t)size, "as much output as was asked for");
    require(z.made <= (n - 2) * AT_INFLATE_RATIO, "deflate does not expand further");
    fclose(f);
}

/* What was read encodes and decodes to the same bytes, or says what it cannot express; and its text
 * form is that of an equal one. */
static void check_tokenizer(at_tape *t, const at_tokenizer *k, size_t n)
{
    static const char text[] = "The cat, 12 r\xc3\xa4ts \xff 'll \n  sat.";
    require((k != NULL) == at_ok(t), "a tokenizer or an error");
    check_tape(t, n, 256);
    if (k) {
        ptrdiff_t n_ids = 0, bytes = 0;
        const int32_t *ids = at_encode(t, k, text, sizeof text - 1, &n_ids);
        const char *again = at_decode(t, k, ids, n_ids, &bytes);
        require(!again == !at_ok(t), "a text or an error");
        require(!again || (bytes == sizeof text - 1 && memcmp(again, text, sizeof text) == 0),
                "the same bytes again");
        require(is_printable(at_error(t)), "a message is UTF-8 without control characters");
        at_clear_error(t);
        const char *form = at_tokenizer_text(t, k);
        const at_tokenizer *copy = at_tokenizer_of_text(t, form);
        require(copy && strcmp(at_tokenizer_text(t, copy), form) == 0, "an equal tokenizer");
    }
    close_tape(t);
}

static void fuzz_gpt2(const uint8_t *bytes, size_t n)
{
    static int vocab = -1, merges = -1;
    char path[2][64];
    const uint8_t *zero = memchr(bytes, 0, n);
    if (!zero) return;
    at_tape *t = at_open(ATTIC_F32, 1);
    memory_file(&vocab, path[0], bytes, (size_t)(zero - bytes));
    memory_file(&merges, path[1], zero + 1, (size_t)(bytes + n - zero - 1));
    check_tokenizer(t, at_tokenizer_gpt2(t, path[0], path[1]), n);
}

static void fuzz_llama2(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    char path[64];
    at_tape *t = at_open(ATTIC_F32, 1);
    check_tokenizer(t, at_tokenizer_llama2(t, memory_file(&fd, path, bytes, n)), n);
}

static void fuzz_tokenizer(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    require(text, "there is memory");
    memcpy(text, bytes, n);
    text[n] = 0;
    at_tape *t = at_open(ATTIC_F32, 1);
    const at_tokenizer *k = at_tokenizer_of_text(t, text);
    if (at_error_kind_of(t) == ATTIC_USER_ERROR)
        close_tape(t); /* a text is no file */
    else
        check_tokenizer(t, k, n);
    free(text);
}

static void fuzz_config(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    char path[64];
    at_tape *t = at_open(ATTIC_F32, 1);
    at_model_config c;
    const bool good = at_model_config_json(t, memory_file(&fd, path, bytes, n), &c);
    require(good == at_ok(t), "a config or an error");
    require(good || c.vocab == 0, "after an error it is zero");
    require(!good || (c.vocab > 0 && c.layers > 0 && c.heads > 0), "sizes are positive");
    check_tape(t, n, 8);
    close_tape(t);
}

static void fuzz_arrays(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    char path[64];
    at_tape *t = at_open(ATTIC_F64, 1);
    arrays all = {.n = 0};
    const bool good = arrays_read(t, memory_file(&fd, path, bytes, n), &all);
    require(good == at_ok(t), "arrays or an error");
    check_tape(t, n, (size_t)16 * AT_INFLATE_RATIO);
    for (int k = 0; k < all.n; k++)
        require(all.of[k].x && arrays_find(&all, all.of[k].name) == &all.of[k],
                "found by its name");
    close_tape(t);
}

static const struct {
    const char *name;
    void (*fuzz)(const uint8_t *, size_t);
} target[] = {{"npy", fuzz_npy},
              {"safetensors", fuzz_safetensors},
              {"npz", fuzz_npz},
              {"inflate", fuzz_inflate},
              {"gpt2", fuzz_gpt2},
              {"llama2", fuzz_llama2},
              {"tokenizer", fuzz_tokenizer},
              {"config", fuzz_config},
              {"arrays", fuzz_arrays}};
enum { N_TARGETS = sizeof target / sizeof *target };
static int chosen = -1;

static void write_seed(const char *folder, const char *name, int i, const char *bytes, int n,
                       int output)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/golden-%d", folder, name, i);
    FILE *f = fopen(path, "wb");
    require(f, "a seed can be written");
    if (output >= 0) fprintf(f, "%c%c", output & 255, output >> 8 & 255);
    fwrite(bytes, 1, (size_t)n, f);
    fclose(f);
}

/* The tokenizers of tests/golden as they are, and their text form */
static void write_tokenizers(const char *folder)
{
    static char file[2][1 << 15];
    static const char *const from[] = {"tests/golden/tokenizers/vocab.json",
                                       "tests/golden/tokenizers/merges.txt",
                                       "tests/golden/tokenizers/tokenizer.bin"};
    int size[2] = {0};
    at_tape *t = at_open(ATTIC_F32, 1);
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(from[i], "rb");
        require(f, "the golden files are there");
        size[i % 2] = (int)fread(file[i % 2], 1, sizeof file[0] - 1, f);
        fclose(f);
        if (i == 1) {
            memcpy(file[0] + size[0] + 1, file[1], (size_t)size[1]);
            file[0][size[0]] = 0;
            write_seed(folder, "gpt2", 0, file[0], size[0] + 1 + size[1], -1);
        }
    }
    write_seed(folder, "llama2", 0, file[0], size[0], -1);
    const at_tokenizer *every[] = {at_tokenizer_gpt2(t, from[0], from[1]),
                                   at_tokenizer_llama2(t, from[2]),
                                   at_tokenizer_chars(t, "a caf\xc3\xa9", -1)};
    for (int i = 0; i < 3; i++) {
        const char *form = at_tokenizer_text(t, every[i]);
        write_seed(folder, "tokenizer", i, form, (int)strlen(form), -1);
    }
    at_close(t);
}

/* Of each kind one file; of JSON what it may hold */
static void write_arrays(const char *folder)
{
    static const char json[] = "{\"Q\": [[[1, -2.5e-3], [0, -Infinity]], [[NaN, 1], [2, 3]]],\n"
                               "\"mask\": [true, false], \"scale\": 0.125}";
    write_seed(folder, "arrays", 0, json, sizeof json - 1, -1);
    write_seed(folder, "arrays", 1, npy_rows[0].bytes, npy_rows[0].size, -1);
    write_seed(folder, "arrays", 2, golden_files[0].bytes, golden_files[0].size, -1);
}

/* Of either family one, with all that they may have */
static void write_configs(const char *folder)
{
    static const char *const json[] = {
        "{\"model_type\":\"gpt2\",\"vocab_size\":19,\"n_positions\":8,\"n_layer\":2,\"n_head\":2,"
        "\"n_embd\":8,\"n_inner\":null,\"activation_function\":\"gelu_new\","
        "\"layer_norm_epsilon\":1e-05,\"tie_word_embeddings\":true,\"bos_token_id\":null}",
        "{\"model_type\":\"qwen3\",\"vocab_size\":19,\"max_position_embeddings\":64,"
        "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
        "\"hidden_size\":8,\"intermediate_size\":12,\"head_dim\":4,\"rms_norm_eps\":1e-06,"
        "\"hidden_act\":\"silu\",\"mlp_bias\":false,\"rope_parameters\":{\"rope_type\":\"yarn\","
        "\"rope_theta\":5e5,\"factor\":4,\"beta_fast\":2,\"beta_slow\":0.1,\"truncate\":false,"
        "\"mscale\":1,\"mscale_all_dim\":0.5,\"original_max_position_embeddings\":16},"
        "\"sliding_window\":4,\"layer_types\":[\"sliding_attention\",\"full_attention\"]}"};
    for (int i = 0; i < 2; i++) write_seed(folder, "config", i, json[i], (int)strlen(json[i]), -1);
}

static void write_seeds(const char *folder)
{
    for (int i = 0; i < N_TARGETS; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, target[i].name);
        mkdir(path, 0777);
    }
    for (int i = 0; i < (int)(sizeof npy_rows / sizeof *npy_rows); i++)
        write_seed(folder, "npy", i, npy_rows[i].bytes, npy_rows[i].size, -1);
    for (int i = 0; i < N_GOLDEN_FILES; i++) {
        const golden_file *r = &golden_files[i];
        const char *name = strncmp(r->name, "npz", 3) == 0 ? "npz" : "safetensors";
        write_seed(folder, name, i, r->bytes, r->size, -1);
    }
    for (int i = 0; i < (int)(sizeof inflate_rows / sizeof *inflate_rows); i++) {
        const inflate_row *r = &inflate_rows[i];
        write_seed(folder, "inflate", i, r->bytes, r->packed, r->size);
    }
    write_tokenizers(folder);
    write_arrays(folder);
    write_configs(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (*argc == 3 && strcmp((*argv)[1], "--seeds") == 0) {
        write_seeds((*argv)[2]);
        exit(0);
    }
    const char *slash = strrchr((*argv)[0], '/'), *name = slash ? slash + 1 : (*argv)[0];
    for (int i = 0; i < N_TARGETS; i++)
        if (strcmp(name, target[i].name) == 0) chosen = i;
    require(chosen >= 0, "this program has the name of a target");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    target[chosen].fuzz(bytes, n);
    return 0;
}
