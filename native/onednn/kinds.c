/* The kinds of primitives: which of oneDNN's functions makes one, and what a spec must give it. */
#include <stdio.h>
#include <stdlib.h>

#include "ndrt_onednn.h"

typedef const_dnnl_memory_desc_t md;

/* A spec in oneDNN's types. */
typedef struct {
    const ndrt_spec *spec;
    dnnl_engine_t engine;
    const_dnnl_primitive_attr_t attr;
    dnnl_prop_kind_t prop;
    dnnl_alg_kind_t alg;
    md src, weights, bias, dst, diff_src, diff_weights, diff_bias, diff_dst; /* NULL: none */
    md src_iter, src_iter_c, weights_iter, projection, dst_iter, dst_iter_c;
    dnnl_dims_t kernel, strides, dilates, pad_l, pad_r;
    int is_hint; /* a backward pass is made with a forward one, of the same layouts, as its hint */
} call;

typedef dnnl_primitive_desc_t pd_t;

/* Tensors and gradients have the same layout where a hint is made from the latter. */
#define EITHER(tensor) (c->tensor ? c->tensor : c->diff_##tensor)
#define WINDOW c->strides, c->dilates, c->pad_l, c->pad_r

/* The result's layout, which is the data's if nothing says another. */
static md dst_of(const call *c) { return EITHER(dst) ? EITHER(dst) : c->src; }

/* ---- windows ----------------------------------------------------------------------------------
 */

static dnnl_status_t convolution(const call *c, pd_t *pd) {
    return dnnl_convolution_forward_primitive_desc_create(
        pd, c->engine, c->prop, dnnl_convolution_direct, EITHER(src), EITHER(weights), EITHER(bias),
        EITHER(dst), WINDOW, c->attr);
}

static dnnl_status_t convolution_back(const call *c, pd_t hint, pd_t *pd) {
    if (c->spec->direction == NDRT_BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(
            pd, c->engine, dnnl_convolution_direct, c->diff_src, c->weights, c->diff_dst, WINDOW,
            hint, c->attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, c->engine, dnnl_convolution_direct, c->src, c->diff_weights, c->diff_bias, c->diff_dst,
        WINDOW, hint, c->attr);
}

static dnnl_status_t deconvolution(const call *c, pd_t *pd) {
    return dnnl_deconvolution_forward_primitive_desc_create(
        pd, c->engine, c->prop, dnnl_deconvolution_direct, EITHER(src), EITHER(weights),
        EITHER(bias), EITHER(dst), WINDOW, c->attr);
}

static dnnl_status_t deconvolution_back(const call *c, pd_t hint, pd_t *pd) {
    if (c->spec->direction == NDRT_BACKWARD_DATA)
        return dnnl_deconvolution_backward_data_primitive_desc_create(
            pd, c->engine, dnnl_deconvolution_direct, c->diff_src, c->weights, c->diff_dst, WINDOW,
            hint, c->attr);
    return dnnl_deconvolution_backward_weights_primitive_desc_create(
        pd, c->engine, dnnl_deconvolution_direct, c->src, c->diff_weights, c->diff_bias,
        c->diff_dst, WINDOW, hint, c->attr);
}

static dnnl_status_t pooling(const call *c, pd_t *pd) {
    return dnnl_pooling_forward_primitive_desc_create(pd, c->engine, c->prop, c->alg, EITHER(src),
                                                      EITHER(dst), c->strides, c->kernel,
                                                      c->dilates, c->pad_l, c->pad_r, c->attr);
}

static dnnl_status_t pooling_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_pooling_backward_primitive_desc_create(
        pd, c->engine, c->alg, c->diff_src, c->diff_dst, c->strides, c->kernel, c->dilates,
        c->pad_l, c->pad_r, hint, c->attr);
}

/* ---- products ---------------------------------------------------------------------------------
 */

static dnnl_status_t inner_product(const call *c, pd_t *pd) {
    return dnnl_inner_product_forward_primitive_desc_create(
        pd, c->engine, c->prop, EITHER(src), EITHER(weights), EITHER(bias), EITHER(dst), c->attr);
}

static dnnl_status_t inner_product_back(const call *c, pd_t hint, pd_t *pd) {
    if (c->spec->direction == NDRT_BACKWARD_DATA)
        return dnnl_inner_product_backward_data_primitive_desc_create(
            pd, c->engine, c->diff_src, c->weights, c->diff_dst, hint, c->attr);
    return dnnl_inner_product_backward_weights_primitive_desc_create(
        pd, c->engine, c->src, c->diff_weights, c->diff_bias, c->diff_dst, hint, c->attr);
}

static dnnl_status_t matmul(const call *c, pd_t *pd) {
    return dnnl_matmul_primitive_desc_create(pd, c->engine, c->src, c->weights, c->bias, c->dst,
                                             c->attr);
}

/* ---- normalization ----------------------------------------------------------------------------
 */

static dnnl_status_t batch_norm(const call *c, pd_t *pd) {
    return dnnl_batch_normalization_forward_primitive_desc_create(
        pd, c->engine, c->prop, c->src, dst_of(c), c->spec->epsilon, c->spec->flags, c->attr);
}

static dnnl_status_t batch_norm_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_batch_normalization_backward_primitive_desc_create(
        pd, c->engine, c->prop, c->diff_src, c->diff_dst, c->src, c->spec->epsilon, c->spec->flags,
        hint, c->attr);
}

static dnnl_status_t layer_norm(const call *c, pd_t *pd) {
    return dnnl_layer_normalization_forward_primitive_desc_create(
        pd, c->engine, c->prop, c->src, dst_of(c), NULL, c->spec->epsilon, c->spec->flags, c->attr);
}

static dnnl_status_t layer_norm_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_layer_normalization_backward_primitive_desc_create(
        pd, c->engine, c->prop, c->diff_src, c->diff_dst, c->src, NULL, c->spec->epsilon,
        c->spec->flags, hint, c->attr);
}

static dnnl_status_t lrn(const call *c, pd_t *pd) {
    const ndrt_spec *s = c->spec;
    return dnnl_lrn_forward_primitive_desc_create(pd, c->engine, c->prop, c->alg, c->src, dst_of(c),
                                                  s->local_size, s->alpha, s->beta, s->k, c->attr);
}

static dnnl_status_t lrn_back(const call *c, pd_t hint, pd_t *pd) {
    const ndrt_spec *s = c->spec;
    return dnnl_lrn_backward_primitive_desc_create(pd, c->engine, c->alg, c->diff_src, c->diff_dst,
                                                   c->src, s->local_size, s->alpha, s->beta, s->k,
                                                   hint, c->attr);
}

/* ---- element by element, or along one axis ----------------------------------------------------
 */

/* The algorithms whose slope is computed from the result, and what they are going forward. */
static dnnl_alg_kind_t forward_alg(dnnl_alg_kind_t alg) {
    switch (alg) {
    case dnnl_eltwise_relu_use_dst_for_bwd: return dnnl_eltwise_relu;
    case dnnl_eltwise_tanh_use_dst_for_bwd: return dnnl_eltwise_tanh;
    case dnnl_eltwise_elu_use_dst_for_bwd: return dnnl_eltwise_elu;
    case dnnl_eltwise_sqrt_use_dst_for_bwd: return dnnl_eltwise_sqrt;
    case dnnl_eltwise_logistic_use_dst_for_bwd: return dnnl_eltwise_logistic;
    case dnnl_eltwise_exp_use_dst_for_bwd: return dnnl_eltwise_exp;
    case dnnl_eltwise_clip_v2_use_dst_for_bwd: return dnnl_eltwise_clip_v2;
    default: return alg;
    }
}

static int reads_result(dnnl_alg_kind_t alg) { return forward_alg(alg) != alg; }

static dnnl_status_t eltwise(const call *c, pd_t *pd) {
    const md read = c->is_hint && reads_result(c->alg) ? c->dst : c->src;
    return dnnl_eltwise_forward_primitive_desc_create(
        pd, c->engine, c->prop, c->is_hint ? forward_alg(c->alg) : c->alg, read,
        c->is_hint || !c->dst ? read : c->dst, c->spec->alpha, c->spec->beta, c->attr);
}

static dnnl_status_t eltwise_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_eltwise_backward_primitive_desc_create(
        pd, c->engine, c->alg, c->diff_src, c->diff_dst, reads_result(c->alg) ? c->dst : c->src,
        c->spec->alpha, c->spec->beta, hint, c->attr);
}

static ndrt_status check_eltwise(const ndrt_spec *s) {
    if (ndrt_is_forward(s->direction)) return ndrt_need("eltwise", "src", s->src);
    return reads_result((dnnl_alg_kind_t)s->alg) ? ndrt_need("eltwise", "dst", s->dst)
                                                 : ndrt_need("eltwise", "src", s->src);
}

static dnnl_status_t softmax(const call *c, pd_t *pd) {
    return dnnl_softmax_forward_primitive_desc_create(
        pd, c->engine, c->prop, c->alg, c->src ? c->src : c->dst, c->dst ? c->dst : c->src,
        c->spec->axis, c->attr);
}

static dnnl_status_t softmax_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_softmax_backward_primitive_desc_create(
        pd, c->engine, c->alg, c->diff_src, c->diff_dst, c->dst, c->spec->axis, hint, c->attr);
}

static dnnl_status_t prelu(const call *c, pd_t *pd) {
    return dnnl_prelu_forward_primitive_desc_create(pd, c->engine, c->prop, c->src, c->weights,
                                                    dst_of(c), c->attr);
}

static dnnl_status_t prelu_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_prelu_backward_primitive_desc_create(pd, c->engine, c->src, c->weights, c->diff_src,
                                                     c->diff_weights, c->diff_dst, hint, c->attr);
}

static ndrt_status check_binary(const ndrt_spec *s) {
    TRY(ndrt_need("binary", "first source", s->nsrcs == 2 ? s->srcs[0] : s->src));
    return ndrt_need("binary", "second source", s->nsrcs == 2 ? s->srcs[1] : s->weights);
}

static dnnl_status_t binary(const call *c, pd_t *pd) {
    const int listed = c->spec->nsrcs == 2;
    const md first = listed ? ndrt_desc_md(c->spec->srcs[0]) : c->src;
    const md second = listed ? ndrt_desc_md(c->spec->srcs[1]) : c->weights;
    return dnnl_binary_primitive_desc_create(pd, c->engine, c->alg, first, second,
                                             c->dst ? c->dst : first, c->attr);
}

/* ---- many sources, or another arrangement ------------------------------------------------------
 */

enum { ON_STACK = 64 };

/* Room for the sources' memory descriptors: `few`, or memory of its own to be freed. */
static md *sources(const ndrt_spec *s, md *few) {
    md *mds = s->nsrcs <= ON_STACK ? few : ndrt_malloc((size_t)s->nsrcs * sizeof *mds);
    for (int i = 0; mds && i < s->nsrcs; i++) mds[i] = ndrt_desc_md(s->srcs[i]);
    return mds;
}

static ndrt_status check_concat(const ndrt_spec *s) {
    return s->nsrcs ? NDRT_OK : ndrt_fail(NDRT_INVALID, "concat: no sources");
}

static dnnl_status_t concat(const call *c, pd_t *pd) {
    md few[ON_STACK], *mds = sources(c->spec, few);
    if (!mds) return dnnl_out_of_memory;
    dnnl_status_t status = dnnl_concat_primitive_desc_create(pd, c->engine, c->dst, c->spec->nsrcs,
                                                             c->spec->axis, mds, c->attr);
    if (mds != few) free(mds);
    return status;
}

static ndrt_status check_sum(const ndrt_spec *s) {
    if (!s->nsrcs) return ndrt_fail(NDRT_INVALID, "sum: no sources");
    return s->scales ? NDRT_OK : ndrt_fail(NDRT_INVALID, "sum: no scales");
}

static dnnl_status_t sum(const call *c, pd_t *pd) {
    md few[ON_STACK], *mds = sources(c->spec, few);
    if (!mds) return dnnl_out_of_memory;
    dnnl_status_t status = dnnl_sum_primitive_desc_create(pd, c->engine, c->dst, c->spec->nsrcs,
                                                          c->spec->scales, mds, c->attr);
    if (mds != few) free(mds);
    return status;
}

static dnnl_status_t reduction(const call *c, pd_t *pd) {
    return dnnl_reduction_primitive_desc_create(pd, c->engine, c->alg, c->src, c->dst,
                                                c->spec->alpha, c->spec->epsilon, c->attr);
}

static dnnl_status_t reorder(const call *c, pd_t *pd) {
    return dnnl_reorder_primitive_desc_create(pd, c->src, c->engine, c->dst, c->engine, c->attr);
}

/* ---- recurrent layers: one layer, of one or of two directions, over all time steps -------------
 */

int ndrt_is_recurrent(int kind) {
    return kind == NDRT_VANILLA_RNN || kind == NDRT_LSTM || kind == NDRT_LBR_GRU;
}

static dnnl_rnn_direction_t directions(const ndrt_spec *s) {
    return ndrt_desc_read(s->weights)->dims[1] == 2 ? dnnl_bidirectional_concat
                                                    : dnnl_unidirectional_left2right;
}

#define STATES c->src, c->src_iter, c->weights, c->weights_iter, c->bias, c->dst, c->dst_iter
#define STATES_AND_CELLS                                                                           \
    c->src, c->src_iter, c->src_iter_c, c->weights, c->weights_iter, NULL, c->projection, c->bias, \
        c->dst, c->dst_iter, c->dst_iter_c
#define OVERWRITE dnnl_rnn_flags_diff_weights_overwrite

static dnnl_status_t vanilla_rnn(const call *c, pd_t *pd) {
    return dnnl_vanilla_rnn_forward_primitive_desc_create(
        pd, c->engine, c->prop, c->alg, directions(c->spec), STATES, 0, 0, 0, c->attr);
}

static dnnl_status_t vanilla_rnn_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_vanilla_rnn_backward_primitive_desc_create(pd, c->engine, c->prop, c->alg,
                                                           directions(c->spec), STATES, STATES,
                                                           OVERWRITE, 0, 0, hint, c->attr);
}

static dnnl_status_t lstm(const call *c, pd_t *pd) {
    return dnnl_lstm_forward_primitive_desc_create(pd, c->engine, c->prop, directions(c->spec),
                                                   STATES_AND_CELLS, 0, c->attr);
}

static dnnl_status_t lstm_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_lstm_backward_primitive_desc_create(pd, c->engine, c->prop, directions(c->spec),
                                                    STATES_AND_CELLS, STATES_AND_CELLS, OVERWRITE,
                                                    hint, c->attr);
}

/* The GRU whose reset gate comes after the matrix product. */
static dnnl_status_t lbr_gru(const call *c, pd_t *pd) {
    return dnnl_lbr_gru_forward_primitive_desc_create(pd, c->engine, c->prop, directions(c->spec),
                                                      STATES, 0, c->attr);
}

static dnnl_status_t lbr_gru_back(const call *c, pd_t hint, pd_t *pd) {
    return dnnl_lbr_gru_backward_primitive_desc_create(pd, c->engine, c->prop, directions(c->spec),
                                                       STATES, STATES, OVERWRITE, hint, c->attr);
}

/* ---- the table --------------------------------------------------------------------------------
 */

/* Layouts that a spec must have, and directions that a kind has. */
enum {
    SRC = 1,
    WEIGHTS = 2,
    WEIGHTS_ITER = 4,
    DST = 8,
    DIFF_SRC = 16,
    DIFF_WEIGHTS = 32,
    DIFF_DST = 64,
    DIFFS = DIFF_SRC | DIFF_DST,
    LAYER = SRC | WEIGHTS | WEIGHTS_ITER | DST,
    WHOLE = 1 << NDRT_BACKWARD,
    BY_DATA = 1 << NDRT_BACKWARD_DATA,
    BY_WEIGHTS = 1 << NDRT_BACKWARD_WEIGHTS
};

static const struct {
    const char *name;
    dnnl_status_t (*forward)(const call *c, pd_t *pd);
    dnnl_status_t (*backward)(const call *c, pd_t hint, pd_t *pd); /* NULL: direction is not read */
    int directions;                                                /* of `backward` */
    int needs, back_needs, by_weights_needs;
    ndrt_status (*check)(const ndrt_spec *spec); /* more than layouts that are missing; or NULL */
    int has_window;
} kinds[] = {
    [NDRT_CONVOLUTION] = {"convolution", convolution, convolution_back, BY_DATA | BY_WEIGHTS,
                          SRC | WEIGHTS | DST, WEIGHTS | DIFFS, SRC | DIFF_WEIGHTS | DIFF_DST, NULL,
                          1},
    [NDRT_DECONVOLUTION] = {"deconvolution", deconvolution, deconvolution_back,
                            BY_DATA | BY_WEIGHTS, SRC | WEIGHTS | DST, WEIGHTS | DIFFS,
                            SRC | DIFF_WEIGHTS | DIFF_DST, NULL, 1},
    [NDRT_POOLING] = {"pooling", pooling, pooling_back, WHOLE | BY_DATA, SRC | DST, DIFFS, 0, NULL,
                      1},
    [NDRT_INNER_PRODUCT] = {"inner product", inner_product, inner_product_back,
                            BY_DATA | BY_WEIGHTS, SRC | WEIGHTS | DST, WEIGHTS | DIFFS,
                            SRC | DIFF_WEIGHTS | DIFF_DST},
    [NDRT_MATMUL] = {"matmul", matmul, .needs = SRC | WEIGHTS | DST},
    [NDRT_BATCH_NORM] = {"batch norm", batch_norm, batch_norm_back, WHOLE | BY_DATA, SRC,
                         SRC | DIFFS},
    [NDRT_LAYER_NORM] = {"layer norm", layer_norm, layer_norm_back, WHOLE | BY_DATA, SRC,
                         SRC | DIFFS},
    [NDRT_LRN] = {"lrn", lrn, lrn_back, WHOLE | BY_DATA, SRC, SRC | DIFFS},
    [NDRT_ELTWISE] = {"eltwise", eltwise, eltwise_back, WHOLE | BY_DATA, 0, DIFFS, 0,
                      check_eltwise},
    [NDRT_SOFTMAX] = {"softmax", softmax, softmax_back, WHOLE | BY_DATA, SRC, DST | DIFFS},
    [NDRT_PRELU] = {"prelu", prelu, prelu_back, WHOLE, SRC | WEIGHTS,
                    SRC | WEIGHTS | DIFF_WEIGHTS | DIFFS},
    [NDRT_BINARY] = {"binary", binary, .check = check_binary},
    [NDRT_CONCAT] = {"concat", concat, .check = check_concat},
    [NDRT_SUM] = {"sum", sum, .check = check_sum},
    [NDRT_REDUCTION] = {"reduction", reduction, .needs = SRC | DST},
    [NDRT_REORDER] = {"reorder", reorder, .needs = SRC | DST},
    [NDRT_VANILLA_RNN] = {"vanilla rnn", vanilla_rnn, vanilla_rnn_back, WHOLE, LAYER, LAYER},
    [NDRT_LSTM] = {"lstm", lstm, lstm_back, WHOLE, LAYER, LAYER},
    [NDRT_LBR_GRU] = {"lbr gru", lbr_gru, lbr_gru_back, WHOLE, LAYER, LAYER},
};

const char *ndrt_kind_name(int kind) {
    return kind >= 1 && kind < (int)(sizeof kinds / sizeof *kinds) ? kinds[kind].name : NULL;
}

int ndrt_is_forward(int direction) {
    return direction == NDRT_FORWARD_TRAINING || direction == NDRT_FORWARD_INFERENCE;
}

static dnnl_prop_kind_t prop_of(int direction) {
    switch (direction) {
    case NDRT_FORWARD_TRAINING: return dnnl_forward_training;
    case NDRT_FORWARD_INFERENCE: return dnnl_forward_inference;
    case NDRT_BACKWARD: return dnnl_backward;
    case NDRT_BACKWARD_DATA: return dnnl_backward_data;
    case NDRT_BACKWARD_WEIGHTS: return dnnl_backward_weights;
    default: return dnnl_prop_kind_undef;
    }
}

ndrt_status ndrt_need(const char *kind, const char *field, const ndrt_desc *desc) {
    return desc ? NDRT_OK : ndrt_fail(NDRT_INVALID, "%s: the spec has no %s", kind, field);
}

static ndrt_status check_needs(const ndrt_spec *s, int is_backward) {
    const char *kind = kinds[s->kind].name;
    const int needs = !is_backward                            ? kinds[s->kind].needs
                      : s->direction == NDRT_BACKWARD_WEIGHTS ? kinds[s->kind].by_weights_needs
                                                              : kinds[s->kind].back_needs;
    if (needs & SRC) TRY(ndrt_need(kind, "src", s->src));
    if (needs & WEIGHTS) TRY(ndrt_need(kind, "weights", s->weights));
    if (needs & WEIGHTS_ITER) TRY(ndrt_need(kind, "weights_iter", s->weights_iter));
    if (needs & DST) TRY(ndrt_need(kind, "dst", s->dst));
    if (needs & DIFF_SRC) TRY(ndrt_need(kind, "diff_src", s->diff_src));
    if (needs & DIFF_WEIGHTS) TRY(ndrt_need(kind, "diff_weights", s->diff_weights));
    if (needs & DIFF_DST) TRY(ndrt_need(kind, "diff_dst", s->diff_dst));
    if (kinds[s->kind].check) TRY(kinds[s->kind].check(s));
    if (!ndrt_is_recurrent(s->kind)) return NDRT_OK;
    const ndrt_desc *weights[] = {s->weights, s->weights_iter, s->weights_projection};
    for (int i = 0; i < 3; i++)
        if (weights[i] && ndrt_desc_read(weights[i])->ndims != (i == 2 ? 4 : 5))
            return ndrt_fail(NDRT_INVALID, "%s: weights of %d dims", kind,
                             ndrt_desc_read(weights[i])->ndims);
    return NDRT_OK;
}

static ndrt_status read_window(const ndrt_spec *s, call *c) {
    const char *kind = kinds[s->kind].name;
    const ndrt_desc *src = s->src ? s->src : s->diff_src;
    TRY(ndrt_need(kind, "src", src));
    const int nspatial = ndrt_desc_read(src)->ndims - 2;
    if (nspatial < 1 || nspatial > NDRT_MAX_SPATIAL || s->nspatial != nspatial)
        return ndrt_fail(NDRT_INVALID, "%s: %d spatial dims in the spec, %d in src", kind,
                         s->nspatial, nspatial);
    for (int i = 0; i < nspatial; i++) {
        c->kernel[i] = s->kernel[i];
        c->strides[i] = s->strides[i];
        c->dilates[i] = s->dilates[i];
        c->pad_l[i] = s->pad_l[i];
        c->pad_r[i] = s->pad_r[i];
        if (s->strides[i] < 1)
            return ndrt_fail(NDRT_INVALID, "%s: stride %lld", kind, (long long)s->strides[i]);
    }
    return NDRT_OK;
}

ndrt_status ndrt_pd_create(const ndrt_spec *s, const_dnnl_primitive_attr_t attr,
                           dnnl_primitive_desc_t *hint, dnnl_primitive_desc_t *pd) {
    const char *kind = kinds[s->kind].name;
    const int is_backward = kinds[s->kind].backward && !ndrt_is_forward(s->direction);
    call c = {.spec = s,
              .engine = ndrt_engine(),
              .attr = attr,
              .prop = prop_of(s->direction),
              .alg = (dnnl_alg_kind_t)s->alg,
              .src = ndrt_desc_md(s->src),
              .weights = ndrt_desc_md(s->weights),
              .bias = ndrt_desc_md(s->bias),
              .dst = ndrt_desc_md(s->dst),
              .diff_src = ndrt_desc_md(s->diff_src),
              .diff_weights = ndrt_desc_md(s->diff_weights),
              .diff_bias = ndrt_desc_md(s->diff_bias),
              .diff_dst = ndrt_desc_md(s->diff_dst),
              .src_iter = ndrt_desc_md(s->src_iter),
              .src_iter_c = ndrt_desc_md(s->src_iter_c),
              .weights_iter = ndrt_desc_md(s->weights_iter),
              .projection = ndrt_desc_md(s->weights_projection),
              .dst_iter = ndrt_desc_md(s->dst_iter),
              .dst_iter_c = ndrt_desc_md(s->dst_iter_c)};
    if (kinds[s->kind].has_window) TRY(read_window(s, &c));
    if (is_backward && (s->direction < NDRT_BACKWARD || s->direction > NDRT_BACKWARD_WEIGHTS ||
                        !(kinds[s->kind].directions >> s->direction & 1)))
        return ndrt_fail(NDRT_INVALID, "%s: direction %d is none of its own", kind, s->direction);
    TRY(check_needs(s, is_backward));
    if (!is_backward) return ndrt_check(kinds[s->kind].forward(&c, pd), kind);
    call forward = c;
    forward.attr = NULL;
    forward.prop = dnnl_forward_training;
    forward.is_hint = 1;
    TRY(ndrt_check(kinds[s->kind].forward(&forward, hint), kind));
    char text[32];
    snprintf(text, sizeof text, "%s, backward", kind);
    return ndrt_check(kinds[s->kind].backward(&c, *hint, pd), text);
}
