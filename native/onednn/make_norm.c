/* Batch, layer and local response normalisation. */
#include "ndrt_onednn.h"

static ndrt_status batch_norm_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                      const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *src = s->src;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst ? s->diff_dst : src;
    TRY(ndrt_need("batch norm", "src", src));
    return ndrt_check(dnnl_batch_normalization_forward_primitive_desc_create(
                          pd, make->engine, prop, ndrt_desc_md(src), ndrt_desc_md(dst), s->epsilon,
                          s->flags, attr),
                      "batch norm");
}

ndrt_status ndrt_make_batch_norm(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (ndrt_is_forward(s->direction))
        return batch_norm_forward(make, ndrt_prop(s->direction), make->attr, pd);
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("batch norm", s->direction);
    TRY(ndrt_need("batch norm", "diff_src", s->diff_src));
    TRY(ndrt_need("batch norm", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(batch_norm_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_batch_normalization_backward_primitive_desc_create(
        pd, make->engine, ndrt_prop(s->direction), ndrt_desc_md(s->diff_src),
        ndrt_desc_md(s->diff_dst), ndrt_desc_md(s->src), s->epsilon, s->flags, hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "batch norm, backward");
}

static ndrt_status layer_norm_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                      const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst ? s->diff_dst : s->src;
    TRY(ndrt_need("layer norm", "src", s->src));
    return ndrt_check(dnnl_layer_normalization_forward_primitive_desc_create(
                          pd, make->engine, prop, ndrt_desc_md(s->src), ndrt_desc_md(dst), NULL,
                          s->epsilon, s->flags, attr),
                      "layer norm");
}

ndrt_status ndrt_make_layer_norm(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (ndrt_is_forward(s->direction))
        return layer_norm_forward(make, ndrt_prop(s->direction), make->attr, pd);
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("layer norm", s->direction);
    TRY(ndrt_need("layer norm", "diff_src", s->diff_src));
    TRY(ndrt_need("layer norm", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(layer_norm_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_layer_normalization_backward_primitive_desc_create(
        pd, make->engine, ndrt_prop(s->direction), ndrt_desc_md(s->diff_src),
        ndrt_desc_md(s->diff_dst), ndrt_desc_md(s->src), NULL, s->epsilon, s->flags, hint,
        make->attr);
    *make->hint = hint;
    return ndrt_check(status, "layer norm, backward");
}

static ndrt_status lrn_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst ? s->diff_dst : s->src;
    TRY(ndrt_need("lrn", "src", s->src));
    return ndrt_check(dnnl_lrn_forward_primitive_desc_create(
                          pd, make->engine, prop, (dnnl_alg_kind_t)s->alg, ndrt_desc_md(s->src),
                          ndrt_desc_md(dst), s->local_size, s->alpha, s->beta, s->k, attr),
                      "lrn");
}

ndrt_status ndrt_make_lrn(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (ndrt_is_forward(s->direction))
        return lrn_forward(make, ndrt_prop(s->direction), make->attr, pd);
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("lrn", s->direction);
    TRY(ndrt_need("lrn", "diff_src", s->diff_src));
    TRY(ndrt_need("lrn", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(lrn_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_lrn_backward_primitive_desc_create(
        pd, make->engine, (dnnl_alg_kind_t)s->alg, ndrt_desc_md(s->diff_src),
        ndrt_desc_md(s->diff_dst), ndrt_desc_md(s->src), s->local_size, s->alpha, s->beta, s->k,
        hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "lrn, backward");
}
