/* folder.h -- what the folders of export.h have in common.  Private to src/train. */
#ifndef AT_TRAIN_FOLDER_H
#define AT_TRAIN_FOLDER_H
#include "train/export.h"

/* Can the model be written so, by its config and args?  A sticky error of `op` if not.  args->dtype
 * 0 becomes f32. */
bool at_export_begin(at_tape *t, const char *op, const at_model *m, const char *folder,
                     at_export_args *args);
/* to[at] = w[i]; false after a sticky error, if its dtype cannot hold the value. */
bool at_export_element(at_tape *t, const char *op, at_tensor *to, ptrdiff_t at, const at_tensor *w,
                       ptrdiff_t i);
/* Writes them as folder/name by these names; the folder is made if there is none. */
bool at_export_tensors(at_tape *t, const char *folder, const char *name, at_tensor *const *x, int n,
                       const char *const *names);
/* "folder/name" in step memory; NULL after a sticky error. */
const char *at_folder_file(at_tape *t, const char *folder, const char *name);

#endif
