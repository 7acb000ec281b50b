/* Memory descriptors: making, comparing and naming them. */
#include <stdio.h>
#include <string.h>

#include "prim.h"
#include "util.h"

dnnl_engine_t prim_engine(void) {
    static dnnl_engine_t engine;
    if (engine) return engine;
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    /* When the first implementation of a list is in oneDNN 3.2's primitive cache, the step to the
     * next one gives the same again, and trying implementations in turn would try one twice. */
    CHECK(dnnl_set_primitive_cache_capacity(0));
    return engine;
}

const char *prim_isa(void) {
    switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx2_vnni_2: return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
    case dnnl_cpu_isa_avx512_core_amx_fp16: return "avx512_core_amx_fp16";
    default: return "unknown";
    }
}

int64_t md_block(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core
               ? 16
               : 8;
}

dnnl_format_tag_t md_blocked_tag(void) { return md_block() == 16 ? dnnl_nChw16c : dnnl_nChw8c; }

static dnnl_memory_desc_t with_tag(int ndims, const int64_t *dims, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t md;
    dnnl_dims_t all = {0}; /* the library's type: longer than ours */
    memcpy(all, dims, sizeof *dims * (size_t)ndims);
    CHECK(dnnl_memory_desc_create_with_tag(&md, ndims, all, dnnl_f32, tag));
    return md;
}

dnnl_memory_desc_t md_any(int ndims, const int64_t *dims) {
    return with_tag(ndims, dims, dnnl_format_tag_any);
}

dnnl_memory_desc_t md_plain(int ndims, const int64_t *dims) {
    static const dnnl_format_tag_t row_major[] = {0,        dnnl_a,    dnnl_ab,
                                                  dnnl_abc, dnnl_abcd, dnnl_abcde};
    return with_tag(ndims, dims, row_major[ndims]);
}

dnnl_memory_desc_t md_tag(const net_value *v, dnnl_format_tag_t tag) {
    return with_tag(v->ndims, v->dims, tag);
}

/* ---- comparing and naming ---- */
typedef struct {
    int ndims, n_blocks;
    const dnnl_dims_t *dims, *strides, *blocks, *block_dims;
} md_view;

static md_view look(const_dnnl_memory_desc_t md) {
    md_view v = {0};
    dnnl_format_kind_t kind;
    CHECK(dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &v.ndims));
    CHECK(dnnl_memory_desc_query(md, dnnl_query_dims, &v.dims));
    CHECK(dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind));
    if (kind != dnnl_blocked) return v; /* any, or a layout of the library's own */
    CHECK(dnnl_memory_desc_query(md, dnnl_query_strides, &v.strides));
    CHECK(dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &v.n_blocks));
    CHECK(dnnl_memory_desc_query(md, dnnl_query_inner_blks, &v.blocks));
    CHECK(dnnl_memory_desc_query(md, dnnl_query_inner_idxs, &v.block_dims));
    return v;
}

bool md_same_bytes(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b) {
    if (dnnl_memory_desc_equal(a, b)) return true;
    md_view x = look(a), y = look(b);
    if (!x.strides || !y.strides || x.n_blocks || y.n_blocks || x.ndims != y.ndims) return false;
    for (int i = 0; i < x.ndims; i++) {
        if ((*x.dims)[i] != (*y.dims)[i]) return false;
        if ((*x.dims)[i] > 1 && (*x.strides)[i] != (*y.strides)[i]) return false;
    }
    return true;
}

void md_name(const_dnnl_memory_desc_t md, char *name, size_t size) {
    md_view v = look(md);
    if (!v.strides) {
        snprintf(name, size, "own");
        return;
    }
    /* Insertion sort by stride, largest first; stable, so that sizes of 1 keep their place. */
    int order[DNNL_MAX_NDIMS];
    for (int i = 0; i < v.ndims; i++) {
        int k = i;
        for (; k > 0 && (*v.strides)[order[k - 1]] < (*v.strides)[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    char text[128];
    int at = 0;
    for (int i = 0; i < v.ndims; i++) {
        bool blocked = false;
        for (int b = 0; b < v.n_blocks; b++) blocked |= (*v.block_dims)[b] == order[i];
        text[at++] = (char)((blocked ? 'A' : 'a') + order[i]);
    }
    text[at] = 0;
    for (int b = 0; b < v.n_blocks; b++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%d%c", (int)(*v.blocks)[b],
                       (char)('a' + (*v.block_dims)[b]));
    snprintf(name, size, "%s", text);
}
