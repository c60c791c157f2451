/* block_text.c -- what is said about each matrix of a block; see block.h.
 *
 *     name, formula, sentence, gradient_of, question, answer
 *
 * The question asks for the sign of one element, which "it" and "this" mean; the answer says what
 * decides the sign.  The order is that of the computation. */
#include "block.h"

#define GIVEN(name, sentence)                                                                      \
    {                                                                                              \
        name, "given", sentence, BLOCK_COUNT, NULL, NULL                                           \
    }
#define LOSS " does the loss rise (+), fall (-) or stay (0)?"
#define SIGN_OF(what) "Is this element of " what " positive (+), negative (-) or 0?"
#define VOTES "Each token adds its own product to this sum: the tokens with large ones decide."

const block_text block_texts[BLOCK_COUNT] = {
    [BLOCK_X] = GIVEN("X", "A token in each row."),
    [BLOCK_WQ] = GIVEN("W_q", "It makes a query of a token: what the token looks for."),
    [BLOCK_WK] = GIVEN("W_k", "It makes a key of a token: what the token is found by."),
    [BLOCK_WV] = GIVEN("W_v", "It makes a value of a token: what the token gives."),
    [BLOCK_WO] = GIVEN("W_o", "It mixes what the heads have read."),
    [BLOCK_X_RES] = GIVEN("X_res", "X, as it is added to what attention has read."),
    [BLOCK_X_Q] = GIVEN("X_Q", "X, as the queries are computed from it."),
    [BLOCK_X_K] = GIVEN("X_K", "X, as the keys are computed from it."),
    [BLOCK_X_V] = GIVEN("X_V", "X, as the values are computed from it."),
    [BLOCK_Q] = {"Q", "Q = X W_q",
                 "A query for each token and head: columns h D to (h+1) D - 1 belong to head h.",
                 BLOCK_COUNT, SIGN_OF("Q"), "It is a sum of the token's elements, by W_q."},
    [BLOCK_K] = {"K", "K = X W_k",
                 "A key for each token and head; the same token, seen through another matrix.",
                 BLOCK_COUNT, SIGN_OF("K"), "It is a sum of the token's elements, by W_k."},
    [BLOCK_V] = {"V", "V = X W_v", "A value for each token and head: what the token gives.",
                 BLOCK_COUNT, SIGN_OF("V"), "It is a sum of the token's elements, by W_v."},
    [BLOCK_R] = {"R", "R_ij = Q_i . K_j in each head",
                 "In each head, how well the query of token i and the key of token j match.",
                 BLOCK_COUNT, SIGN_OF("R"), "It is the dot product of a query and a key."},
    [BLOCK_S] = {"S", "S_ij = c R_ij where token i attends to token j",
                 "The scores after the scale c, as they enter the softmax.", BLOCK_COUNT,
                 SIGN_OF("S"), "S has the sign of c R."},
    [BLOCK_P] = {"P", "P_ij = exp(S_ij) / sum_k exp(S_ik)",
                 "Each head chooses for itself: a row is its distribution over the tokens.",
                 BLOCK_COUNT, "Is this probability positive (+) or 0?",
                 "exp is positive for every score: only what is masked has the probability 0."},
    [BLOCK_O] = {"O", "O = concat_h(P_h V_h)",
                 "What the heads have read stands side by side again: columns h Dv to (h+1) Dv - 1 "
                 "are those of head h.",
                 BLOCK_COUNT, SIGN_OF("O"),
                 "It is a mean of this head's values, weighted by its row of P."},
    [BLOCK_OW] = {"O W_o", "O W_o", "W_o mixes the heads: each column reads all of them.",
                  BLOCK_COUNT, SIGN_OF("O W_o"),
                  "It is a sum of what the heads have read, by W_o."},
    [BLOCK_Y] = {"Y", "Y = X + O W_o", "The token itself, and what was read, added to it.",
                 BLOCK_COUNT, SIGN_OF("Y"), "It is the sum of X and O W_o."},
    [BLOCK_DY] = {"dY", "given",
                  "How the loss changes with each element of Y: the upstream gradient (cotangent).",
                  BLOCK_Y, NULL, NULL},
    [BLOCK_DO] =
        {"dO", "dO = dY W_o^T",
         "W_o mixed the heads, and its transpose hands each head its part of dY.", BLOCK_O,
         "If this element of O rises a little," LOSS,
         "It reaches each element of Y in its row, by W_o: so a row of W_o times dY decides."},
    [BLOCK_DV] =
        {"dV", "dV_j = sum_i P_ij dO_i in each head",
         "As in a single attention; where heads share a value, their gradients add up.", BLOCK_V,
         "If this element of V rises a little," LOSS,
         "Each token reads the value with a weight P_ij >= 0: dO of those with large weights "
         "decides."},
    [BLOCK_DP] =
        {"dP", "dP_ij = dO_i . V_j in each head",
         "Where dP_ij is positive, more of value j in output i raises the loss. Where token i "
         "does not read token j, P is the constant 0, and dP is written as 0.",
         BLOCK_P, "If this probability rises a little, and no other," LOSS,
         "More of value j is read, and the loss changes by dO_i . V_j."},
    [BLOCK_DELTA] = {"delta", "delta_i = sum_j P_ij dP_ij in each head",
                     "The mean of a row of dP under P: one number for each token and head.",
                     BLOCK_COUNT, "If all probabilities of this row grow by the same factor," LOSS,
                     "delta is the mean of the row of dP, weighted by P."},
    [BLOCK_DS] = {"dS", "dS_ij = P_ij (dP_ij - delta_i)",
                  "A higher score raises the loss where dP lies above delta.", BLOCK_S,
                  "If this score rises a little," LOSS,
                  "The token takes probability from all others of the row: the loss rises if its "
                  "dP lies above delta, and falls if it lies below."},
    [BLOCK_DR] = {"dR", "dR_ij = c dS_ij",
                  "The scale multiplies the gradient as it multiplied the score.", BLOCK_R,
                  "If this score rises a little before the scale," LOSS,
                  "dR has the sign of c dS."},
    [BLOCK_DQ] = {"dQ", "dQ_i = sum_j dR_ij K_j in each head",
                  "The heads' gradients of the queries, side by side again.", BLOCK_Q,
                  "If this element of Q rises a little," LOSS,
                  "Each score of the query moves by the same element of its key: the keys with "
                  "large dR decide."},
    [BLOCK_DK] = {"dK", "dK_j = sum_i dR_ij Q_i in each head",
                  "The same for the keys; where heads share a key, their gradients add up.",
                  BLOCK_K, "If this element of K rises a little," LOSS,
                  "Each score of the key moves by the same element of its query: the queries with "
                  "large dR decide."},
    [BLOCK_DX_RES] = {"dX_res", "dX_res = dY", "What the token passed on unchanged.", BLOCK_X_RES,
                      "If this element of X rises a little in the residual alone," LOSS,
                      "Y rises as much as X does: dX_res is dY."},
    [BLOCK_DX_Q] = {"dX_Q", "dX_Q = dQ W_q^T", "What the token asked for.", BLOCK_X_Q,
                    "If this element of X rises a little, read by the queries alone," LOSS,
                    "It moves every element of its query, by a row of W_q: that row times dQ."},
    [BLOCK_DX_K] = {"dX_K", "dX_K = dK W_k^T", "What the token was found by.", BLOCK_X_K,
                    "If this element of X rises a little, read by the keys alone," LOSS,
                    "It moves every element of its key, by a row of W_k: that row times dK."},
    [BLOCK_DX_V] = {"dX_V", "dX_V = dV W_v^T", "What the token gave.", BLOCK_X_V,
                    "If this element of X rises a little, read by the values alone," LOSS,
                    "It moves every element of its value, by a row of W_v: that row times dV."},
    [BLOCK_DX] = {"dX", "dX = dX_res + dX_Q + dX_K + dX_V",
                  "X was read four times, so its gradient is a sum of four terms.", BLOCK_X,
                  "If this element of X rises a little," LOSS,
                  "Four terms are added: the residual, what the token asked for, what it was found "
                  "by, and what it gave."},
    [BLOCK_DWQ] = {"dW_q", "dW_q = X^T dQ",
                   "A weight is used at every token: its gradient is a sum over the tokens, x_t "
                   "times dq_t.",
                   BLOCK_WQ, "If this weight rises a little," LOSS, VOTES},
    [BLOCK_DWK] = {"dW_k", "dW_k = X^T dK", "The same for the keys.", BLOCK_WK,
                   "If this weight rises a little," LOSS, VOTES},
    [BLOCK_DWV] = {"dW_v", "dW_v = X^T dV", "The same for the values.", BLOCK_WV,
                   "If this weight rises a little," LOSS, VOTES},
    [BLOCK_DWO] = {"dW_o", "dW_o = O^T dY", "W_o read O and wrote into Y: its gradient is O^T dY.",
                   BLOCK_WO, "If this weight rises a little," LOSS, VOTES},
};
