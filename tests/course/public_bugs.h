/* public_bugs.h -- ten wrong backwards of attention that were reported in public, rebuilt from what
 * the reports say; no code of theirs is here.  tests/course/judged.csv says what is found in each.
 *
 *     deeplearning4j/libnd4j#440       softmax: the diagonal P (1 - P) of the Jacobian alone
 *     triton-lang/triton#7216          the causal mask of the forward is not in the backward
 *     triton-lang/triton#4541          the backward is causal, whatever the forward was
 *     flagos-ai/FlagGems#898           dV: the padded rows of a head are stored over the next head
 *     meta-pytorch/MSLK#263            the window is ignored: the backward of full attention
 *     HomericIntelligence/Odyssey#2134 softmax: the sum of P dP is missing
 *     xlite-dev/ffpa-attn#300          the mask of the forward is at the bottom right, that of the
 *                                      backward at the top left
 *     XunhaoLai/native-sparse-attention-triton#27   dQ: dP is summed over D of the Dv elements
 *     huggingface/diffusers#14338      K and V are transposed a second time: [B,T,H,D] memory is
 *                                      read as [B,H,T,D] (as many heads as keys)
 *     flagos-ai/FlagAttention#1        delta is computed as if O and dO were [B,H,T,D] in memory,
 *                                      where they are [B,T,H,D] */
#ifndef ATTIC_TESTS_PUBLIC_BUGS_H
#define ATTIC_TESTS_PUBLIC_BUGS_H
#include "course/given.h"

enum { PUBLIC_BUGS = 10 };
extern const char *const public_bugs[PUBLIC_BUGS]; /* "triton-lang/triton#7216" */

/* A file with the gradients that this bug gives, in float. */
given *public_bug(int bug, uint64_t seed);
#endif
