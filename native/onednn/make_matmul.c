/* Inner product and matrix product. */
#include "ndrt_onednn.h"

static ndrt_status inner_product_forward(const ndrt_make *make, dnnl_prop_kind_t prop,
                                         const_dnnl_primitive_attr_t attr,
                                         dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    const ndrt_desc *src = s->src ? s->src : s->diff_src;
    const ndrt_desc *weights = s->weights ? s->weights : s->diff_weights;
    const ndrt_desc *bias = s->bias ? s->bias : s->diff_bias;
    const ndrt_desc *dst = s->dst ? s->dst : s->diff_dst;
    TRY(ndrt_need("inner product", "src", src));
    TRY(ndrt_need("inner product", "weights", weights));
    TRY(ndrt_need("inner product", "dst", dst));
    return ndrt_check(dnnl_inner_product_forward_primitive_desc_create(
                          pd, make->engine, prop, ndrt_desc_md(src), ndrt_desc_md(weights),
                          ndrt_desc_md(bias), ndrt_desc_md(dst), attr),
                      "inner product");
}

static ndrt_status inner_product_backward_data(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(ndrt_need("inner product", "diff_src", s->diff_src));
    TRY(ndrt_need("inner product", "weights", s->weights));
    TRY(ndrt_need("inner product", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(inner_product_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_inner_product_backward_data_primitive_desc_create(
        pd, make->engine, ndrt_desc_md(s->diff_src), ndrt_desc_md(s->weights),
        ndrt_desc_md(s->diff_dst), hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "inner product, backward by data");
}

static ndrt_status inner_product_backward_weights(const ndrt_make *make,
                                                  dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(ndrt_need("inner product", "src", s->src));
    TRY(ndrt_need("inner product", "diff_weights", s->diff_weights));
    TRY(ndrt_need("inner product", "diff_dst", s->diff_dst));
    dnnl_primitive_desc_t hint;
    TRY(inner_product_forward(make, dnnl_forward_training, NULL, &hint));
    dnnl_status_t status = dnnl_inner_product_backward_weights_primitive_desc_create(
        pd, make->engine, ndrt_desc_md(s->src), ndrt_desc_md(s->diff_weights),
        ndrt_desc_md(s->diff_bias), ndrt_desc_md(s->diff_dst), hint, make->attr);
    *make->hint = hint;
    return ndrt_check(status, "inner product, backward by weights");
}

ndrt_status ndrt_make_inner_product(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    switch (make->spec->direction) {
    case NDRT_FORWARD_TRAINING:
    case NDRT_FORWARD_INFERENCE:
        return inner_product_forward(make, ndrt_prop(make->spec->direction), make->attr, pd);
    case NDRT_BACKWARD_DATA: return inner_product_backward_data(make, pd);
    case NDRT_BACKWARD_WEIGHTS: return inner_product_backward_weights(make, pd);
    default: return ndrt_no_direction("inner product", make->spec->direction);
    }
}

ndrt_status ndrt_make_matmul(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(ndrt_need("matmul", "src", s->src));
    TRY(ndrt_need("matmul", "weights", s->weights));
    TRY(ndrt_need("matmul", "dst", s->dst));
    return ndrt_check(dnnl_matmul_primitive_desc_create(
                          pd, make->engine, ndrt_desc_md(s->src), ndrt_desc_md(s->weights),
                          ndrt_desc_md(s->bias), ndrt_desc_md(s->dst), make->attr),
                      "matmul");
}
