/* Pooling. */
#include "ndrt_onednn.h"

static ndrt_status pooling_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                   const_dnnl_primitive_attr_t attr, const ndrt_window *w,
                                   dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *src = s->src ? s->src : s->diff_src;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst;
    TRY(ndrt_need("pooling", "dst", dst));
    return ndrt_check(
        dnnl_pooling_forward_primitive_desc_create(pd, make->engine, prop, (dnnl_alg_kind_t)s->alg,
                                                   ndrt_desc_md(src), ndrt_desc_md(dst), w->strides,
                                                   w->kernel, w->dilates, w->pad_l, w->pad_r, attr),
        "pooling");
}

ndrt_status ndrt_make_pooling(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    ndrt_window window;
    TRY(ndrt_window_read("pooling", s, s->src ? s->src : s->diff_src, &window));
    if (ndrt_is_forward(s->direction))
        return pooling_forward(make, ndrt_prop(s->direction), make->attr, &window, pd);
    if (s->direction != NDRT_BACKWARD && s->direction != NDRT_BACKWARD_DATA)
        return ndrt_no_direction("pooling", s->direction);
    TRY(ndrt_need("pooling", "diff_src", s->diff_src));
    TRY(ndrt_need("pooling", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(pooling_forward(make, dnnl_forward_training, NULL, &window, &hint));
    dnnl_status_t status = dnnl_pooling_backward_primitive_desc_create(
        pd, make->engine, (dnnl_alg_kind_t)s->alg, ndrt_desc_md(s->diff_src),
        ndrt_desc_md(s->diff_dst), window.strides, window.kernel, window.dilates, window.pad_l,
        window.pad_r, hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "pooling, backward");
}
