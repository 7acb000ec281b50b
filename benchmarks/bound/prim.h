/* oneDNN without its ceremony: memory descriptors and primitive descriptors for the nodes of a
 * net. A reference implementation is never handed out while another one exists. */
#ifndef BOUND_PRIM_H
#define BOUND_PRIM_H

#include <stdbool.h>
#include <stddef.h>

#include "net.h"
#include "oneapi/dnnl/dnnl.h"

dnnl_engine_t prim_engine(void); /* the one CPU engine of this process */
const char *prim_isa(void);      /* what oneDNN generates code for */

/* ---- memory descriptors (f32); the caller destroys what it gets ---- */
dnnl_memory_desc_t md_any(int ndims, const int64_t *dims);
dnnl_memory_desc_t md_plain(int ndims, const int64_t *dims); /* row-major */
dnnl_memory_desc_t md_tag(const net_value *v, dnnl_format_tag_t tag);
/* nChw16c where vectors hold 16 floats, else nChw8c. */
dnnl_format_tag_t md_blocked_tag(void);
int64_t md_block(void);

/* Do both put each element at the same place? Strides of dimensions of size 1 do not count. */
bool md_same_bytes(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b);
/* Letters of the dimensions from the slowest to the fastest, then blocks: acdb, aBcd16b. */
void md_name(const_dnnl_memory_desc_t md, char *name, size_t size);

/* ---- primitive descriptors ---- */
/* Convolution, dense and pooling: NULL if oneDNN has only reference code for these layouts.
 * `skip` leaves out that many usable implementations. Weights are always left to oneDNN. */
dnnl_primitive_desc_t pd_conv(const net *n, const net_node *node, const_dnnl_memory_desc_t src,
                              const_dnnl_memory_desc_t dst, int skip);
dnnl_primitive_desc_t pd_dense(const net *n, const net_node *node, const_dnnl_memory_desc_t src);
dnnl_primitive_desc_t pd_pool(const net *n, const net_node *node, const_dnnl_memory_desc_t src);

/* The light ones: reference code if there is nothing else (it is counted and shown). The result
 * has the layout of the source, for add that of the first. */
dnnl_primitive_desc_t pd_batch_norm(const net_node *node, const_dnnl_memory_desc_t src);
dnnl_primitive_desc_t pd_relu(const net_node *node, const_dnnl_memory_desc_t src);
dnnl_primitive_desc_t pd_add(const_dnnl_memory_desc_t src0, const_dnnl_memory_desc_t src1);
dnnl_primitive_desc_t pd_softmax(const_dnnl_memory_desc_t src);
dnnl_primitive_desc_t pd_concat(const_dnnl_memory_desc_t dst, int count,
                                const_dnnl_memory_desc_t const *src);
dnnl_primitive_desc_t pd_reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to);

/* Dims of the weights as oneDNN counts them: groups are a dimension, and dense weights have one
 * for each dimension of the source. Returns their number. */
int prim_weight_dims(const net *n, const net_node *node, int64_t dims[NET_MAX_DIMS + 1]);

/* ---- looking at one ---- */
const_dnnl_memory_desc_t pd_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what);
const char *pd_impl(const_dnnl_primitive_desc_t pd);
bool pd_is_reference(const_dnnl_primitive_desc_t pd);

#endif
