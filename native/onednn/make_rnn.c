/* Recurrent layers: one layer, of one or of two directions, over all time steps. */
#include "ndrt_onednn.h"

int ndrt_is_recurrent(int kind) {
    return kind == NDRT_VANILLA_RNN || kind == NDRT_LSTM || kind == NDRT_LBR_GRU;
}

static dnnl_rnn_direction_t directions(const ndrt_spec *s) {
    return ndrt_desc_read(s->weights)->dims[1] == 2 ? dnnl_bidirectional_concat
                                                    : dnnl_unidirectional_left2right;
}

static ndrt_status need_all(const char *kind, const ndrt_spec *s) {
    TRY(ndrt_need(kind, "src", s->src));
    TRY(ndrt_need(kind, "weights", s->weights));
    TRY(ndrt_need(kind, "weights_iter", s->weights_iter));
    TRY(ndrt_need(kind, "dst", s->dst));
    const ndrt_desc *weights[] = {s->weights, s->weights_iter, s->weights_projection};
    for (int i = 0; i < 3; i++)
        if (weights[i] && ndrt_desc_read(weights[i])->ndims != (i == 2 ? 4 : 5))
            return ndrt_fail(NDRT_INVALID, "%s: weights of %d dims", kind,
                             ndrt_desc_read(weights[i])->ndims);
    return NDRT_OK;
}

typedef ndrt_status (*forward_maker)(const ndrt_make *make, dnnl_prop_kind_t prop,
                                     const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd);
typedef ndrt_status (*backward_maker)(const ndrt_make *make, dnnl_primitive_desc_t hint,
                                      dnnl_primitive_desc_t *pd);

static ndrt_status either(const char *kind, const ndrt_make *make, forward_maker forward,
                          backward_maker backward, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(need_all(kind, s));
    if (ndrt_is_forward(s->direction))
        return forward(make, ndrt_prop(s->direction), make->attr, pd);
    if (s->direction != NDRT_BACKWARD) return ndrt_no_direction(kind, s->direction);
    dnnl_primitive_desc_t hint;
    TRY(forward(make, dnnl_forward_training, NULL, &hint));
    ndrt_status status = backward(make, hint, pd);
    dnnl_primitive_desc_destroy(hint);
    return status;
}

/* ---- one gate -------------------------------------------------------------------------------- */

static ndrt_status vanilla_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                   const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    return ndrt_check(dnnl_vanilla_rnn_forward_primitive_desc_create(
                          pd, make->engine, prop, (dnnl_alg_kind_t)s->alg, directions(s),
                          ndrt_desc_md(s->src), ndrt_desc_md(s->src_iter), ndrt_desc_md(s->weights),
                          ndrt_desc_md(s->weights_iter), ndrt_desc_md(s->bias),
                          ndrt_desc_md(s->dst), ndrt_desc_md(s->dst_iter), 0, 0, 0, attr),
                      "vanilla rnn");
}

static ndrt_status vanilla_backward(const ndrt_make *make, dnnl_primitive_desc_t hint,
                                    dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const_dnnl_memory_desc_t src = ndrt_desc_md(s->src), src_iter = ndrt_desc_md(s->src_iter);
    const_dnnl_memory_desc_t weights = ndrt_desc_md(s->weights);
    const_dnnl_memory_desc_t weights_iter = ndrt_desc_md(s->weights_iter);
    const_dnnl_memory_desc_t bias = ndrt_desc_md(s->bias);
    const_dnnl_memory_desc_t dst = ndrt_desc_md(s->dst), dst_iter = ndrt_desc_md(s->dst_iter);
    return ndrt_check(dnnl_vanilla_rnn_backward_primitive_desc_create(
                          pd, make->engine, dnnl_backward, (dnnl_alg_kind_t)s->alg, directions(s),
                          src, src_iter, weights, weights_iter, bias, dst, dst_iter, src, src_iter,
                          weights, weights_iter, bias, dst, dst_iter,
                          dnnl_rnn_flags_diff_weights_overwrite, 0, 0, hint, make->attr),
                      "vanilla rnn, backward");
}

ndrt_status ndrt_make_vanilla_rnn(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    return either("vanilla rnn", make, vanilla_forward, vanilla_backward, pd);
}

/* ---- LSTM ------------------------------------------------------------------------------------ */

static ndrt_status lstm_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    return ndrt_check(
        dnnl_lstm_forward_primitive_desc_create(
            pd, make->engine, prop, directions(s), ndrt_desc_md(s->src), ndrt_desc_md(s->src_iter),
            ndrt_desc_md(s->src_iter_c), ndrt_desc_md(s->weights), ndrt_desc_md(s->weights_iter),
            NULL, ndrt_desc_md(s->weights_projection), ndrt_desc_md(s->bias), ndrt_desc_md(s->dst),
            ndrt_desc_md(s->dst_iter), ndrt_desc_md(s->dst_iter_c), 0, attr),
        "lstm");
}

static ndrt_status lstm_backward(const ndrt_make *make, dnnl_primitive_desc_t hint,
                                 dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const_dnnl_memory_desc_t src = ndrt_desc_md(s->src), src_iter = ndrt_desc_md(s->src_iter);
    const_dnnl_memory_desc_t src_iter_c = ndrt_desc_md(s->src_iter_c);
    const_dnnl_memory_desc_t weights = ndrt_desc_md(s->weights);
    const_dnnl_memory_desc_t weights_iter = ndrt_desc_md(s->weights_iter);
    const_dnnl_memory_desc_t projection = ndrt_desc_md(s->weights_projection);
    const_dnnl_memory_desc_t bias = ndrt_desc_md(s->bias);
    const_dnnl_memory_desc_t dst = ndrt_desc_md(s->dst), dst_iter = ndrt_desc_md(s->dst_iter);
    const_dnnl_memory_desc_t dst_iter_c = ndrt_desc_md(s->dst_iter_c);
    return ndrt_check(dnnl_lstm_backward_primitive_desc_create(
                          pd, make->engine, dnnl_backward, directions(s), src, src_iter, src_iter_c,
                          weights, weights_iter, NULL, projection, bias, dst, dst_iter, dst_iter_c,
                          src, src_iter, src_iter_c, weights, weights_iter, NULL, projection, bias,
                          dst, dst_iter, dst_iter_c, dnnl_rnn_flags_diff_weights_overwrite, hint,
                          make->attr),
                      "lstm, backward");
}

ndrt_status ndrt_make_lstm(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    return either("lstm", make, lstm_forward, lstm_backward, pd);
}

/* ---- GRU whose reset gate comes after the matrix product ----------------------------------------
 */

static ndrt_status gru_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    return ndrt_check(dnnl_lbr_gru_forward_primitive_desc_create(
                          pd, make->engine, prop, directions(s), ndrt_desc_md(s->src),
                          ndrt_desc_md(s->src_iter), ndrt_desc_md(s->weights),
                          ndrt_desc_md(s->weights_iter), ndrt_desc_md(s->bias),
                          ndrt_desc_md(s->dst), ndrt_desc_md(s->dst_iter), 0, attr),
                      "lbr gru");
}

static ndrt_status gru_backward(const ndrt_make *make, dnnl_primitive_desc_t hint,
                                dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const_dnnl_memory_desc_t src = ndrt_desc_md(s->src), src_iter = ndrt_desc_md(s->src_iter);
    const_dnnl_memory_desc_t weights = ndrt_desc_md(s->weights);
    const_dnnl_memory_desc_t weights_iter = ndrt_desc_md(s->weights_iter);
    const_dnnl_memory_desc_t bias = ndrt_desc_md(s->bias);
    const_dnnl_memory_desc_t dst = ndrt_desc_md(s->dst), dst_iter = ndrt_desc_md(s->dst_iter);
    return ndrt_check(dnnl_lbr_gru_backward_primitive_desc_create(
                          pd, make->engine, dnnl_backward, directions(s), src, src_iter, weights,
                          weights_iter, bias, dst, dst_iter, src, src_iter, weights, weights_iter,
                          bias, dst, dst_iter, dnnl_rnn_flags_diff_weights_overwrite, hint,
                          make->attr),
                      "lbr gru, backward");
}

ndrt_status ndrt_make_lbr_gru(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    return either("lbr gru", make, gru_forward, gru_backward, pd);
}
