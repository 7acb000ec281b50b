#include "prim.h"

#include <string.h>

#include "util.h"

const char *pd_impl(const_dnnl_primitive_desc_t pd) {
    const char *name = "";
    CHECK(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name));
    return name;
}

bool pd_is_reference(const_dnnl_primitive_desc_t pd) { return strncmp(pd_impl(pd), "ref", 3) == 0; }

const_dnnl_memory_desc_t pd_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what) {
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* Moves along the list of implementations to one that is worth running; takes `pd` over. */
static dnnl_primitive_desc_t past_reference(dnnl_primitive_desc_t pd, int skip) {
    for (;;) {
        if (!pd_is_reference(pd) && skip-- == 0) return pd;
        if (dnnl_primitive_desc_next_impl(pd) != dnnl_success) {
            CHECK(dnnl_primitive_desc_destroy(pd));
            return NULL;
        }
    }
}

static dnnl_primitive_desc_t rather_not_reference(dnnl_primitive_desc_t pd) {
    dnnl_primitive_desc_t copy;
    CHECK(dnnl_primitive_desc_clone(&copy, pd));
    dnnl_primitive_desc_t better = past_reference(copy, 0);
    if (!better) return pd;
    CHECK(dnnl_primitive_desc_destroy(pd));
    return better;
}

/* The result of creating a heavy one: a refusal of these layouts is an answer, not an error. */
static dnnl_primitive_desc_t heavy(dnnl_status_t status, dnnl_primitive_desc_t pd, int skip) {
    if (status == dnnl_unimplemented) return NULL;
    CHECK(status);
    return past_reference(pd, skip);
}

/* Post-ops that net_fuse asked for, and the scratchpad left to us: the library's own would belong
 * to the thread that makes the primitive. */
static dnnl_primitive_attr_t attributes(const net_node *node) {
    dnnl_primitive_attr_t attr;
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    if (!node || (!node->relu && node->sum == NET_NONE)) return attr;
    dnnl_post_ops_t ops;
    CHECK(dnnl_post_ops_create(&ops));
    if (node->sum != NET_NONE) CHECK(dnnl_post_ops_append_sum(ops, 1, 0, dnnl_f32));
    if (node->relu && node->clip > 0)
        CHECK(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_clip, 0, node->clip));
    else if (node->relu)
        CHECK(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, ops));
    CHECK(dnnl_post_ops_destroy(ops));
    return attr;
}

int prim_weight_dims(const net *n, const net_node *node, int64_t dims[NET_MAX_DIMS + 1]) {
    const net_param *w = &n->params[node->weight];
    if (node->kind == OP_DENSE) {
        const net_value *in = &n->values[node->in[0]];
        memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndims);
        dims[0] = w->dims[0];
        return in->ndims;
    }
    if (node->groups == 1) {
        memcpy(dims, w->dims, sizeof *dims * (size_t)w->ndims);
        return w->ndims;
    }
    dims[0] = node->groups;
    dims[1] = w->dims[0] / node->groups;
    memcpy(dims + 2, w->dims + 1, sizeof *dims * (size_t)(w->ndims - 1));
    return w->ndims + 1;
}

static dnnl_memory_desc_t any_weights(const net *n, const net_node *node) {
    int64_t dims[NET_MAX_DIMS + 1];
    int ndims = prim_weight_dims(n, node, dims);
    return md_any(ndims, dims);
}

static dnnl_memory_desc_t plain_bias(const net *n, const net_node *node) {
    return node->bias == NET_NONE ? NULL : md_plain(1, n->params[node->bias].dims);
}

static void drop(dnnl_memory_desc_t md) {
    if (md) CHECK(dnnl_memory_desc_destroy(md));
}

dnnl_primitive_desc_t pd_conv(const net *n, const net_node *node, const_dnnl_memory_desc_t src,
                              const_dnnl_memory_desc_t dst, int skip) {
    const dnnl_dims_t stride = {node->stride, node->stride}, pad = {node->pad, node->pad};
    const dnnl_dims_t dilation = {0, 0};
    dnnl_memory_desc_t weights = any_weights(n, node), bias = plain_bias(n, node);
    dnnl_primitive_attr_t attr = attributes(node);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
        &pd, prim_engine(), dnnl_forward_inference, dnnl_convolution_direct, src, weights, bias,
        dst, stride, dilation, pad, pad, attr);
    CHECK(dnnl_primitive_attr_destroy(attr));
    drop(weights);
    drop(bias);
    return heavy(status, pd, skip);
}

dnnl_primitive_desc_t pd_dense(const net *n, const net_node *node, const_dnnl_memory_desc_t src) {
    const net_value *out = &n->values[node->out];
    dnnl_memory_desc_t weights = any_weights(n, node), bias = plain_bias(n, node);
    dnnl_memory_desc_t dst = md_plain(out->ndims, out->dims);
    dnnl_primitive_attr_t attr = attributes(node);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_inner_product_forward_primitive_desc_create(
        &pd, prim_engine(), dnnl_forward_inference, src, weights, bias, dst, attr);
    CHECK(dnnl_primitive_attr_destroy(attr));
    drop(weights);
    drop(bias);
    drop(dst);
    return heavy(status, pd, 0);
}

dnnl_primitive_desc_t pd_pool(const net *n, const net_node *node, const_dnnl_memory_desc_t src) {
    const dnnl_dims_t stride = {node->stride, node->stride}, pad = {node->pad, node->pad};
    const dnnl_dims_t kernel = {node->kernel, node->kernel}, dilation = {0, 0};
    const net_value *out = &n->values[node->out];
    dnnl_memory_desc_t dst = md_any(out->ndims, out->dims);
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_alg_kind_t how =
        node->kind == OP_POOL_MAX ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    dnnl_status_t status = dnnl_pooling_forward_primitive_desc_create(
        &pd, prim_engine(), dnnl_forward_inference, how, src, dst, stride, kernel, dilation, pad,
        pad, attr);
    CHECK(dnnl_primitive_attr_destroy(attr));
    drop(dst);
    return heavy(status, pd, 0);
}

/* ---- the light ones ---- */
dnnl_primitive_desc_t pd_batch_norm(const net_node *node, const_dnnl_memory_desc_t src) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_batch_normalization_forward_primitive_desc_create(
        &pd, prim_engine(), dnnl_forward_inference, src, src, node->epsilon,
        dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}

dnnl_primitive_desc_t pd_relu(const net_node *node, const_dnnl_memory_desc_t src) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    dnnl_alg_kind_t how = node->clip > 0 ? dnnl_eltwise_clip : dnnl_eltwise_relu;
    CHECK(dnnl_eltwise_forward_primitive_desc_create(&pd, prim_engine(), dnnl_forward_inference,
                                                     how, src, src, 0, node->clip, attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}

dnnl_primitive_desc_t pd_add(const_dnnl_memory_desc_t src0, const_dnnl_memory_desc_t src1) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_binary_primitive_desc_create(&pd, prim_engine(), dnnl_binary_add, src0, src1, src0,
                                            attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}

dnnl_primitive_desc_t pd_softmax(const_dnnl_memory_desc_t src) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_softmax_forward_primitive_desc_create(&pd, prim_engine(), dnnl_forward_inference,
                                                     dnnl_softmax_accurate, src, src, 1, attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}

dnnl_primitive_desc_t pd_concat(const_dnnl_memory_desc_t dst, int count,
                                const_dnnl_memory_desc_t const *src) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_concat_primitive_desc_create(&pd, prim_engine(), dst, count, 1, src, attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}

dnnl_primitive_desc_t pd_reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to) {
    dnnl_primitive_attr_t attr = attributes(NULL);
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_reorder_primitive_desc_create(&pd, from, prim_engine(), to, prim_engine(), attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return rather_not_reference(pd);
}
