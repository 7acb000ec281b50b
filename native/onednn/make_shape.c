/* Many sources or another arrangement: concat, sum, reduction, reorder. */
#include <stdlib.h>

#include "ndrt_onednn.h"

enum { ON_STACK = 64 };

/* Room for the sources' memory descriptors: `few`, or memory of its own to be freed. */
static const_dnnl_memory_desc_t *sources(const ndrt_spec *s, const_dnnl_memory_desc_t *few) {
    const_dnnl_memory_desc_t *mds =
        s->nsrcs <= ON_STACK ? few : ndrt_malloc((size_t)s->nsrcs * sizeof *mds);
    for (int i = 0; mds && i < s->nsrcs; i++) mds[i] = ndrt_desc_md(s->srcs[i]);
    return mds;
}

ndrt_status ndrt_make_concat(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (!s->nsrcs) return ndrt_fail(NDRT_INVALID, "concat: no sources");
    const_dnnl_memory_desc_t few[ON_STACK], *mds = sources(s, few);
    if (!mds) return ndrt_fail(NDRT_NOMEM, "no memory for %d sources", s->nsrcs);
    dnnl_status_t status = dnnl_concat_primitive_desc_create(pd, make->engine, ndrt_desc_md(s->dst),
                                                             s->nsrcs, s->axis, mds, make->attr);
    if (mds != few) free(mds);
    return ndrt_check(status, "concat");
}

ndrt_status ndrt_make_sum(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    if (!s->nsrcs) return ndrt_fail(NDRT_INVALID, "sum: no sources");
    if (!s->scales) return ndrt_fail(NDRT_INVALID, "sum: no scales");
    const_dnnl_memory_desc_t few[ON_STACK], *mds = sources(s, few);
    if (!mds) return ndrt_fail(NDRT_NOMEM, "no memory for %d sources", s->nsrcs);
    dnnl_status_t status = dnnl_sum_primitive_desc_create(pd, make->engine, ndrt_desc_md(s->dst),
                                                          s->nsrcs, s->scales, mds, make->attr);
    if (mds != few) free(mds);
    return ndrt_check(status, "sum");
}

ndrt_status ndrt_make_reduction(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(ndrt_need("reduction", "src", s->src));
    TRY(ndrt_need("reduction", "dst", s->dst));
    return ndrt_check(dnnl_reduction_primitive_desc_create(
                          pd, make->engine, (dnnl_alg_kind_t)s->alg, ndrt_desc_md(s->src),
                          ndrt_desc_md(s->dst), s->alpha, s->epsilon, make->attr),
                      "reduction");
}

ndrt_status ndrt_make_reorder(const ndrt_make *make, dnnl_primitive_desc_t *pd) {
    const ndrt_spec *s = make->spec;
    TRY(ndrt_need("reorder", "src", s->src));
    TRY(ndrt_need("reorder", "dst", s->dst));
    return ndrt_check(dnnl_reorder_primitive_desc_create(pd, ndrt_desc_md(s->src), make->engine,
                                                         ndrt_desc_md(s->dst), make->engine,
                                                         make->attr),
                      "reorder");
}
