/* adapters.h -- the modules of PEFT: matrices of the base that may have an adapter; see export.h.
 *
 * For Llama a module is one of our matrices, for GPT-2's c_attn it is our q, k and v side by side,
 * of which some may have an adapter.  Private to src/train. */
#ifndef AT_TRAIN_ADAPTERS_H
#define AT_TRAIN_ADAPTERS_H
#include "train/published.h"

enum { AT_MODULE_PARTS = 3, AT_MODULE_NAME = 120 };

typedef struct {
    const at_published *part[AT_MODULE_PARTS]; /* that the model has */
    int parts;
    int rank; /* of all parts; 0: it has no adapter */
    double alpha;
} at_adapted_module;

typedef struct {
    at_tape *t;
    at_published_names names;
    int n, layers;
    at_adapted_module *module;
    int r;        /* of those that the patterns of adapter_config.json do not name */
    double alpha; /* likewise */
} at_adapter_set;

/* All modules of the model under s->names, without adapters so far, in step memory.  False after a
 * sticky error. */
bool at_adapter_modules(at_adapter_set *s, const at_model *m);
/* "model.layers.0.self_attn.q_proj"; and "base_model.model.", that, ".lora_A.weight", where `which`
 * is A or B.  Both return name. */
const char *at_module_name(const at_adapted_module *d, char name[AT_MODULE_NAME]);
const char *at_adapter_name(const at_adapted_module *d, char which, char name[AT_MODULE_NAME]);

#endif
