/* steps_text.c -- what is said about each matrix of an attention; see steps.h.
 *
 *     name, step, formula, sentence, gradient_of, question, answer
 *
 * The question asks for the sign of one element, which "it" and "this" mean; the answer says what
 * decides the sign.  The order is that of the computation. */
#include "steps.h"

const char *const steps_names[9] = {"given", "scores",  "scale",   "softcap", "bias",
                                    "mask",  "softmax", "dropout", "values"};

#define GIVEN(name, formula, sentence)                                                             \
    {                                                                                              \
        name, 0, formula, sentence, STEPS_COUNT, NULL, NULL                                        \
    }
#define LOSS " does the loss rise (+), fall (-) or stay (0)?"

const steps_text steps_texts[STEPS_COUNT] = {
    [STEPS_Q] = GIVEN("Q", "given", "A query in each row: what it looks for."),
    [STEPS_K] = GIVEN("K", "given", "A key in each row: what it is found by."),
    [STEPS_V] = GIVEN("V", "given", "A value in each row: what is read where its key is found."),
    [STEPS_BIAS] = GIVEN("bias", "given", "A number that is added to each score."),
    [STEPS_KEEP] = GIVEN("keep", "given", "1 where row i attends to key j."),
    [STEPS_Z] = GIVEN("z", "z_ij = 0 with probability p, else 1/(1-p)",
                      "The factors of dropout; the backward uses the ones that the forward used."),
    [STEPS_R] = {"R", 1, "R_ij = Q_i . K_j", "A score says how well query i and key j match.",
                 STEPS_COUNT, "Is this score positive (+), negative (-) or 0?",
                 "The score is a dot product: elements of equal sign add to it, elements of "
                 "opposite sign subtract from it."},
    [STEPS_X] = {"X", 2, "X_ij = c R_ij",
                 "The scale keeps the scores from growing with D, the number of elements of a key.",
                 STEPS_COUNT, "Is this score positive (+), negative (-) or 0 after the scale?",
                 "The scale keeps the sign where c is positive, and changes it where c is "
                 "negative."},
    [STEPS_U] = {"U", 3, "U_ij = cap tanh(X_ij / cap)",
                 "The softcap bounds the scores to (-cap, cap).", STEPS_COUNT,
                 "Is this score positive (+), negative (-) or 0 after the softcap?",
                 "tanh has the sign of its argument."},
    [STEPS_S] = {"S", 4, "S_ij = U_ij + bias_ij",
                 "S enters the softmax, where row i attends to key j.", STEPS_COUNT,
                 "Is this score positive (+), negative (-) or 0 as it enters the softmax?",
                 "The bias is added to the score, and can change its sign."},
    [STEPS_P] = {"P", 6, "P_ij = exp(S_ij) / sum_k exp(S_ik)",
                 "Each row is a probability distribution over the keys that it attends to.",
                 STEPS_COUNT, "Is this probability positive (+) or 0?",
                 "exp is positive for every score: only what is masked has the probability 0."},
    [STEPS_A] = {"A", 7, "A_ij = z_ij P_ij",
                 "Dropout sets some weights to 0 and makes the others larger.", STEPS_COUNT,
                 "Is this weight positive (+) or 0?",
                 "A weight is 0 where it is dropped or masked, and positive elsewhere."},
    [STEPS_O] = {"O", 8, "O_i = sum_j A_ij V_j",
                 "Each output is a sum of values, each multiplied by its weight.", STEPS_COUNT,
                 "Is this element of the output positive (+), negative (-) or 0?",
                 "The output is a sum of values: the keys with large weights decide."},
    [STEPS_DO] =
        {"dO", 0, "given",
         "How the loss changes with each element of the output: the upstream gradient (cotangent).",
         STEPS_O, NULL, NULL},
    [STEPS_DW] = {"dW", 0, "given", "How the loss changes with each weight that is an output.",
                  STEPS_COUNT, NULL, NULL},
    [STEPS_DV] =
        {"dV", 8, "dV_j = sum_i A_ij dO_i",
         "The gradient of a value is a sum over the queries that read it.", STEPS_V,
         "If this element of the value rises a little," LOSS,
         "Each query reads the value with a weight A_ij, which is never negative: so dO of "
         "the queries with large weights decides."},
    [STEPS_DA] =
        {"dA", 8, "dA_ij = dO_i . V_j (+ dW_ij)",
         "Where dA_ij is positive, more of value j in output i raises the loss.", STEPS_A,
         "If this weight rises a little, and no other," LOSS,
         "More of value j is added to output i, and the loss changes by dO_i times what is "
         "added: by dO_i . V_j."},
    [STEPS_DP] = {"dP", 7, "dP_ij = z_ij dA_ij",
                  "Where a weight was dropped, dP is 0; the factors are those of the forward.",
                  STEPS_P, "If this probability rises a little, and no other," LOSS,
                  "z is 0 where the weight was dropped; elsewhere it is positive, and dP has the "
                  "sign of dA."},
    [STEPS_DELTA] = {"delta", 6, "delta_i = sum_j P_ij dP_ij = dO_i . O_i (+ sum_j A_ij dW_ij)",
                     "delta is the mean of a row of dP under P: one number for each row.",
                     STEPS_COUNT,
                     "If all probabilities of this row grow by the same small factor," LOSS,
                     "delta is the mean of the row of dP, weighted by P: the keys with large "
                     "probabilities decide."},
    [STEPS_DS] =
        {"dS", 6, "dS_ij = P_ij (dP_ij - delta_i)",
         "A higher score raises the loss where dP lies above delta, the mean of its row.  Each row "
         "of dS sums to 0: raising all scores of a row alike changes no probability.",
         STEPS_S, "If this score rises a little," LOSS,
         "The key takes probability from all others of its row.  So the loss rises if dP of "
         "this key lies above delta, the mean of its row, and falls if it lies below."},
    [STEPS_DBIAS] = {"dbias", 4, "dbias = dS, summed where bias was broadcast",
                     "An element of the bias gets the sum over all scores that it was added to.",
                     STEPS_BIAS, "If this element of the bias rises a little," LOSS,
                     "Every score to which it was added rises with it: the sum of their dS "
                     "decides."},
    [STEPS_DU] = {"dU", 4, "dU_ij = dS_ij", "The bias is added: the gradient passes unchanged.",
                  STEPS_U, "If this score rises a little before the bias is added," LOSS,
                  "S rises as much as U does: dU has the sign of dS."},
    [STEPS_DX] = {"dX", 3, "dX_ij = dU_ij (1 - (U_ij / cap)^2)",
                  "The slope of the softcap is 1 - (U / cap)^2: near the cap, X hardly moves U.",
                  STEPS_X, "If this score rises a little before the softcap," LOSS,
                  "The slope of the softcap is 1 where X is 0, and lies between 0 and 1 elsewhere: "
                  "dX has the sign of dU, and is not larger."},
    [STEPS_DR] = {"dR", 2, "dR_ij = c dX_ij",
                  "The scale multiplies the gradient as it multiplied the score.", STEPS_R,
                  "If this score rises a little before the scale," LOSS,
                  "X moves c times as far as R: dR has the sign of c dX."},
    [STEPS_DQ] =
        {"dQ", 1, "dQ_i = sum_j dR_ij K_j", "The gradient of a query is a sum of keys.", STEPS_Q,
         "If this element of the query rises a little," LOSS,
         "Each score of the query moves by the same element of its key: the keys with large "
         "dR decide."},
    [STEPS_DK] = {"dK", 1, "dK_j = sum_i dR_ij Q_i", "The gradient of a key is a sum of queries.",
                  STEPS_K, "If this element of the key rises a little," LOSS,
                  "Each score of the key moves by the same element of its query: the queries with "
                  "large dR decide."},
};
