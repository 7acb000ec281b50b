/* Element by element, or along one axis: eltwise, binary, prelu, softmax. */
#include "ndrt_onednn.h"

/* The algorithms whose slope is computed from the result, and what they are going forward. */
static dnnl_alg_kind_t forward_alg(int alg) {
    switch ((dnnl_alg_kind_t)alg) {
    case dnnl_eltwise_relu_use_dst_for_bwd: return dnnl_eltwise_relu;
    case dnnl_eltwise_tanh_use_dst_for_bwd: return dnnl_eltwise_tanh;
    case dnnl_eltwise_elu_use_dst_for_bwd: return dnnl_eltwise_elu;
    case dnnl_eltwise_sqrt_use_dst_for_bwd: return dnnl_eltwise_sqrt;
    case dnnl_eltwise_logistic_use_dst_for_bwd: return dnnl_eltwise_logistic;
    case dnnl_eltwise_exp_use_dst_for_bwd: return dnnl_eltwise_exp;
    case dnnl_eltwise_clip_v2_use_dst_for_bwd: return dnnl_eltwise_clip_v2;
    default: return (dnnl_alg_kind_t)alg;
    }
}

ndrt_status ndrt_make_eltwise(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    dnnl_alg_kind_t alg = (dnnl_alg_kind_t)s->alg;
    if (ndrt_is_forward(s->direction)) {
        TRY(ndrt_need("eltwise", "src", s->src));
        return ndrt_check(dnnl_eltwise_forward_primitive_desc_create(
                              pd, make->engine, ndrt_prop(s->direction), alg, ndrt_desc_md(s->src),
                              ndrt_desc_md(s->dst ? s->dst : s->src), s->alpha, s->beta,
                              make->attr),
                          "eltwise");
    }
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("eltwise", s->direction);
    dnnl_alg_kind_t plain = forward_alg(s->alg);
    const ndrt_desc *data = plain != alg ? s->dst : s->src;
    TRY(ndrt_need("eltwise", plain != alg ? "dst" : "src", data));
    TRY(ndrt_need("eltwise", "diff_src", s->diff_src));
    TRY(ndrt_need("eltwise", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(ndrt_check(dnnl_eltwise_forward_primitive_desc_create(
                       &hint, make->engine, dnnl_forward_training, plain, ndrt_desc_md(data),
                       ndrt_desc_md(data), s->alpha, s->beta, NULL),
                   "eltwise, hint of the backward"));
    dnnl_status_t status = dnnl_eltwise_backward_primitive_desc_create(
        pd, make->engine, alg, ndrt_desc_md(s->diff_src), ndrt_desc_md(s->diff_dst),
        ndrt_desc_md(data), s->alpha, s->beta, hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "eltwise, backward");
}

ndrt_status ndrt_make_binary(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *first = s->nsrcs == 2 ? s->srcs[0] : s->src;
    const ndrt_desc *second = s->nsrcs == 2 ? s->srcs[1] : s->weights;
    TRY(ndrt_need("binary", "first source", first));
    TRY(ndrt_need("binary", "second source", second));
    return ndrt_check(dnnl_binary_primitive_desc_create(
                          pd, make->engine, (dnnl_alg_kind_t)s->alg, ndrt_desc_md(first),
                          ndrt_desc_md(second), ndrt_desc_md(s->dst ? s->dst : first), make->attr),
                      "binary");
}

static ndrt_status prelu_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                 const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst ? s->diff_dst : s->src;
    TRY(ndrt_need("prelu", "src", s->src));
    TRY(ndrt_need("prelu", "weights", s->weights));
    return ndrt_check(
        dnnl_prelu_forward_primitive_desc_create(pd, make->engine, prop, ndrt_desc_md(s->src),
                                                 ndrt_desc_md(s->weights), ndrt_desc_md(dst), attr),
        "prelu");
}

ndrt_status ndrt_make_prelu(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (ndrt_is_forward(s->direction))
        return prelu_forward(make, ndrt_prop(s->direction), make->attr, pd);
    if (s->direction != NDRT_BACKWARD) return ndrt_no_direction("prelu", s->direction);
    TRY(ndrt_need("prelu", "diff_src", s->diff_src));
    TRY(ndrt_need("prelu", "diff_weights", s->diff_weights));
    TRY(ndrt_need("prelu", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(prelu_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_prelu_backward_primitive_desc_create(
        pd, make->engine, ndrt_desc_md(s->src), ndrt_desc_md(s->weights), ndrt_desc_md(s->diff_src),
        ndrt_desc_md(s->diff_weights), ndrt_desc_md(s->diff_dst), hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "prelu, backward");
}

ndrt_status ndrt_make_softmax(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    dnnl_alg_kind_t alg = (dnnl_alg_kind_t)s->alg;
    if (ndrt_is_forward(s->direction)) {
        TRY(ndrt_need("softmax", "src", s->src));
        return ndrt_check(dnnl_softmax_forward_primitive_desc_create(
                              pd, make->engine, ndrt_prop(s->direction), alg, ndrt_desc_md(s->src),
                              ndrt_desc_md(s->dst ? s->dst : s->src), s->axis, make->attr),
                          "softmax");
    }
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("softmax", s->direction);
    TRY(ndrt_need("softmax", "dst", s->dst));
    TRY(ndrt_need("softmax", "diff_src", s->diff_src));
    TRY(ndrt_need("softmax", "diff_dst", s->diff_dst));
    const_dnnl_memory_desc_t src = ndrt_desc_md(s->src ? s->src : s->dst);
    dnnl_primitive_desc_t hint;
    TRY(ndrt_check(dnnl_softmax_forward_primitive_desc_create(&hint, make->engine,
                                                              dnnl_forward_training, alg, src,
                                                              ndrt_desc_md(s->dst), s->axis, NULL),
                   "softmax, hint of the backward"));
    dnnl_status_t status = dnnl_softmax_backward_primitive_desc_create(
        pd, make->engine, alg, ndrt_desc_md(s->diff_src), ndrt_desc_md(s->diff_dst),
        ndrt_desc_md(s->dst), s->axis, hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "softmax, backward");
}
