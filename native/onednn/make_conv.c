/* Convolution and deconvolution. oneDNN has the same six functions for both. */
#include "ndrt_onednn.h"

typedef dnnl_status_t (*forward_create)(dnnl_primitive_desc_t *, dnnl_engine_t, dnnl_prop_kind_t,
                                        dnnl_alg_kind_t, const_dnnl_memory_desc_t,
                                        const_dnnl_memory_desc_t, const_dnnl_memory_desc_t,
                                        const_dnnl_memory_desc_t, const dnnl_dims_t,
                                        const dnnl_dims_t, const dnnl_dims_t, const dnnl_dims_t,
                                        const_dnnl_primitive_attr_t);
typedef dnnl_status_t (*backward_data_create)(
    dnnl_primitive_desc_t *, dnnl_engine_t, dnnl_alg_kind_t, const_dnnl_memory_desc_t,
    const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const dnnl_dims_t, const dnnl_dims_t,
    const dnnl_dims_t, const dnnl_dims_t, const_dnnl_primitive_desc_t, const_dnnl_primitive_attr_t);
typedef dnnl_status_t (*backward_weights_create)(dnnl_primitive_desc_t *, dnnl_engine_t,
                                                 dnnl_alg_kind_t, const_dnnl_memory_desc_t,
                                                 const_dnnl_memory_desc_t, const_dnnl_memory_desc_t,
                                                 const_dnnl_memory_desc_t, const dnnl_dims_t,
                                                 const dnnl_dims_t, const dnnl_dims_t,
                                                 const dnnl_dims_t, const_dnnl_primitive_desc_t,
                                                 const_dnnl_primitive_attr_t);

typedef struct {
    const char *name;
    dnnl_alg_kind_t alg;
    forward_create forward;
    backward_data_create backward_data;
    backward_weights_create backward_weights;
} family;

static const family convolution = {"convolution", dnnl_convolution_direct,
                                   dnnl_convolution_forward_primitive_desc_create,
                                   dnnl_convolution_backward_data_primitive_desc_create,
                                   dnnl_convolution_backward_weights_primitive_desc_create};
static const family deconvolution = {"deconvolution", dnnl_deconvolution_direct,
                                     dnnl_deconvolution_forward_primitive_desc_create,
                                     dnnl_deconvolution_backward_data_primitive_desc_create,
                                     dnnl_deconvolution_backward_weights_primitive_desc_create};

static ndrt_status make_forward(const ndrt_make *make, const family *f, dnnl_prop_kind_t prop,
                                const_dnnl_primitive_attr_t attr, const ndrt_window *w,
                                dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *src = s->src ? s->src : s->diff_src;
    const ndrt_desc *weights = s->weights ? s->weights : s->diff_weights;
    const ndrt_desc *bias = s->bias ? s->bias : s->diff_bias;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst;
    TRY(ndrt_need(f->name, "src", src));
    TRY(ndrt_need(f->name, "weights", weights));
    TRY(ndrt_need(f->name, "dst", dst));
    return ndrt_check(f->forward(pd, make->engine, prop, f->alg, ndrt_desc_md(src),
                                 ndrt_desc_md(weights), ndrt_desc_md(bias), ndrt_desc_md(dst),
                                 w->strides, w->dilates, w->pad_l, w->pad_r, attr),
                      f->name);
}

static ndrt_status make_backward(const ndrt_make *make, const family *f, const ndrt_window *w,
                                 dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    dnnl_primitive_desc_t hint;
    TRY(ndrt_need(f->name, "diff_dst", s->diff_dst));
    if (s->direction == NDRT_BACKWARD_DATA)
        TRY(ndrt_need(f->name, "diff_src", s->diff_src));
    else
        TRY(ndrt_need(f->name, "diff_weights", s->diff_weights));
    TRY(make_forward(make, f, dnnl_forward_training, NULL, w, &hint));
    dnnl_status_t status;
    if (s->direction == NDRT_BACKWARD_DATA)
        status = f->backward_data(pd, make->engine, f->alg, ndrt_desc_md(s->diff_src),
                                  ndrt_desc_md(s->weights), ndrt_desc_md(s->diff_dst), w->strides,
                                  w->dilates, w->pad_l, w->pad_r, hint, make->attr);
    else
        status = f->backward_weights(pd, make->engine, f->alg, ndrt_desc_md(s->src),
                                     ndrt_desc_md(s->diff_weights), ndrt_desc_md(s->diff_bias),
                                     ndrt_desc_md(s->diff_dst), w->strides, w->dilates, w->pad_l,
                                     w->pad_r, hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, f->name);
}

static ndrt_status make_any(const ndrt_make *make, const family *f, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    ndrt_window window;
    TRY(ndrt_window_read(f->name, s, s->src ? s->src : s->diff_src, &window));
    switch (s->direction) {
    case NDRT_FORWARD_TRAINING:
    case NDRT_FORWARD_INFERENCE:
        return make_forward(make, f, ndrt_prop(s->direction), make->attr, &window, pd);
    case NDRT_BACKWARD_DATA: TRY(ndrt_need(f->name, "weights", s->weights)); break;
    case NDRT_BACKWARD_WEIGHTS: TRY(ndrt_need(f->name, "src", s->src)); break;
    default: return ndrt_no_direction(f->name, s->direction);
    }
    return make_backward(make, f, &window, pd);
}

ndrt_status ndrt_make_convolution(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    return make_any(make, &convolution, pd);
}

ndrt_status ndrt_make_deconvolution(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    return make_any(make, &deconvolution, pd);
}
