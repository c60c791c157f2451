"""attic.py -- attic from Python: one file beside your program, which needs libattic.so and, but for what ctypes has,
NumPy.  It is for Python 3.9 and later.

libattic.so is the one that ATTIC_LIBRARY names, else one beside this file, else one that `make` has built, else the
loader's.  Every function of attic.h and attic_train.h is here by its name, with the types of its arguments: pointers
are never cut to 32 bits, structs go by value.  Beside them:

    report = attic.check(f, vjp, q=Q, k=K, v=V)      is vjp the gradient of f?
    print(report)
    sys.exit(report.status)

f takes arrays and gives one; vjp takes dy, the upstream gradient (cotangent) of f's output, before the same arrays,
and gives a tuple with the gradient of each.  check_torch and check_jax ask the same of PyTorch and JAX.  In pytest,
with pytest_plugins = ["attic"] in conftest.py:

    def test_attention(gradcheck):
        gradcheck(f, vjp, q=Q, k=K, v=V)
"""
import contextlib
import ctypes
import glob
import mmap
import os
import pickle
import select
import signal
import sys
import time
import traceback
from ctypes import (CFUNCTYPE, POINTER, Structure, Union, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_ssize_t, c_ubyte, c_uint, c_uint64, c_void_p)

import numpy as np

# ---- begin: written by generate.py from the headers; `make python` renews it
VERSION = "0.2.0"  # of the headers
ATTIC_REAL = 0
ATTIC_F32 = 1
ATTIC_F64 = 2
ATTIC_I32 = 3
ATTIC_BOOL = 4
ATTIC_F16 = 5
ATTIC_BF16 = 6
ATTIC_DUAL = 7
ATTIC_DIFFERENT = 0
ATTIC_CLOSE = 1
ATTIC_EXACT = 2
ATTIC_INIT_CONSTANT = 0
ATTIC_INIT_UNIFORM = 1
ATTIC_INIT_NORMAL = 2
ATTIC_INIT_VALUES = 3
ATTIC_FAN_NONE = 0
ATTIC_FAN_IN = 1
ATTIC_FAN_BOTH = 2
ATTIC_OK = 0
ATTIC_USER_ERROR = 1
ATTIC_MEMORY_ERROR = 2
ATTIC_FILE_ERROR = 3
ATTIC_NOT_RUN = 0
ATTIC_PASS = 1
ATTIC_WRONG = 2
ATTIC_NOISE_LIMITED = 3
ATTIC_NON_SMOOTH = 4
ATTIC_VACUOUS = 5
ATTIC_RACE = 6
ATTIC_PARTLY_KNOWN = 7
ATTIC_MISMATCH = 8
ATTIC_DIAGNOSIS = 401
ATTIC_MEAN = 0
ATTIC_SUM = 1
ATTIC_NONE = 2
ATTIC_ROPE_DEFAULT = 0
ATTIC_ROPE_LINEAR = 1
ATTIC_ROPE_LLAMA3 = 2
ATTIC_ROPE_YARN = 3
ATTIC_ALIGN_EQUAL = 0
ATTIC_ALIGN_TOP_LEFT = 1
ATTIC_ALIGN_BOTTOM_RIGHT = 2
ATTIC_ALIGN_OFFSET = 3
ATTIC_TAPE_PATH = 0
ATTIC_FUSED = 1
ATTIC_PLAIN = 2
ATTIC_COMPOSED = 3
ATTIC_LAYER_NORM = 0
ATTIC_RMS = 1
ATTIC_GELU = 0
ATTIC_GELU_TANH = 1
ATTIC_RELU = 2
ATTIC_SILU = 3
ATTIC_SWIGLU = 4
ATTIC_RELU2 = 5
ATTIC_TANH = 6
ATTIC_BIAS_FFN = 0
ATTIC_BIAS_ALL = 1
ATTIC_BIAS_NONE = 2
ATTIC_HEAD_FINE = 0
ATTIC_HEAD_LOW_ENTROPY = 1
ATTIC_HEAD_ONE_KEY = 2
ATTIC_HEAD_UNIFORM = 3
ATTIC_HEAD_SIMILAR = 4
ATTIC_HEAD_NAN = 5
ATTIC_ROPE = 0
ATTIC_LEARNED_POSITIONS = 1
ATTIC_NO_POSITIONS = 2
ATTIC_TRAIN = 0
ATTIC_HELD = 1
ATTIC_NAMES_GPT2 = 0
ATTIC_NAMES_LLAMA = 1
class at_tape(Structure): pass
class at_node(Structure): pass
class at_tensors(Structure): pass
class at_tokenizer(Structure): pass
class at_data(Structure): pass
class at_writer(Structure): pass
class at_run(Structure): pass
class at_stream(Structure): pass
class at_shape(Structure): pass
class at_tensor(Structure): pass
class at_comparison(Structure): pass
class at_init(Structure): pass
class at_names(Structure): pass
class at_mark(Structure): pass
class at_eval(Structure): pass
class at_memory(Structure): pass
class at_gradcheck_report(Structure): pass
class at_gradcheck_part(Structure): pass
class at_gradcheck_size(Structure): pass
class at_gradcheck_element(Structure): pass
class at_gradcheck_options(Structure): pass
class at_cross_entropy_args(Structure): pass
class at_bce_args(Structure): pass
class at_rope_scaling(Structure): pass
class at_rope_args(Structure): pass
class at_sdpa_args(Structure): pass
class at_keep_tally(Structure): pass
class at_t5_args(Structure): pass
class at_additive(Structure): pass
class at_linear(Structure): pass
class at_norm(Structure): pass
class at_attention_config(Structure): pass
class at_attention(Structure): pass
class at_cache(Structure): pass
class at_ffn_config(Structure): pass
class at_ffn(Structure): pass
class at_block_config(Structure): pass
class at_block(Structure): pass
class at_block_args(Structure): pass
class at_blocks(Structure): pass
class at_mlp(Structure): pass
class at_sgd_args(Structure): pass
class at_adamw_args(Structure): pass
class at_rmsprop_args(Structure): pass
class at_lion_args(Structure): pass
class at_muon_args(Structure): pass
class at_head_statistics(Structure): pass
class at_monitor_args(Structure): pass
class at_monitored(Structure): pass
class at_monitor(Structure): pass
class at_metadata(Structure): pass
class at_tensors_save_args(Structure): pass
class at_model_config(Structure): pass
class at_model(Structure): pass
class at_model_args(Structure): pass
class at_model_cache(Structure): pass
class at_part_args(Structure): pass
class at_data_args(Structure): pass
class at_batch_args(Structure): pass
class at_batch(Structure): pass
class at_batch_0(Union): pass
class at_lora_args(Structure): pass
class at_export_args(Structure): pass
class at_writer_args(Structure): pass
class at_eval_args(Structure): pass
class at_generate_args(Structure): pass
class at_terminal(Structure): pass
class at_progress(Structure): pass
class at_run_peers(Structure): pass
class at_run_args(Structure): pass
class at_sample_args(Structure): pass
at_stream._fields_ = [("seed", c_uint64), ("draw", c_uint64)]
at_shape._fields_ = [("ndim", c_int), ("dim", c_int * 8)]
at_tensor._fields_ = [("dtype", c_int), ("shape", at_shape), ("data", c_void_p), ("grad", c_void_p),
    ("wants_grad", c_bool), ("name", c_char_p), ("tape", POINTER(at_tape)), ("node", POINTER(at_node)),
    ("base", POINTER(at_tensor)), ("next", POINTER(at_tensor)), ("twin", POINTER(at_tensor)),
    ("grad_memory", c_void_p), ("version", c_uint)]
at_comparison._fields_ = [("similarity", c_int), ("differing", c_ssize_t), ("error", c_double), ("a", c_double),
    ("b", c_double), ("index", at_shape), ("text", c_char * 160)]
at_init._fields_ = [("kind", c_int), ("fan", c_int), ("scale", c_double), ("values", POINTER(c_double))]
at_names._fields_ = [("only", c_char_p), ("except", c_char_p)]
at_mark._fields_ = [("tape", POINTER(at_tape)), ("serial", c_uint64)]
at_eval._fields_ = [("here", at_mark), ("training", c_bool), ("no_grad", c_bool), ("draws", c_uint64)]
at_function = CFUNCTYPE(POINTER(at_tensor), POINTER(at_tape), POINTER(POINTER(at_tensor)), c_void_p)
at_memory._fields_ = [("permanent", c_size_t), ("step", c_size_t), ("step_peak", c_size_t), ("reserved", c_size_t),
    ("nodes", c_int)]
at_gradcheck_report._fields_ = [("verdict", c_int), ("reason", c_char * 240), ("real", c_int), ("bits", c_int),
    ("checked", c_ssize_t), ("failed", c_ssize_t), ("unknown", c_ssize_t), ("error", c_double),
    ("exact_error", c_double), ("resolution", c_double), ("hidden", c_double), ("directions", c_int),
    ("along_error", c_double), ("along_resolution", c_double), ("diagnosis", c_char * ATTIC_DIAGNOSIS),
    ("note", c_char * 240), ("pairs", c_ssize_t), ("differ", c_ssize_t), ("ulps", c_double), ("where", c_char *
    120), ("input", c_int), ("element", c_ssize_t), ("analytic", c_double), ("exact", c_double),
    ("numeric", c_double), ("bound", c_double), ("step", c_double), ("seed", c_uint64), ("order", c_int)]
at_gradcheck_part._fields_ = [("name", c_char_p), ("count", c_ssize_t), ("shape", at_shape)]
at_gradcheck_size._fields_ = [("name", c_char_p), ("value", c_double)]
at_gradcheck_element._fields_ = [("i", c_ssize_t), ("where", c_char_p), ("verdict", c_int), ("a", c_double),
    ("n", c_double), ("e", c_double), ("bound", c_double)]
at_gradcheck_each_fn = CFUNCTYPE(None, POINTER(at_gradcheck_element), c_void_p)
at_forward_fn = CFUNCTYPE(None, POINTER(c_double), POINTER(c_double), c_void_p)
at_vjp_fn = CFUNCTYPE(None, POINTER(c_double), POINTER(c_double), POINTER(c_double), c_void_p)
at_gradcheck_options._fields_ = [("directions", c_int), ("order", c_int), ("tolerance", c_double), ("adds", c_bool),
    ("runs", c_int), ("seed", c_uint64), ("real", c_int), ("twin", at_forward_fn),
    ("parts", POINTER(at_gradcheck_part)), ("sizes", POINTER(at_gradcheck_size)), ("each", at_gradcheck_each_fn),
    ("each_ctx", c_void_p)]
at_forward_fn_f32 = CFUNCTYPE(None, POINTER(c_float), POINTER(c_float), c_void_p)
at_vjp_fn_f32 = CFUNCTYPE(None, POINTER(c_float), POINTER(c_float), POINTER(c_float), c_void_p)
at_cross_entropy_args._fields_ = [("reduction", c_int), ("label_smoothing", c_double), ("ignore", c_bool),
    ("ignore_index", c_int), ("weights", POINTER(at_tensor))]
at_bce_args._fields_ = [("reduction", c_int), ("positive", POINTER(at_tensor)), ("weights", POINTER(at_tensor))]
at_rope_scaling._fields_ = [("type", c_int), ("original_max_position_embeddings", c_int), ("factor", c_double),
    ("low_freq_factor", c_double), ("high_freq_factor", c_double), ("beta_fast", c_double), ("beta_slow", c_double),
    ("attention_factor", c_double), ("mscale", c_double), ("mscale_all_dim", c_double), ("no_truncate", c_bool)]
at_rope_args._fields_ = [("base", c_double), ("offset", c_int), ("half_split", c_bool), ("rotate", c_int),
    ("heads", c_int), ("scaling", at_rope_scaling), ("positions", POINTER(at_tensor)),
    ("frequencies", POINTER(at_tensor))]
at_sdpa_args._fields_ = [("scale", c_double), ("temperature", c_double), ("softcap", c_double),
    ("head_scale", POINTER(at_tensor)), ("bias", POINTER(at_tensor)), ("sink", POINTER(at_tensor)),
    ("keep", POINTER(at_tensor)), ("causal", c_bool), ("align", c_int), ("offset", c_int), ("window_left", c_int),
    ("window_right", c_int), ("key_len", POINTER(at_tensor)), ("segments", POINTER(at_tensor)),
    ("key_segments", POINTER(at_tensor)), ("heads", c_int), ("kv_heads", c_int), ("dropout", c_double),
    ("path", c_int), ("weights", POINTER(POINTER(at_tensor))), ("probs", POINTER(POINTER(at_tensor))),
    ("scores", POINTER(POINTER(at_tensor))), ("lse", POINTER(POINTER(at_tensor))),
    ("bias_tangent", POINTER(at_tensor)), ("sink_tangent", POINTER(at_tensor)),
    ("weights_tangent", POINTER(POINTER(at_tensor))), ("lse_tangent", POINTER(POINTER(at_tensor))),
    ("positions", POINTER(at_tensor)), ("key_positions", POINTER(at_tensor))]
at_keep_tally._fields_ = [("cells", c_ssize_t), ("kept", c_ssize_t), ("rows", c_ssize_t), ("empty_rows", c_ssize_t),
    ("fraction", c_double)]
at_t5_args._fields_ = [("causal", c_bool), ("max_distance", c_int), ("offset", c_int)]
at_additive._fields_ = [("W", POINTER(at_tensor)), ("U", POINTER(at_tensor)), ("v", POINTER(at_tensor))]
at_linear._fields_ = [("W", POINTER(at_tensor)), ("b", POINTER(at_tensor)), ("lora_A", POINTER(at_tensor)),
    ("lora_B", POINTER(at_tensor)), ("lora_alpha", POINTER(at_tensor))]
at_norm._fields_ = [("kind", c_int), ("eps", c_double), ("g", POINTER(at_tensor)), ("b", POINTER(at_tensor))]
at_attention_config._fields_ = [("dim", c_int), ("heads", c_int), ("kv_heads", c_int), ("bias", c_bool),
    ("rope", c_bool), ("rope_base", c_double), ("rope_halves", c_bool), ("rope_scaling", at_rope_scaling),
    ("qk_norm", c_bool), ("norm_eps", c_double), ("gate", c_bool), ("sinks", c_bool), ("window", c_int),
    ("dropout", c_double)]
at_attention._fields_ = [("config", at_attention_config), ("q", at_linear), ("k", at_linear), ("v", at_linear),
    ("o", at_linear), ("q_norm", at_norm), ("k_norm", at_norm), ("sink", POINTER(at_tensor)), ("gate", at_linear)]
at_cache._fields_ = [("layer", at_attention), ("K", POINTER(at_tensor)), ("V", POINTER(at_tensor)),
    ("position", c_int), ("cross", c_bool), ("written", c_uint)]
at_ffn_config._fields_ = [("dim", c_int), ("hidden", c_int), ("act", c_int), ("bias", c_bool)]
at_ffn._fields_ = [("config", at_ffn_config), ("up", at_linear), ("gate", at_linear), ("down", at_linear)]
at_block_config._fields_ = [("dim", c_int), ("heads", c_int), ("kv_heads", c_int), ("rope", c_bool),
    ("rope_base", c_double), ("rope_halves", c_bool), ("qk_norm", c_bool), ("rope_scaling", at_rope_scaling),
    ("gate", c_bool), ("sinks", c_bool), ("window", c_int), ("hidden", c_int), ("act", c_int), ("norm", c_int),
    ("norm_eps", c_double), ("bias", c_int), ("post_norm", c_bool), ("cross", c_bool), ("no_ffn", c_bool),
    ("dropout", c_double)]
at_block._fields_ = [("config", at_block_config), ("norm1", at_norm), ("cross_norm", at_norm), ("norm2", at_norm),
    ("attention", at_attention), ("cross", at_attention), ("ffn", at_ffn)]
at_block_args._fields_ = [("attention", at_sdpa_args), ("cross", at_sdpa_args), ("cache", POINTER(at_cache)),
    ("cross_cache", POINTER(at_cache))]
at_blocks._fields_ = [("block", POINTER(at_block)), ("layers", c_int), ("norm", at_norm)]
at_mlp._fields_ = [("layer", POINTER(at_linear)), ("layers", c_int), ("act", c_int)]
at_sgd_args._fields_ = [("momentum", c_double), ("nesterov", c_bool), ("weight_decay", c_double),
    ("only", c_char_p), ("except", c_char_p)]
at_adamw_args._fields_ = [("beta1", c_double), ("beta2", c_double), ("eps", c_double), ("weight_decay", c_double),
    ("decay_matrices", c_bool), ("only", c_char_p), ("except", c_char_p)]
at_rmsprop_args._fields_ = [("alpha", c_double), ("eps", c_double), ("momentum", c_double),
    ("weight_decay", c_double), ("only", c_char_p), ("except", c_char_p)]
at_lion_args._fields_ = [("beta1", c_double), ("beta2", c_double), ("weight_decay", c_double),
    ("decay_matrices", c_bool), ("only", c_char_p), ("except", c_char_p)]
at_muon_args._fields_ = [("momentum", c_double), ("weight_decay", c_double), ("steps", c_int), ("only", c_char_p),
    ("except", c_char_p)]
at_head_statistics._fields_ = [("entropy", c_double), ("most", c_double), ("largest", c_double),
    ("similarity", c_double), ("kept", c_double), ("rows", c_ssize_t)]
at_monitor_hook = CFUNCTYPE(None, c_void_p, c_int, c_int, POINTER(at_monitored))
at_monitor_args._fields_ = [("low_entropy", c_double), ("uniform", c_double), ("similarity", c_double),
    ("patience", c_int), ("hook", at_monitor_hook), ("ctx", c_void_p)]
at_monitored._fields_ = [("statistics", at_head_statistics), ("verdict", c_int), ("state", c_int),
    ("in_a_row", c_int)]
at_monitor._fields_ = [("args", at_monitor_args), ("layers", c_int), ("heads", c_int),
    ("head", POINTER(at_monitored))]
at_metadata._fields_ = [("key", c_char_p), ("value", c_char_p)]
at_tensors_save_args._fields_ = [("names", POINTER(c_char_p)), ("metadata", POINTER(at_metadata)),
    ("n_metadata", c_int), ("checksum", c_bool)]
at_model_config._fields_ = [("vocab", c_int), ("context", c_int), ("layers", c_int), ("heads", c_int),
    ("dim", c_int), ("kv_heads", c_int), ("hidden", c_int), ("norm", c_int), ("norm_eps", c_double), ("act", c_int),
    ("bias", c_int), ("positions", c_int), ("rope_base", c_double), ("rope_halves", c_bool),
    ("rope_scaling", at_rope_scaling), ("qk_norm", c_bool), ("gate", c_bool), ("sinks", c_bool), ("window", c_int),
    ("full_every", c_int), ("post_norm", c_bool), ("no_ffn", c_bool), ("untied", c_bool), ("zero_outputs", c_bool),
    ("dropout", c_double)]
at_model._fields_ = [("config", at_model_config), ("E", POINTER(at_tensor)), ("P", POINTER(at_tensor)),
    ("norm", at_norm), ("head", at_linear), ("block", POINTER(at_block)), ("tape", POINTER(at_tape)),
    ("params", c_ssize_t), ("first_param", c_int), ("n_params", c_int)]
at_model_args._fields_ = [("positions", POINTER(at_tensor)), ("segments", POINTER(at_tensor)),
    ("weights", POINTER(POINTER(at_tensor))), ("hidden", POINTER(POINTER(at_tensor)))]
at_model_cache._fields_ = [("model", POINTER(at_model)), ("position", c_int), ("layer", POINTER(at_cache))]
at_part_args._fields_ = [("only", c_char_p), ("except", c_char_p), ("rename", c_char_p), ("missing_ok", c_bool),
    ("dtype", c_int)]
at_data_args._fields_ = [("paths", POINTER(c_char_p)), ("n", c_int), ("tokenizer", POINTER(at_tokenizer)),
    ("chars", c_bool), ("bpe", c_int), ("vocab", c_int), ("id_bytes", c_int), ("held", c_double),
    ("split_seed", c_uint64), ("held_tail", c_bool), ("pack", c_int)]
at_batch_args._fields_ = [("split", c_int), ("rows", c_int), ("length", c_int), ("step", c_int64), ("micro", c_int),
    ("micros", c_int), ("spread", c_int), ("pack", c_bool)]
at_batch_0._fields_ = [("ids", POINTER(at_tensor)), ("x", POINTER(at_tensor))]
at_batch._anonymous_ = ['_at_batch_0']
at_batch._fields_ = [("_at_batch_0", at_batch_0), ("target", POINTER(at_tensor)), ("lengths", POINTER(at_tensor)),
    ("segments", POINTER(at_tensor)), ("positions", POINTER(at_tensor)), ("share", c_double)]
at_lora_args._fields_ = [("rank", c_int), ("alpha", c_double), ("only", c_char_p), ("except", c_char_p)]
at_export_args._fields_ = [("names", c_int), ("dtype", c_int), ("tokenizer", POINTER(at_tokenizer))]
at_writer_args._fields_ = [("temperature", c_double), ("top_k", c_int), ("top_p", c_double),
    ("stop", POINTER(c_int32)), ("n_stop", c_int), ("stream", c_uint64), ("tokenizer", POINTER(at_tokenizer)),
    ("cache", c_int)]
at_eval_args._fields_ = [("split", c_int), ("batches", c_int), ("rows", c_int), ("length", c_int)]
at_generate_args._fields_ = [("prompt", c_char_p), ("ids", POINTER(c_int32)), ("n_ids", c_int), ("n", c_int),
    ("temperature", c_double), ("top_k", c_int), ("top_p", c_double), ("stop", POINTER(c_int32)), ("n_stop", c_int),
    ("stream", c_uint64), ("tokenizer", POINTER(at_tokenizer)), ("cache", c_int), ("token", CFUNCTYPE(c_bool,
    c_void_p, c_int, c_char_p, c_int)), ("ctx", c_void_p)]
at_terminal._fields_ = [("columns", c_int), ("is_terminal", c_bool), ("unicode", c_bool), ("colours", c_int)]
at_progress._fields_ = [("out", c_void_p), ("what", c_char_p), ("total", c_ssize_t), ("done", c_ssize_t),
    ("before", c_ssize_t), ("clock", CFUNCTYPE(c_double)), ("started", c_double), ("drawn", c_double),
    ("written", c_ssize_t), ("as", at_terminal), ("text", c_char * 120)]
at_run_peers._fields_ = [("rank", c_int), ("count", c_int), ("self", c_void_p), ("gather", CFUNCTYPE(c_bool,
    c_void_p, c_void_p, c_size_t, c_void_p)), ("share", CFUNCTYPE(c_bool, c_void_p, c_int, c_void_p, c_size_t)),
    ("swap", CFUNCTYPE(c_bool, c_void_p, c_int, c_void_p, c_size_t, c_void_p, c_size_t))]
at_run_args._fields_ = [("steps", c_int), ("save_every", c_int), ("log_every", c_int), ("micros", c_int),
    ("max_bad", c_int), ("patience", c_int), ("per_step", c_double), ("json_log", c_bool), ("fresh", c_bool),
    ("quiet", c_bool), ("out", c_void_p), ("other_arithmetic", c_bool), ("peers", POINTER(at_run_peers))]
at_sample_args._fields_ = [("temperature", c_double), ("top_k", c_int), ("top_p", c_double)]
FUNCTIONS = {  # the result, then the arguments
    "at_arithmetic": (c_char_p,),
    "at_random_unit": (c_double, at_stream, c_uint64),
    "at_random_normal": (c_double, at_stream, c_uint64),
    "at_threads": (None, c_int),
    "at_thread_count": (c_int,),
    "at_last": (c_int, at_shape),
    "at_rows": (c_ssize_t, at_shape),
    "at_count_between": (c_ssize_t, at_shape, c_int, c_int),
    "at_shape_text": (c_char_p, at_shape),
    "at_dtype_text": (c_char_p, c_int),
    "at_element": (c_double, POINTER(at_tensor), c_ssize_t),
    "at_grad_element": (c_double, POINTER(at_tensor), c_ssize_t),
    "at_text": (c_char_p, POINTER(at_tensor)),
    "at_compare": (at_comparison, POINTER(at_tensor), POINTER(at_tensor)),
    "at_zeros": (at_init,),
    "at_ones": (at_init,),
    "at_fill": (at_init, c_double),
    "at_values": (at_init, POINTER(c_double)),
    "at_uniform": (at_init, c_double),
    "at_normal": (at_init, c_double),
    "at_xavier_uniform": (at_init, c_double),
    "at_xavier_normal": (at_init, c_double),
    "at_he_uniform": (at_init, c_double),
    "at_he_normal": (at_init, c_double),
    "at_init_fill": (None, POINTER(at_tensor), at_init, at_stream),
    "at_open": (POINTER(at_tape), c_int, c_uint64),
    "at_close": (None, POINTER(at_tape)),
    "at_on_close": (c_bool, POINTER(at_tape), CFUNCTYPE(None, c_void_p), c_void_p),
    "at_ok": (c_bool, POINTER(at_tape)),
    "at_error": (c_char_p, POINTER(at_tape)),
    "at_error_kind_of": (c_int, POINTER(at_tape)),
    "at_clear_error": (None, POINTER(at_tape)),
    "at_real": (c_int, POINTER(at_tape)),
    "at_seed": (c_uint64, POINTER(at_tape)),
    "at_draw": (at_stream, POINTER(at_tape)),
    "at_version": (c_char_p,),
    "at_param": (POINTER(at_tensor), POINTER(at_tape), c_char_p, at_shape, at_init),
    "at_variable": (POINTER(at_tensor), POINTER(at_tape), at_shape, POINTER(c_double)),
    "at_const": (POINTER(at_tensor), POINTER(at_tape), at_shape, POINTER(c_double)),
    "at_floats": (POINTER(at_tensor), POINTER(at_tape), at_shape, POINTER(c_float)),
    "at_ints": (POINTER(at_tensor), POINTER(at_tape), at_shape, POINTER(c_int32)),
    "at_bools": (POINTER(at_tensor), POINTER(at_tape), at_shape, POINTER(c_bool)),
    "at_arange": (POINTER(at_tensor), POINTER(at_tape), c_double, c_double, c_double),
    "at_random": (POINTER(at_tensor), POINTER(at_tape), at_shape, at_init),
    "at_bernoulli": (POINTER(at_tensor), POINTER(at_tape), at_shape, c_double),
    "at_blank": (POINTER(at_tensor), POINTER(at_tape), c_int, at_shape),
    "at_cast": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_detach": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_grad_copy": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_name": (POINTER(at_tensor), POINTER(at_tensor), c_char_p),
    "at_find": (POINTER(at_tensor), POINTER(at_tape), c_char_p),
    "at_get_at": (c_double, POINTER(at_tensor), at_shape),
    "at_set_at": (None, POINTER(at_tensor), c_double, at_shape),
    "at_item": (c_double, POINTER(at_tensor)),
    "at_read_f32": (c_bool, POINTER(at_tensor), POINTER(c_float), c_ssize_t),
    "at_read_f64": (c_bool, POINTER(at_tensor), POINTER(c_double), c_ssize_t),
    "at_read_i32": (c_bool, POINTER(at_tensor), POINTER(c_int32), c_ssize_t),
    "at_read_i64": (c_bool, POINTER(at_tensor), POINTER(c_int64), c_ssize_t),
    "at_write_f32": (c_bool, POINTER(at_tensor), POINTER(c_float), c_ssize_t),
    "at_write_f64": (c_bool, POINTER(at_tensor), POINTER(c_double), c_ssize_t),
    "at_write_i32": (c_bool, POINTER(at_tensor), POINTER(c_int32), c_ssize_t),
    "at_write_i64": (c_bool, POINTER(at_tensor), POINTER(c_int64), c_ssize_t),
    "at_written": (None, POINTER(at_tensor)),
    "at_param_count": (c_int, POINTER(at_tape)),
    "at_param_at": (POINTER(at_tensor), POINTER(at_tape), c_int),
    "at_find_param": (POINTER(at_tensor), POINTER(at_tape), c_char_p),
    "at_copy_params": (c_bool, POINTER(at_tape), POINTER(at_tape)),
    "at_freeze": (c_int, POINTER(at_tape), at_names),
    "at_unfreeze": (c_int, POINTER(at_tape), at_names),
    "at_mark_here": (at_mark, POINTER(at_tape)),
    "at_rewind": (None, POINTER(at_tape), at_mark),
    "at_scope": (None, POINTER(at_tape), c_char_p),
    "at_scopef": (None, POINTER(at_tape), c_char_p),
    "at_scope_end": (None, POINTER(at_tape)),
    "at_train": (c_bool, POINTER(at_tape), c_bool),
    "at_is_training": (c_bool, POINTER(at_tape)),
    "at_no_grad": (c_bool, POINTER(at_tape), c_bool),
    "at_eval_begin": (at_eval, POINTER(at_tape)),
    "at_eval_end": (None, POINTER(at_tape), at_eval),
    "at_backward": (c_bool, POINTER(at_tape), POINTER(at_tensor)),
    "at_backward_from": (c_bool, POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_zero_grads": (None, POINTER(at_tape)),
    "at_replay": (c_bool, POINTER(at_tape)),
    "at_reuse_memory": (c_bool, POINTER(at_tape), c_bool),
    "at_print": (None, POINTER(at_tensor), c_void_p),
    "at_print_grad": (None, POINTER(at_tensor), c_void_p),
    "at_anomaly": (c_bool, POINTER(at_tape), c_bool),
    "at_grad_report": (c_int, POINTER(at_tape), c_void_p),
    "at_memory_of": (at_memory, POINTER(at_tape)),
    "at_file_create": (c_void_p, POINTER(at_tape), c_char_p),
    "at_file_open": (c_void_p, POINTER(at_tape), c_char_p, POINTER(c_ssize_t)),
    "at_file_close": (c_bool, POINTER(at_tape), c_void_p, c_char_p),
    "at_profile": (c_bool, POINTER(at_tape), c_bool),
    "at_profile_reset": (None, POINTER(at_tape)),
    "at_profile_print": (None, POINTER(at_tape), c_void_p),
    "at_set_tangent": (c_bool, POINTER(at_tensor), POINTER(c_double)),
    "at_tangent": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_grad_tangent": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_jvp": (POINTER(at_tensor), POINTER(at_tape), at_function, POINTER(POINTER(at_tensor)),
    POINTER(POINTER(at_tensor)), c_int, c_void_p, POINTER(POINTER(at_tensor))),
    "at_hvp": (c_bool, POINTER(at_tape), POINTER(at_tensor), POINTER(POINTER(at_tensor)),
    POINTER(POINTER(at_tensor)), c_int, POINTER(POINTER(at_tensor)), c_int, POINTER(POINTER(at_tensor))),
    "at_verdict_text": (c_char_p, c_int),
    "at_verdict_status": (c_int, c_int),
    "at_gradcheck_print": (None, POINTER(at_gradcheck_report), c_void_p),
    "at_gradcheck": (at_gradcheck_report, POINTER(at_tape), at_function, POINTER(POINTER(at_tensor)), c_int,
    c_void_p, at_gradcheck_options),
    "at_gradcheck_fn": (at_gradcheck_report, at_forward_fn, at_vjp_fn, c_ssize_t, c_ssize_t, POINTER(c_double),
    c_void_p, at_gradcheck_options),
    "at_gradcheck_fn_f32": (at_gradcheck_report, at_forward_fn_f32, at_vjp_fn_f32, c_ssize_t, c_ssize_t,
    POINTER(c_float), c_void_p, at_gradcheck_options),
    "at_add": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_sub": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_mul": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_div": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_minimum": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_maximum": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_where": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor)),
    "at_masked_fill": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_double),
    "at_less": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_less_equal": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_equal": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_and": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_or": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_not": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_scale": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_add_scalar": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_neg": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_exp": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_log": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_sqrt": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_square": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_pow": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_abs": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_sin": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_cos": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_tanh": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_sigmoid": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_relu": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_relu2": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_leaky_relu": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_softplus": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_silu": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_gelu": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_gelu_tanh": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_clamp": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double, c_double),
    "at_dropout": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_matmul": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_matmul_t": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_bool, POINTER(at_tensor), c_bool),
    "at_affine": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor)),
    "at_sum": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_mean": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_max": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_min": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_var": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_sum_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape, c_bool),
    "at_mean_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape, c_bool),
    "at_max_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape, c_bool),
    "at_min_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape, c_bool),
    "at_var_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape, c_bool, c_int),
    "at_logsumexp": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_bool),
    "at_cumsum": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_argmax": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_bool),
    "at_topk": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int,
    POINTER(POINTER(at_tensor))),
    "at_reshape": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape),
    "at_permute": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape),
    "at_transpose": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int),
    "at_concat": (POINTER(at_tensor), POINTER(at_tape), POINTER(POINTER(at_tensor)), c_int, c_int),
    "at_stack": (POINTER(at_tensor), POINTER(at_tape), POINTER(POINTER(at_tensor)), c_int, c_int),
    "at_slice": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int, c_int),
    "at_slice_step": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int, c_int, c_int),
    "at_split_along": (c_bool, POINTER(at_tape), POINTER(at_tensor), c_int, POINTER(POINTER(at_tensor)), c_int,
    POINTER(c_int)),
    "at_expand": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_shape),
    "at_gather": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_int),
    "at_scatter_add": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    POINTER(at_tensor), c_int),
    "at_toeplitz": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int),
    "at_softmax": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_softmax_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_log_softmax": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_log_softmax_over": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_cross_entropy": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    at_cross_entropy_args),
    "at_linear_cross_entropy": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    c_bool, POINTER(at_tensor), POINTER(at_tensor), at_cross_entropy_args),
    "at_mse": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_int),
    "at_huber": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_double, c_int),
    "at_bce": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), at_bce_args),
    "at_kl": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_bool, c_int),
    "at_layer_norm": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    POINTER(at_tensor), c_double),
    "at_rms_norm": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_double),
    "at_normalize": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_double),
    "at_embedding": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_one_hot": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_rope": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), at_rope_args),
    "at_sdpa": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor),
    at_sdpa_args),
    "at_attention_path": (c_int, POINTER(at_tape), c_int),
    "at_check_attention": (c_bool, POINTER(at_tape), c_bool),
    "at_keep_causal": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int, c_int, c_int),
    "at_keep_window": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int, c_int, c_int, c_int, c_int),
    "at_keep_vertical": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int, POINTER(c_int), c_int),
    "at_keep_horizontal": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int, POINTER(c_int), c_int),
    "at_keep_global": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int),
    "at_keep_global_at": (POINTER(at_tensor), POINTER(at_tape), c_int, POINTER(c_int), c_int),
    "at_keep_blocks": (POINTER(at_tensor), POINTER(at_tape), c_int, c_int, c_int),
    "at_keep_segments": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor)),
    "at_keep_lengths": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_keep_unpadded": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_keep_from_drop": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_keep_count": (at_keep_tally, POINTER(at_tensor)),
    "at_relative_bias": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int, c_int),
    "at_t5_bucket": (c_int, c_int, c_int, at_t5_args),
    "at_t5_bias": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int, at_t5_args),
    "at_alibi_slopes": (POINTER(at_tensor), POINTER(at_tape), c_int),
    "at_alibi_bias": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int, c_int, c_int),
    "at_alibi_row_bias": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_int),
    "at_sdpa_jvp": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor), at_sdpa_args,
    POINTER(POINTER(at_tensor))),
    "at_additive_make": (at_additive, POINTER(at_tape), c_int, c_int, c_int),
    "at_additive_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_additive), POINTER(at_tensor),
    POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor), POINTER(POINTER(at_tensor))),
    "at_elu_plus_1": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor)),
    "at_linear_attention": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    POINTER(at_tensor), c_bool),
    "at_linear_attention_causal": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor),
    POINTER(at_tensor)),
    "at_linear_make": (at_linear, POINTER(at_tape), c_char_p, c_int, c_int, c_bool, at_init),
    "at_linear_apply": (POINTER(at_tensor), POINTER(at_tape), at_linear, POINTER(at_tensor)),
    "at_norm_make": (at_norm, POINTER(at_tape), c_char_p, c_int, c_int, c_bool, c_double),
    "at_norm_apply": (POINTER(at_tensor), POINTER(at_tape), at_norm, POINTER(at_tensor)),
    "at_norm_check": (c_bool, POINTER(at_tape), c_int, c_double),
    "at_attention_check": (c_bool, POINTER(at_tape), at_attention_config),
    "at_attention_make": (at_attention, POINTER(at_tape), at_attention_config, c_double),
    "at_attention_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor),
    POINTER(at_tensor), at_sdpa_args),
    "at_attention_queries": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor), c_int,
    POINTER(at_tensor)),
    "at_attention_keys": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor), c_int,
    POINTER(at_tensor)),
    "at_attention_values": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor)),
    "at_attention_combine": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor),
    POINTER(at_tensor), POINTER(at_tensor), POINTER(at_tensor), at_sdpa_args),
    "at_cache_make": (at_cache, POINTER(at_tape), POINTER(at_attention), c_int, c_int),
    "at_cache_make_as": (at_cache, POINTER(at_tape), POINTER(at_attention), c_int, c_int, c_int),
    "at_cache_of": (at_cache, POINTER(at_tape), POINTER(at_attention), POINTER(at_tensor)),
    "at_attention_decode": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_cache), POINTER(at_tensor),
    at_sdpa_args),
    "at_ffn_check": (c_bool, POINTER(at_tape), at_ffn_config),
    "at_ffn_make": (at_ffn, POINTER(at_tape), at_ffn_config, c_double),
    "at_ffn_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_ffn), POINTER(at_tensor)),
    "at_block_check": (c_bool, POINTER(at_tape), at_block_config),
    "at_block_make": (at_block, POINTER(at_tape), at_block_config, c_double),
    "at_block_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_block), POINTER(at_tensor),
    POINTER(at_tensor), at_block_args),
    "at_blocks_make": (at_blocks, POINTER(at_tape), at_block_config, c_int),
    "at_blocks_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_blocks), POINTER(at_tensor),
    POINTER(at_tensor), at_block_args),
    "at_mlp_make": (at_mlp, POINTER(at_tape), POINTER(c_int), c_int, c_int),
    "at_mlp_apply": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_mlp), POINTER(at_tensor)),
    "at_sgd": (c_bool, POINTER(at_tape), c_double),
    "at_sgd_with": (c_bool, POINTER(at_tape), c_double, at_sgd_args),
    "at_adamw": (c_bool, POINTER(at_tape), c_double, at_adamw_args),
    "at_adam": (c_bool, POINTER(at_tape), c_double, at_adamw_args),
    "at_rmsprop": (c_bool, POINTER(at_tape), c_double, at_rmsprop_args),
    "at_lion": (c_bool, POINTER(at_tape), c_double, at_lion_args),
    "at_muon": (c_bool, POINTER(at_tape), c_double, at_muon_args),
    "at_ema": (c_bool, POINTER(at_tape), c_double, at_names),
    "at_ema_swap": (c_bool, POINTER(at_tape)),
    "at_clip_grad_norm": (c_double, POINTER(at_tape), c_double),
    "at_clip_grad_value": (c_bool, POINTER(at_tape), c_double),
    "at_warmup_cosine": (c_double, c_int, c_int, c_int, c_double, c_double),
    "at_warmup_linear": (c_double, c_int, c_int, c_int, c_double, c_double),
    "at_warmup_constant": (c_double, c_int, c_int, c_double),
    "at_one_cycle": (c_double, c_int, c_int, c_int, c_double, c_double, c_double),
    "at_cosine_restarts": (c_double, c_int, c_int, c_int, c_double, c_double),
    "at_head_statistics_of": (at_head_statistics, POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), c_int,
    c_int),
    "at_head_text": (c_char_p, c_int),
    "at_head_verdict": (c_int, at_head_statistics, at_monitor_args),
    "at_monitor_make": (POINTER(at_monitor), POINTER(at_tape), c_int, c_int, at_monitor_args),
    "at_monitor_update": (c_bool, POINTER(at_tape), POINTER(at_monitor), c_int, POINTER(at_tensor),
    POINTER(at_tensor)),
    "at_monitor_print": (None, POINTER(at_monitor), c_int, c_void_p),
    "at_monitor_text": (c_char_p, c_int, c_int, POINTER(at_monitored)),
    "at_param_state": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_char_p),
    "at_param_state_of": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_char_p, at_shape),
    "at_find_state": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_tensor), c_char_p),
    "at_state_count": (c_int, POINTER(at_tape)),
    "at_state_at": (POINTER(at_tensor), POINTER(at_tape), c_int),
    "at_describe": (c_bool, POINTER(at_tape), c_char_p, c_char_p),
    "at_described_count": (c_int, POINTER(at_tape)),
    "at_described_key": (c_char_p, POINTER(at_tape), c_int),
    "at_described": (c_char_p, POINTER(at_tape), c_char_p),
    "at_draws_set": (c_bool, POINTER(at_tape), c_int64, c_int),
    "at_store_params": (c_int, POINTER(at_tape), c_int),
    "at_npy_save": (c_bool, POINTER(at_tensor), c_char_p),
    "at_npy_load": (POINTER(at_tensor), POINTER(at_tape), c_char_p),
    "at_npy_load_into": (c_bool, POINTER(at_tensor), c_char_p),
    "at_tensors_open": (POINTER(at_tensors), POINTER(at_tape), c_char_p),
    "at_tensors_count": (c_int, POINTER(at_tensors)),
    "at_tensors_name": (c_char_p, POINTER(at_tensors), c_int),
    "at_tensors_shape": (at_shape, POINTER(at_tensors), c_int),
    "at_tensors_dtype": (c_char_p, POINTER(at_tensors), c_int),
    "at_tensors_find": (c_int, POINTER(at_tensors), c_char_p),
    "at_tensors_metadata": (c_char_p, POINTER(at_tensors), c_char_p),
    "at_tensors_metadata_count": (c_int, POINTER(at_tensors)),
    "at_tensors_metadata_key": (c_char_p, POINTER(at_tensors), c_int),
    "at_tensors_load": (POINTER(at_tensor), POINTER(at_tensors), c_char_p),
    "at_tensors_load_into": (c_bool, POINTER(at_tensors), c_char_p, POINTER(at_tensor)),
    "at_tensors_verify": (c_bool, POINTER(at_tensors)),
    "at_tensors_save": (c_bool, POINTER(at_tape), c_char_p, POINTER(POINTER(at_tensor)), c_int,
    at_tensors_save_args),
    "at_model_text": (c_char_p, POINTER(at_tape), at_model_config),
    "at_model_config_of": (c_bool, POINTER(at_tape), c_char_p, POINTER(at_model_config)),
    "at_model_make": (POINTER(at_model), POINTER(at_tape), at_model_config),
    "at_model_share": (POINTER(at_model), POINTER(at_tape), POINTER(at_model)),
    "at_model_logits": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_model), POINTER(at_tensor), at_model_args),
    "at_model_cross_entropy": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_model), POINTER(at_tensor),
    POINTER(at_tensor), at_model_args, at_cross_entropy_args),
    "at_model_linear": (POINTER(at_linear), POINTER(at_model), c_int),
    "at_model_params": (c_ssize_t, POINTER(at_model)),
    "at_model_flop": (c_double, POINTER(at_model), c_int),
    "at_model_cache_make": (at_model_cache, POINTER(at_tape), POINTER(at_model), c_int),
    "at_model_cache_make_as": (at_model_cache, POINTER(at_tape), POINTER(at_model), c_int, c_int),
    "at_model_decode": (POINTER(at_tensor), POINTER(at_tape), POINTER(at_model_cache), POINTER(at_tensor)),
    "at_tokenizer_bytes": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p, c_ssize_t),
    "at_tokenizer_chars": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p, c_ssize_t),
    "at_tokenizer_gpt2": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p, c_char_p),
    "at_tokenizer_train": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p, c_ssize_t, c_int),
    "at_tokenizer_save": (c_bool, POINTER(at_tape), POINTER(at_tokenizer), c_char_p),
    "at_tokenizer_llama2": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p),
    "at_tokenizer_vocab": (c_int, POINTER(at_tokenizer)),
    "at_tokenizer_kind": (c_char_p, POINTER(at_tokenizer)),
    "at_token_bytes": (POINTER(c_char), POINTER(at_tokenizer), c_int, POINTER(c_int)),
    "at_tokenizer_find": (c_int, POINTER(at_tokenizer), c_char_p, c_ssize_t),
    "at_encode": (POINTER(c_int32), POINTER(at_tape), POINTER(at_tokenizer), c_char_p, c_ssize_t,
    POINTER(c_ssize_t)),
    "at_decode": (POINTER(c_char), POINTER(at_tape), POINTER(at_tokenizer), POINTER(c_int32), c_ssize_t,
    POINTER(c_ssize_t)),
    "at_tokenizer_text": (c_char_p, POINTER(at_tape), POINTER(at_tokenizer)),
    "at_tokenizer_of_text": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p),
    "at_save": (c_bool, POINTER(at_tape), c_char_p, at_part_args),
    "at_load": (c_bool, POINTER(at_tape), c_char_p, at_part_args),
    "at_model_open": (POINTER(at_model), POINTER(at_tape), c_char_p),
    "at_tokenizer_open": (POINTER(at_tokenizer), POINTER(at_tape), c_char_p),
    "at_model_open_mapped": (POINTER(at_model), POINTER(at_tape), c_char_p),
    "at_data_text": (POINTER(at_data), POINTER(at_tape), at_data_args),
    "at_data_ids": (POINTER(at_data), POINTER(at_tape), POINTER(c_int32), c_ssize_t, at_data_args),
    "at_data_file": (POINTER(at_data), POINTER(at_tape), c_char_p, at_data_args),
    "at_data_arrays": (POINTER(at_data), POINTER(at_tape), POINTER(at_tensor), POINTER(at_tensor), at_data_args),
    "at_data_sequences": (POINTER(at_data), POINTER(at_tape), POINTER(c_int32), POINTER(c_int), c_int,
    at_data_args),
    "at_vocab": (c_int, POINTER(at_data)),
    "at_data_tokenizer": (POINTER(at_tokenizer), POINTER(at_data)),
    "at_data_count": (c_ssize_t, POINTER(at_data), c_int),
    "at_data_bytes_per_id": (c_double, POINTER(at_tape), POINTER(at_data), c_int),
    "at_data_fingerprint": (c_uint64, POINTER(at_data)),
    "at_data_description": (c_char_p, POINTER(at_data)),
    "at_data_batch": (at_batch, POINTER(at_tape), POINTER(at_data), at_batch_args),
    "at_data_read": (c_bool, POINTER(at_tape), POINTER(at_data), c_int, c_ssize_t, c_ssize_t, POINTER(c_int32)),
    "at_data_windows": (c_ssize_t, POINTER(at_data), c_int, c_int),
    "at_model_config_json": (c_bool, POINTER(at_tape), c_char_p, POINTER(at_model_config)),
    "at_model_import": (c_bool, POINTER(at_tape), POINTER(at_model), POINTER(at_tensors)),
    "at_linear_lora": (c_bool, POINTER(at_tape), POINTER(at_linear), at_lora_args),
    "at_linear_merge": (c_bool, POINTER(at_tape), POINTER(at_linear)),
    "at_model_lora": (c_int, POINTER(at_tape), POINTER(at_model), at_lora_args),
    "at_model_lora_merge": (c_int, POINTER(at_tape), POINTER(at_model)),
    "at_model_export": (c_bool, POINTER(at_tape), POINTER(at_model), c_char_p, at_export_args),
    "at_model_lora_export": (c_bool, POINTER(at_tape), POINTER(at_model), c_char_p, at_export_args),
    "at_model_lora_import": (c_int, POINTER(at_tape), POINTER(at_model), c_char_p),
    "at_writer_open": (POINTER(at_writer), POINTER(at_tape), POINTER(at_model), at_writer_args),
    "at_writer_feed": (c_bool, POINTER(at_writer), POINTER(c_int32), c_ssize_t),
    "at_writer_feed_text": (c_bool, POINTER(at_writer), c_char_p),
    "at_writer_next": (c_int, POINTER(at_writer)),
    "at_model_loss": (c_double, POINTER(at_tape), POINTER(at_model), POINTER(at_data), at_eval_args),
    "at_generate": (c_int, POINTER(at_tape), POINTER(at_model), POINTER(at_data), at_generate_args, c_void_p),
    "at_terminal_of": (at_terminal, c_void_p),
    "at_progress_start": (at_progress, c_void_p, c_char_p, c_ssize_t),
    "at_progress_step": (None, POINTER(at_progress), c_ssize_t, c_char_p),
    "at_progress_clear": (None, POINTER(at_progress)),
    "at_progress_end": (None, POINTER(at_progress)),
    "at_run_open": (POINTER(at_run), POINTER(at_tape), c_char_p, at_run_args),
    "at_run_next": (c_bool, POINTER(at_run)),
    "at_run_step": (c_int, POINTER(at_run)),
    "at_run_every": (c_bool, POINTER(at_run), c_int),
    "at_run_next_micro": (c_bool, POINTER(at_run)),
    "at_run_micro": (c_int, POINTER(at_run)),
    "at_run_log": (c_bool, POINTER(at_run), c_char_p, c_double),
    "at_run_best": (c_bool, POINTER(at_run), c_double),
    "at_run_best_value": (c_double, POINTER(at_run)),
    "at_run_best_step": (c_int, POINTER(at_run)),
    "at_run_stop": (None, POINTER(at_run)),
    "at_run_finished": (c_bool, POINTER(at_run)),
    "at_run_close": (c_int, POINTER(at_run)),
    "at_sample": (c_int, POINTER(at_tensor), c_ssize_t, c_int, at_sample_args, at_stream, c_uint64),
    "at_sample_row": (c_int, POINTER(at_tensor), c_ssize_t, at_sample_args, at_stream, c_uint64),
}
# ---- end of what generate.py writes


# ---- the library ----

def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libattic.dylib" if sys.platform == "darwin" else "libattic.so"
    built = sorted(glob.glob(os.path.join(here, "..", "build", "*-release", name)), key=os.path.getmtime, reverse=True)
    places = [os.getenv("ATTIC_LIBRARY"), *glob.glob(os.path.join(here, name)), *built, name]
    path = next(filter(None, places))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"attic.py: {error}; ATTIC_LIBRARY may say where {name} is") from None
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        globals()[name] = function
    if at_version().decode() != VERSION:
        raise ImportError(f"attic.py is for attic {VERSION}, but {path} is {at_version().decode()}")
    return library


LIBRARY = _load()


def shape(*dims):
    return at_shape(len(dims), dims[:at_shape.dim.size // 4])  # of more the function says that they are too many


def text_of(printer, *arguments):
    """What a function of attic prints to the FILE * that is its last argument: text_of(at_print, x)."""
    text, size = c_void_p(), c_size_t()
    LIBRARY.open_memstream.restype = c_void_p
    stream = c_void_p(LIBRARY.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    printer(*arguments, stream)
    LIBRARY.fclose(stream)
    printed = ctypes.string_at(text, size.value).decode()
    LIBRARY.free(text)
    return printed


# ---- is a gradient right? ----

class GradientError(AssertionError):
    """What Report.raise_if_wrong raises: the report, in words."""


class Report:
    """What a check has found.  verdict is "PASS", "WRONG" or another of docs/gradient_checking.md; all fields of
    at_gradcheck_report are here by their names (reason, diagnosis, error, resolution, where ...).  elements["k"] has,
    in the shape of k, for each element the fields a (what backward says), n (differences), bound, e and verdict."""

    def __init__(self, c):
        self.c, self.verdict, self.remarks, self.elements = c, at_verdict_text(c.verdict).decode(), "", {}

    @property
    def status(self):
        """For sys.exit: that of at_verdict_status (0 is PASS, 2 undecided), 1 for CRASHED, 3 for TIMED-OUT."""
        return {"CRASHED": 1, "TIMED-OUT": 3}.get(self.verdict) or at_verdict_status(self.c.verdict)

    def __getattr__(self, field):
        if field.startswith("__"):
            raise AttributeError(field)  # pickle asks for some before there is a c
        value = getattr(self.c, field)
        return value.decode() if isinstance(value, bytes) else value

    def __str__(self):
        ended = self.verdict in ("CRASHED", "TIMED-OUT")
        text = f"{self.verdict}: {self.reason}" if ended else text_of(at_gradcheck_print, self.c).rstrip()
        return text + self.remarks

    def raise_if_wrong(self, strict=False):
        """Raises GradientError unless the verdict is PASS or undecided; strict: unless it is PASS."""
        if self.status not in ((0,) if strict else (0, 2)):
            raise GradientError(str(self))
        return self


FORWARD, BACKWARD, OTHER_LAYOUT = 1, 2, 3
PHASES = "between two calls", "in forward", "in backward", "in backward of a dy that is not packed"


def _layouts(dy):
    """How, which values, offset and strides in elements: arrays of the shape of dy that are not packed."""
    packed = [s // dy.itemsize for s in dy.strides]
    yield "offset by one element", dy, 1, packed
    yield "strided", dy, 0, [2 * s for s in packed]
    yield "expanded", np.broadcast_to(dy.dtype.type(1), dy.shape), 0, [0] * dy.ndim
    if dy.ndim > 1:
        yield "expanded along its first axis", np.broadcast_to(dy[:1], dy.shape), 0, [0] + packed[1:]
        yield "transposed", dy, 0, [s // dy.itemsize for s in np.asfortranarray(dy).strides]


class _Function:
    """f and vjp as at_gradcheck_fn calls them.  What they raise waits here until C has returned."""
    writeable, has_layouts = False, True

    def __init__(self, f, vjp, names, arrays):
        self.f, self.vjp, self.names, self.arrays = f, vjp, names, arrays
        self.varied = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]  # what has a gradient
        types = {arrays[i].dtype for i in self.varied}
        if types not in ({np.dtype("f4")}, {np.dtype("f8")}):
            raise TypeError(f"inputs must be all float32 or all float64, and what has no gradient integers or bools: "
                            f"these are {', '.join(f'{n} {a.dtype}' for n, a in zip(names, arrays))}")
        self.dtype = types.pop()
        self.error = None
        self.seen = np.frombuffer(mmap.mmap(-1, 16), "i8")  # what runs now, how often anything began or ended; shared
        self.x = np.concatenate([arrays[i].ravel() for i in self.varied])
        self.ends = np.cumsum([arrays[i].size for i in self.varied])  # of each of them in x
        for a in arrays:
            a.flags.writeable = False

    def inputs(self, x=None):
        """The inputs, in the memory of the vector x: read-only, and what writes there nevertheless is noticed in C."""
        x = self.x.copy() if x is None else x
        x.flags.writeable = self.writeable
        inputs, at = list(self.arrays), 0
        for i in self.varied:
            size = inputs[i].size
            inputs[i] = x[at:at + size].reshape(inputs[i].shape)
            at += size
        return inputs

    @contextlib.contextmanager
    def inside(self, phase):
        """For who watches the process that this is."""
        self.seen += [phase, 1]
        try:
            yield
        finally:
            self.seen += [-phase, 1]

    def run(self, function, out, *vectors):
        """What function gives, written to out, with the vectors (pointer, count) as arrays."""
        out = np.ctypeslib.as_array(*out)
        try:
            if self.error is None:
                out[...] = function(*(np.ctypeslib.as_array(*v) for v in vectors))
                return
        except BaseException as error:  # also an interrupt: C must return first
            self.error = error
        out[...] = np.nan

    def forward(self, x):
        with self.inside(FORWARD):
            y = np.asarray(self.f(*self.inputs(x)))
        if y.shape != self.shape:
            raise ValueError(f"f gives {list(y.shape)}, but has given {list(self.shape)}")
        return y.ravel()

    def in_double(self, x):
        y = self.of_twin(self.inputs(x))
        if y.shape != self.shape:
            raise ValueError(f"twin gives {list(y.shape)}, but f {list(self.shape)}")
        return y.ravel()

    def of_twin(self, arrays):
        return np.asarray(self.twin(*arrays))

    def backward(self, x, dy):
        dy.flags.writeable = self.writeable
        return self.gradient(BACKWARD, dy.reshape(self.shape), self.inputs(x))

    def gradient(self, phase, dy, inputs=None):
        with self.inside(phase):
            gradients = self.vjp(dy, *(inputs or self.inputs()))
        return self.flat(gradients)

    def flat(self, gradients):
        """The gradients as one vector.  None is 0; inputs without gradients may have a None or be left out."""
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        if len(gradients) == len(self.arrays):
            gradients = [gradients[i] for i in self.varied]
        if len(gradients) != len(self.varied):
            raise ValueError(f"vjp gives {len(gradients)} gradients of {len(self.varied)} inputs")
        parts = []
        for i, gradient in zip(self.varied, gradients):
            x = self.arrays[i]
            dx = np.zeros(x.shape, x.dtype) if gradient is None else np.asarray(gradient)
            if dx.shape != x.shape:
                raise ValueError(f"vjp gives d{self.names[i]} {list(dx.shape)} of {self.names[i]} {list(x.shape)}")
            parts.append(dx.ravel())
        return np.concatenate(parts)

    def check(self, options):
        sizes, self.twin = options.pop("sizes", {}), options.pop("twin", None)
        sizes = (at_gradcheck_size * (len(sizes) + 1))(*((name.encode(), value) for name, value in sizes.items()))
        with self.inside(FORWARD):
            self.shape = np.shape(self.f(*self.inputs()))
        n, m = self.x.size, int(np.prod(self.shape))
        parts = (at_gradcheck_part * (len(self.varied) + 1))()
        for part, i in zip(parts, self.varied):
            a = self.arrays[i]
            part.name, part.count, part.shape = self.names[i].encode(), a.size, shape(*a.shape if a.ndim <= 8 else ())
        elements = np.full(n, np.nan, [("a", "f8"), ("n", "f8"), ("bound", "f8"), ("e", "f8"), ("verdict", "f8")])

        def each(element, _):
            e = element.contents
            elements[e.i] = e.a, e.n, e.bound, e.e, e.verdict
        single = self.dtype == np.dtype("f4")
        forward_type, vjp_type, check = (at_forward_fn_f32, at_vjp_fn_f32, at_gradcheck_fn_f32) if single else \
            (at_forward_fn, at_vjp_fn, at_gradcheck_fn)
        forward = forward_type(lambda x, y, _: self.run(self.forward, (y, (m,)), (x, (n,))))
        if self.twin:
            options["twin"] = at_forward_fn(lambda x, y, _: self.run(self.in_double, (y, (m,)), (x, (n,))))
        backward = vjp_type(lambda x, dy, dx, _: self.run(self.backward, (dx, (n,)), (x, (n,)), (dy, (m,))))
        c = check(forward, backward, n, m, self.x.ctypes.data_as(POINTER(c_float if single else c_double)), None,
                  at_gradcheck_options(parts=parts, sizes=sizes, each=at_gradcheck_each_fn(each), **options))
        if self.error is not None:
            raise self.error
        report = Report(c)
        for i, part in zip(self.varied, np.split(elements, self.ends)):
            report.elements[self.names[i]] = part.reshape(self.arrays[i].shape)
        return self.check_layouts(report)

    def placed(self, storage, offset, strides):
        """The array of the shape of dy that has this place in the storage."""
        return np.lib.stride_tricks.as_strided(storage[offset:], self.shape, [s * storage.itemsize for s in strides])

    def check_layouts(self, report):
        """The gradient must be the same, however dy lies in memory.  What is between its elements is NaN here."""
        dy = np.random.default_rng(report.seed).standard_normal(self.shape).astype(self.dtype)
        if dy.size < 2 or not self.has_layouts or report.verdict in ("WRONG", "RACE", "NOT-RUN"):
            return report
        usual = abs(self.gradient(BACKWARD, dy))
        largest = np.concatenate([np.full_like(part, part.max(initial=0)) for part in np.split(usual, self.ends[:-1])])
        rounding = (1e-4 if report.real == ATTIC_F32 else 1e-10) * usual.max(initial=0)  # sums may have another order
        for how, values, offset, strides in _layouts(dy):
            storage = np.full(offset + 1 + sum(s * (n - 1) for s, n in zip(strides, self.shape)), np.nan, self.dtype)
            _Function.placed(self, storage, offset, strides)[...] = values
            right = self.gradient(BACKWARD, np.array(values, order="C"))
            try:
                found = self.gradient(OTHER_LAYOUT, self.placed(storage, offset, strides))
            except Exception as error:  # who says so cannot be wrong
                report.remarks += f"\n    a dy that is {how} is refused: {error!r}"
                continue
            wrong = np.flatnonzero(~(abs(found - right) <= 0.01 * largest + rounding) & np.isfinite(right))
            if wrong.size:
                return self.layout_report(report, how, wrong[0], found, right)
        return report

    def layout_report(self, report, how, at, found, right):
        part = np.searchsorted(self.ends, at, "right")
        i = self.varied[part]
        index = np.unravel_index(at - (self.ends[part] - self.arrays[i].size), self.arrays[i].shape)
        c, report.verdict = report.c, "WRONG"
        c.verdict, c.checked, c.analytic, c.numeric = ATTIC_WRONG, 0, found[at], right[at]
        c.reason = f"backward gives another gradient where dy is {how} than where it is packed".encode()
        c.where = f'"{self.names[i]}" at [{",".join(map(str, index))}]'.encode()[:119]
        return report


class _TorchFunction(_Function):
    """A function of PyTorch, on the devices of its tensors; its gradient is that of autograd."""
    writeable = True  # PyTorch has no read-only tensors: on a CPU, what is written is noticed in C

    def __init__(self, f, names, tensors):
        self.of_tensors, self.devices = f, [t.device for t in tensors]
        super().__init__(lambda *arrays: self.to_numpy(self.apply(arrays)[1]), self.autograd, names,
                         [t.detach().cpu().numpy().copy() for t in tensors])

    @staticmethod
    def to_numpy(tensor):
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.element_size() < 4 else tensor).numpy()  # NumPy has no bfloat16

    def apply(self, arrays):
        from torch import from_numpy
        arrays = [a if a.flags.writeable else a.copy() for a in arrays]
        tensors = [from_numpy(a).to(device) for a, device in zip(arrays, self.devices)]
        for i in self.varied:
            tensors[i].requires_grad_()
        y = self.of_tensors(*tensors)
        if not hasattr(y, "dtype"):
            raise TypeError(f"f gives {type(y).__name__}, and should give one tensor")
        self.like_y = dict(device=y.device, dtype=y.dtype)
        return tensors, y

    def of_twin(self, arrays):
        from torch import from_numpy
        return self.to_numpy(self.twin(*(from_numpy(a.copy()).to(d) for a, d in zip(arrays, self.devices))))

    def autograd(self, dy, *arrays):
        import torch
        tensors, y = self.apply(arrays)
        dy = torch.from_numpy(dy).to(**self.like_y) if isinstance(dy, np.ndarray) else dy
        gradients = torch.autograd.grad(y, [tensors[i] for i in self.varied], dy, allow_unused=True)
        return [None if dx is None else self.to_numpy(dx) for dx in gradients]

    def placed(self, storage, offset, strides):
        from torch import from_numpy
        return from_numpy(storage).to(**self.like_y).as_strided(self.shape, strides, offset)


def _reason_not_to_fork():
    torch = sys.modules.get("torch")
    if not hasattr(os, "fork"):
        return "there is no fork on this system"
    if "cupy" in sys.modules or torch and torch.cuda.is_initialized():
        return "a process that uses CUDA can't fork"
    return "a process that uses JAX can't fork" if "jax" in sys.modules else ""


def _answer_of_child(function, options):
    """In the child: the report, or what was raised, as bytes."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # the threads of its pool have stayed behind
    try:
        return pickle.dumps((function.check(options), None, ""))
    except BaseException as error:
        text = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(repr(error))
        return pickle.dumps((None, error, text))


def _flush():
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    LIBRARY.fflush(None)


def _ended(verdict, reason, function):
    report = Report(at_gradcheck_report())
    report.verdict, report.c.reason = verdict, f"{reason} {PHASES[function.seen[0]]}".encode()
    return report


def _check_in_child(function, options, timeout):
    reader, writer = os.pipe()
    _flush()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(_answer_of_child(function, options))
            _flush()
        finally:
            os._exit(0)
    os.close(writer)
    answer, status, moved, since = b"", None, 0, time.monotonic()
    try:
        while True:
            if select.select([reader], [], [], 0.05)[0]:
                part = os.read(reader, 1 << 16)
                if not part:
                    break
                answer += part
            elif status is not None:
                break  # it has ended, and processes that it has started keep the pipe open
            elif function.seen[1] != moved or not function.seen[0]:
                moved, since = function.seen[1], time.monotonic()
            elif timeout and time.monotonic() - since > timeout:
                return _ended("TIMED-OUT", f"after {timeout} s", function)
            if status is None:
                ended, code = os.waitpid(child, os.WNOHANG)
                status = code if ended else None
    finally:
        os.close(reader)
        if status is None:
            if not answer:
                os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
    if not answer:
        code = os.waitstatus_to_exitcode(status)
        reason = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"it exits with status {code}"
        return _ended("CRASHED", reason, function)
    report, error, text = pickle.loads(answer)
    if error is not None:
        raise error from RuntimeError("in the child process:\n" + text)
    return report


def _sorted_out(arrays, named):
    """Names, arrays and options of a call of check(array, ..., name=array, ..., option=value)."""
    ours = "parts", "each", "each_ctx"
    options = {name: named.pop(name) for name, _ in at_gradcheck_options._fields_ if name in named and name not in ours}
    return [f"input {i}" for i in range(len(arrays))] + list(named), [*arrays, *named.values()], options


def _checked(function, options, isolate, timeout):
    reason = _reason_not_to_fork()
    if isolate and reason:
        raise RuntimeError(f"isolate=True, but {reason}")
    if isolate is not False and not reason:
        return _check_in_child(function, options, timeout)
    report = function.check(options)
    report.remarks += "" if isolate is False else f"\n    not in a process of its own: {reason}"
    return report


def check(f, vjp, *arrays, isolate=None, timeout=60, **named):
    """Is vjp the gradient of f at these arrays?

        report = check(f, vjp, Q, K, V)             or  check(f, vjp, q=Q, k=K, v=V): the report has the names
        f(q, k, v) -> y                             an array
        vjp(dy, q, k, v) -> (dq, dk, dv)            one for each input; dy has the shape of y

    Named arrays are passed by place, in the order that they have here.  float32 and float64 arrays are varied, by
    their own type; arrays of integers and bools are passed on as they are, and vjp may give None for them or leave
    them out.  Nothing is raised for a wrong gradient, but what f and vjp raise.

    isolate: f and vjp run in a child process, so that a crash is a verdict (CRASHED: signal 11 in backward), and so is
    a call that takes more than `timeout` seconds (TIMED-OUT).  What they change in Python is lost with the child.
    None isolates where that can be: not beside CUDA and JAX, which can't fork; then the report says so.

    Afterwards vjp gets a dy that is strided, transposed, expanded (with strides of 0) or begins one element later: a
    vjp that takes it for packed is WRONG; one that raises an error refuses it, as the report says.

    twin: f once more, in float64 throughout.  Differences are then taken of it, with all digits; it must be f up to
    rounding, else the verdict is MISMATCH.  check_torch gives it tensors.

    All options of at_gradcheck_options are taken: directions=8 checks 8 random directions in place of every element;
    sizes={"D": 5, "p": 0.25} names numbers that f computes with, by which a wrong factor is then named.
    """
    names, arrays, options = _sorted_out(arrays, named)
    function = _Function(f, vjp, names, [np.array(a, order="C") for a in arrays])
    return _checked(function, options, isolate, timeout)


def check_torch(f, *tensors, isolate=None, timeout=60, **named):
    """Is the gradient that autograd computes of f right?  check_torch(MyFunction.apply, q=q, k=k): as check, with
    tensors.  So whatever is behind a torch.autograd.Function is checked, kernels of CUDA and Triton too, on the device
    of the tensors.  Where f computes in bfloat16, give float32 and let f convert it; and a twin."""
    names, tensors, options = _sorted_out(tensors, named)
    return _checked(_TorchFunction(f, names, tensors), options, isolate, timeout)


def check_jax(f, *arrays, isolate=None, timeout=60, **named):
    """Is the gradient that jax.vjp computes of f right, by a jax.custom_vjp or another rule?  As check, with arrays of
    JAX or NumPy.  JAX computes in float32 unless its option jax_enable_x64 is set."""
    import jax
    names, arrays, options = _sorted_out(arrays, named)

    def vjp(dy, *inputs):
        def of_varied(*varied):
            given = list(inputs)
            for i, value in zip(function.varied, varied):
                given[i] = value
            return f(*given)
        y, pull_back = jax.vjp(of_varied, *(inputs[i] for i in function.varied))
        return pull_back(dy.astype(y.dtype))
    function = _Function(f, vjp, names, [np.array(a, order="C") for a in arrays])
    function.has_layouts = False  # an array of JAX is packed
    return _checked(function, options, isolate, timeout)


if "pytest" in sys.modules:  # which loads this file as a plugin: pytest_plugins = ["attic"] in conftest.py
    @sys.modules["pytest"].fixture(name="gradcheck")
    def _gradcheck_fixture():
        """gradcheck(f, vjp, x, ...): fails the test unless attic.check says PASS; strict=False: or is undecided.
        gradcheck.torch and gradcheck.jax are the same for check_torch and check_jax."""
        def passes(checker):
            return lambda *a, strict=True, **named: checker(*a, **named).raise_if_wrong(strict)
        gradcheck = passes(check)
        gradcheck.torch, gradcheck.jax = passes(check_torch), passes(check_jax)
        return gradcheck


# ---- tensors, ops, training ----

class Error(RuntimeError):
    """What the tape says was wrong, with the numbers."""


def _raise_error_of(t):
    message = "" if at_ok(t) else at_error(t).decode()
    at_clear_error(t)
    if message:
        raise Error(message)


def array(x):
    """The numbers of a tensor, as an array of NumPy that owns them."""
    kind, dims = x.contents.dtype, x.contents.shape.dim[:x.contents.shape.ndim]
    name = {ATTIC_F64: "f8", ATTIC_I32: "i4", ATTIC_BOOL: "?"}.get(kind, "f4")
    numbers = np.empty(dims, "i8" if kind == ATTIC_I32 else "f8")
    if kind == ATTIC_I32:
        at_read_i64(x, numbers.ctypes.data_as(POINTER(c_int64)), numbers.size)
    elif kind in (ATTIC_F32, ATTIC_F64):
        at_read_f64(x, numbers.ctypes.data_as(POINTER(c_double)), numbers.size)
    else:
        numbers.flat = [at_element(x, i) for i in range(numbers.size)]
    _raise_error_of(x.contents.tape)
    return numbers.astype(name)


class Tape:
    """A tape, with the functions of the headers: of t = Tape(), t.softmax_over(x, 0) is at_softmax_over(t, x, 0).

        with attic.Tape(seed=1) as t:
            W = t.param("W", (2, 3), attic.at_xavier_normal(1))
            y = t.sdpa(q, k, v, causal=True)         the fields of at_sdpa_args by their names
            print(attic.array(t.softmax(y)))

    Where C takes a tensor, an array of NumPy will do (a constant); a shape is a tuple, an array of C a list or an
    array of its type.  An error of the tape is raised as attic.Error, and the tape goes on.  Tensors, models and all
    else belong to the tape: they end with it, and those of a step with the step."""

    def __init__(self, real=ATTIC_F32, seed=1):
        self.tape = at_open(real, seed)
        _raise_error_of(self.tape)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        at_close(self.tape)
        self.tape = None

    @contextlib.contextmanager
    def step(self):
        """with t.step(): what is computed there is freed at its end; parameters stay."""
        mark = self.mark_here()
        try:
            yield
        finally:
            self.rewind(mark)

    def tensor(self, numbers):
        """A constant: an array of floats has the type of the tape, of integers i32."""
        numbers = np.array(numbers, order="C")
        if numbers.dtype == bool:
            return self.bools(numbers.shape, numbers)
        if numbers.dtype.kind not in "fiu":
            raise TypeError(f"a tensor can't hold {numbers.dtype}")
        if numbers.dtype.kind == "f":
            x, wide = self.blank(ATTIC_REAL, numbers.shape), numbers.astype("f8")
            at_write_f64(x, wide.ctypes.data_as(POINTER(c_double)), wide.size)
        else:
            if numbers.dtype == np.uint64:  # what no int64 holds is too large for i32 in any case
                numbers = np.minimum(numbers, np.uint64(2**63 - 1))
            x, wide = self.blank(ATTIC_I32, numbers.shape), numbers.astype("i8")
            at_write_i64(x, wide.ctypes.data_as(POINTER(c_int64)), wide.size)
        _raise_error_of(self.tape)
        return x

    def __getattr__(self, name):
        function = globals().get("at_" + name)
        arguments = getattr(function, "argtypes", None) or [None]
        if arguments[0] is not POINTER(at_tape):
            raise AttributeError(f"attic has no at_{name}(at_tape *t, ...)")

        def call(*values, **fields):
            values = list(values)
            given = [self._argument(kind, values, fields) for kind in arguments[1:]]
            if values or fields:
                raise TypeError(f"at_{name} takes no {', '.join(fields) or 'more than ' + str(len(given))}")
            result = function(self.tape, *given)
            _raise_error_of(self.tape)
            return result
        return call

    def _argument(self, kind, values, fields):
        """The next argument: the next of the values, or a struct of the fields that are its own."""
        if issubclass(kind, Structure) and kind is not at_shape and not (values and isinstance(values[0], kind)):
            own = {name: type for name, type in kind._fields_ if name in fields}
            return kind(**{name: self._converted(type, fields.pop(name)) for name, type in own.items()})
        if not values:
            raise TypeError(f"an argument is missing: {kind.__name__}")
        return self._converted(kind, values.pop(0))

    def _converted(self, kind, value):
        if isinstance(value, str) and kind is c_char_p:
            return value.encode()
        if kind is at_shape and not isinstance(value, at_shape):
            return shape(value) if isinstance(value, int) else shape(*value)
        if kind is POINTER(at_tensor) and isinstance(value, (np.ndarray, np.generic, list, float)):
            return self.tensor(value)
        element = getattr(kind, "_type_", None)
        if isinstance(value, np.ndarray) and hasattr(kind, "contents"):
            if value.dtype != np.dtype(element) or not value.flags.c_contiguous:
                raise TypeError(f"C needs a packed array of {element.__name__}, not of {value.dtype}")
            return value.ctypes.data_as(kind)
        return (element * len(value))(*value) if isinstance(value, list) and hasattr(kind, "contents") else value
