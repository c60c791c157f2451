/* attic_train.h -- to train models, to keep them in files, and to let them write.
 *
 * In reading order: model.h (a decoder-only transformer), tokenizer.h and data.h (text and other
 * data as batches), run.h (a training that can be stopped and goes on with the same bits),
 * checkpoint.h (parameters to a file and back), generate.h, writer.h and sample.h (text from a
 * model), import.h (GPT-2 and Llama), lora.h (low-rank adapters), export.h (both for other
 * programs), progress.h (how far a loop has come), persist.h (what a checkpoint keeps beside
 * parameters), npy.h and tensors.h (files of tensors). */
#ifndef ATTIC_TRAIN_H
#define ATTIC_TRAIN_H
#include "attic.h"

#include "autograd/persist.h"

#include "io/npy.h"
#include "io/tensors.h"

#include "train/checkpoint.h"
#include "train/data.h"
#include "train/export.h"
#include "train/generate.h"
#include "train/import.h"
#include "train/lora.h"
#include "train/model.h"
#include "terminal/progress.h"
#include "train/run.h"
#include "train/sample.h"
#include "train/tokenizer.h"
#include "train/writer.h"

#endif
