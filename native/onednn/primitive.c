/* Makes primitives from specs, and finds what arguments they take. kinds.c has what differs by
 * kind. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_onednn.h"

/* Creations are serialized: each sets the thread count, and generating code concurrently gains
 * nothing. */
static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t live_prims;
static int64_t reorders_run, reordered_bytes;
static ndrt_prim *given_back; /* stack of freed primitives, linked by next_given_back */

/* ---- threads ------------------------------------------------------------------------------- */

static int threads_for(const ndrt_spec *spec) {
    if (ndrt_spec_work(spec) < NDRT_SMALL_WORK) return 1;
    return spec->nthreads ? spec->nthreads : ndrt_threads_get();
}

/* ---- attributes ----------------------------------------------------------------------------- */

static ndrt_status append_post_op(dnnl_post_ops_t ops, const ndrt_post_op *op) {
    switch (op->kind) {
    case NDRT_POST_ELTWISE:
        return ndrt_check(
            dnnl_post_ops_append_eltwise(ops, (dnnl_alg_kind_t)op->alg, op->alpha, op->beta),
            "dnnl_post_ops_append_eltwise");
    case NDRT_POST_SUM:
        return ndrt_check(dnnl_post_ops_append_sum(ops, op->alpha, 0, dnnl_data_type_undef),
                          "dnnl_post_ops_append_sum");
    case NDRT_POST_BINARY:
        if (!op->desc) return ndrt_fail(NDRT_INVALID, "a binary post-op without its layout");
        return ndrt_check(
            dnnl_post_ops_append_binary(ops, (dnnl_alg_kind_t)op->alg, ndrt_desc_md(op->desc)),
            "dnnl_post_ops_append_binary");
    default: return ndrt_fail(NDRT_INVALID, "post-op kind %d is none of ndrt_post_kind", op->kind);
    }
}

static ndrt_status set_post_ops(dnnl_primitive_attr_t attr, const ndrt_spec *spec) {
    if (spec->npost_ops < 0 || spec->npost_ops > NDRT_MAX_POST_OPS)
        return ndrt_fail(NDRT_INVALID, "%d post-ops: at most %d", spec->npost_ops,
                         NDRT_MAX_POST_OPS);
    if (!spec->npost_ops) return NDRT_OK;
    dnnl_post_ops_t ops;
    TRY(ndrt_check(dnnl_post_ops_create(&ops), "dnnl_post_ops_create"));
    ndrt_status status = NDRT_OK;
    for (int i = 0; i < spec->npost_ops && status == NDRT_OK; i++)
        status = append_post_op(ops, &spec->post_ops[i]);
    if (status == NDRT_OK)
        status = ndrt_check(dnnl_primitive_attr_set_post_ops(attr, ops),
                            "dnnl_primitive_attr_set_post_ops");
    dnnl_post_ops_destroy(ops);
    return status;
}

static ndrt_status attr_new(const ndrt_spec *spec, dnnl_primitive_attr_t *out) {
    TRY(ndrt_check(dnnl_primitive_attr_create(out), "dnnl_primitive_attr_create"));
    /* With oneDNN's own scratchpad a primitive may run only on the thread that created it. */
    ndrt_status status =
        ndrt_check(dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user),
                   "dnnl_primitive_attr_set_scratchpad_mode");
    if (status == NDRT_OK) status = set_post_ops(*out, spec);
    if (status == NDRT_OK && spec->low_products)
        status = ndrt_check(dnnl_primitive_attr_set_fpmath_mode(*out, dnnl_fpmath_mode_bf16),
                            "dnnl_primitive_attr_set_fpmath_mode");
    if (status != NDRT_OK) dnnl_primitive_attr_destroy(*out);
    return status;
}

/* ---- creation ------------------------------------------------------------------------------- */

static ndrt_status check_spec(const ndrt_spec *spec) {
    const char *kind = ndrt_kind_name(spec->kind);
    if (!kind) return ndrt_fail(NDRT_INVALID, "kind %d is none of ndrt_kind", spec->kind);
    if (spec->nsrcs < 0 || (spec->nsrcs && !spec->srcs))
        return ndrt_fail(NDRT_INVALID, "%s: %d sources, but no layouts", kind, spec->nsrcs);
    for (int i = 0; i < spec->nsrcs; i++)
        if (!spec->srcs[i]) return ndrt_fail(NDRT_INVALID, "%s: source %d has no layout", kind, i);
    if (spec->impl_index < 0)
        return ndrt_fail(NDRT_INVALID, "%s: implementation %d", kind, spec->impl_index);
    if (spec->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", kind, spec->nthreads);
    return NDRT_OK;
}

static const char *impl_of(const_dnnl_primitive_desc_t pd) {
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

/* oneDNN's first choice; `hint` must live as long as next implementations are asked for. */
static ndrt_status pd_first(const ndrt_spec *spec, dnnl_primitive_desc_t *hint,
                            dnnl_primitive_desc_t *out) {
    dnnl_primitive_attr_t attr;
    TRY(attr_new(spec, &attr));
    *hint = NULL;
    ndrt_status status = ndrt_pd_create(spec, attr, hint, out);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static ndrt_status pd_next(dnnl_primitive_desc_t pd) {
    return ndrt_check(dnnl_primitive_desc_next_impl(pd), "dnnl_primitive_desc_next_impl");
}

/* Advances to the implementation that the spec asks for by number or name, skipping those known to
 * be faulty. NDRT_UNSUPPORTED: there is none. */
static ndrt_status pd_walk(const ndrt_spec *spec, dnnl_primitive_desc_t pd) {
    for (int i = 0; i < spec->impl_index; i++) TRY(pd_next(pd));
    for (;;) {
        const char *impl = impl_of(pd), *fault = NULL;
        if (!spec->prefer || !strncmp(impl, spec->prefer, strlen(spec->prefer))) {
            fault = spec->any_kernel ? NULL : ndrt_fault_of(spec, pd, impl);
            if (!fault) return NDRT_OK;
        }
        ndrt_status status = pd_next(pd);
        if (status == NDRT_UNSUPPORTED && fault)
            return ndrt_fail(status, "oneDNN has no %s but %s, which %s",
                             ndrt_kind_name(spec->kind), impl, fault);
        TRY(status);
    }
}

static ndrt_status pd_new(const ndrt_spec *spec, dnnl_primitive_desc_t *out) {
    dnnl_primitive_desc_t hint = NULL;
    ndrt_status status = pd_first(spec, &hint, out);
    if (status == NDRT_OK) {
        status = pd_walk(spec, *out);
        if (status != NDRT_OK) dnnl_primitive_desc_destroy(*out);
    }
    if (hint) dnnl_primitive_desc_destroy(hint);
    if (status == NDRT_UNSUPPORTED && spec->prefer) {
        /* a clone has no next implementation, and there is no way back: start again */
        ndrt_spec first = *spec;
        first.prefer = NULL;
        return pd_new(&first, out);
    }
    return status;
}

static int64_t scratchpad_of(const_dnnl_primitive_desc_t pd) {
    const_dnnl_memory_desc_t md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    return md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
}

/* ---- what it will be run with ---------------------------------------------------------------- */

static int md_is_none(const_dnnl_memory_desc_t md) {
    int ndims = 0;
    return !md || dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &ndims) || !ndims;
}

static ndrt_status expect(ndrt_prim *prim, int arg, int optional) {
    const_dnnl_memory_desc_t md =
        dnnl_primitive_desc_query_md(prim->pd, dnnl_query_exec_arg_md, arg);
    if (md_is_none(md)) return NDRT_OK;
    ndrt_expected *e = &prim->expected[prim->nexpected];
    *e = (ndrt_expected){arg, optional, NULL};
    TRY(ndrt_desc_intern(md, &e->desc));
    prim->nexpected++;
    return NDRT_OK;
}

/* oneDNN has a layout for scale and shift even if the flags exclude them. */
static int is_optional(const ndrt_spec *spec, int arg) {
    int scale = spec->flags & NDRT_USE_SCALE, shift = spec->flags & NDRT_USE_SHIFT;
    switch (arg) {
    case NDRT_ARG_SCALE:
    case NDRT_ARG_DIFF_SCALE: return !scale;
    /* the slope of a shift does not depend on the shift */
    case NDRT_ARG_SHIFT: return !shift || !ndrt_is_forward(spec->direction);
    case NDRT_ARG_DIFF_SHIFT: return !shift;
    default: return 0;
    }
}

static ndrt_status expect_all(ndrt_prim *prim, const ndrt_spec *spec) {
    static const int args[] = {NDRT_ARG_SRC,
                               NDRT_ARG_SRC_1,
                               NDRT_ARG_SRC_ITER_C,
                               NDRT_ARG_DST,
                               NDRT_ARG_DST_ITER,
                               NDRT_ARG_DST_ITER_C,
                               NDRT_ARG_WEIGHTS,
                               NDRT_ARG_WEIGHTS_ITER,
                               NDRT_ARG_WEIGHTS_PROJECTION,
                               NDRT_ARG_BIAS,
                               NDRT_ARG_MEAN,
                               NDRT_ARG_VARIANCE,
                               NDRT_ARG_SCALE,
                               NDRT_ARG_SHIFT,
                               NDRT_ARG_WORKSPACE,
                               NDRT_ARG_SCRATCHPAD,
                               NDRT_ARG_DIFF_SRC,
                               NDRT_ARG_DIFF_SRC_ITER,
                               NDRT_ARG_DIFF_SRC_ITER_C,
                               NDRT_ARG_DIFF_DST,
                               NDRT_ARG_DIFF_DST_ITER,
                               NDRT_ARG_DIFF_DST_ITER_C,
                               NDRT_ARG_DIFF_WEIGHTS,
                               NDRT_ARG_DIFF_WEIGHTS_ITER,
                               NDRT_ARG_DIFF_WEIGHTS_PROJECTION,
                               NDRT_ARG_DIFF_BIAS,
                               NDRT_ARG_DIFF_SCALE,
                               NDRT_ARG_DIFF_SHIFT};
    enum { NARGS = sizeof args / sizeof *args };
    size_t room = NARGS + (size_t)spec->nsrcs + (size_t)spec->npost_ops;
    prim->expected = ndrt_malloc(room * sizeof *prim->expected);
    if (!prim->expected) return ndrt_fail(NDRT_NOMEM, "no memory for a primitive");
    for (int i = 0; i < NARGS; i++) TRY(expect(prim, args[i], is_optional(spec, args[i])));
    for (int i = 0; i < spec->nsrcs; i++) TRY(expect(prim, NDRT_ARG_MULTIPLE_SRC + i, 0));
    for (int i = 0; i < spec->npost_ops; i++)
        if (spec->post_ops[i].kind == NDRT_POST_BINARY)
            TRY(expect(prim, NDRT_ARG_POST_OP * (i + 1) + NDRT_ARG_SRC_1, 0));
    return NDRT_OK;
}

static int64_t reordered_by(const ndrt_prim *prim, const ndrt_spec *spec) {
    if (spec->kind != NDRT_REORDER) return -1;
    for (int i = 0; i < prim->nexpected; i++)
        if (prim->expected[i].arg == NDRT_ARG_DST)
            return ndrt_desc_read(prim->expected[i].desc)->nbytes;
    return 0;
}

/* The creation lock is held. */
static void prim_destroy(ndrt_prim *prim) {
    for (int i = 0; i < prim->nexpected; i++) ndrt_desc_free(prim->expected[i].desc);
    free(prim->expected);
    if (prim->kept)
        ndrt_kept_give_back(prim->kept);
    else if (prim->primitive)
        dnnl_primitive_destroy(prim->primitive);
    free(prim);
}

/* The creation lock is held. */
static void drain(void) {
    ndrt_prim *prim = __atomic_exchange_n(&given_back, NULL, __ATOMIC_ACQUIRE);
    while (prim) {
        ndrt_prim *next = prim->next_given_back;
        prim_destroy(prim);
        prim = next;
    }
}

static ndrt_status primitive_of(ndrt_prim *prim, const ndrt_spec *spec,
                                const_dnnl_primitive_desc_t pd) {
    const char *impl = impl_of(pd);
    if (ndrt_is_kept(spec, impl)) {
        TRY(ndrt_kept_take(spec, prim->nthreads, impl, pd, &prim->kept));
        prim->primitive = ndrt_kept_primitive(prim->kept);
        return NDRT_OK;
    }
    TRY(ndrt_gemm_ready(spec, impl));
    return ndrt_primitive_create(&prim->primitive, pd);
}

static ndrt_status prim_fill(ndrt_prim *prim, const ndrt_spec *spec) {
    dnnl_primitive_desc_t pd;
    TRY(ndrt_reserve_creation(spec));
    TRY(pd_new(spec, &pd));
    ndrt_status status = primitive_of(prim, spec, pd);
    dnnl_primitive_desc_destroy(pd);
    TRY(status);
    status = ndrt_check(dnnl_primitive_get_primitive_desc(prim->primitive, &prim->pd),
                        "dnnl_primitive_get_primitive_desc");
    if (status == NDRT_OK)
        status = ndrt_check(
            dnnl_primitive_desc_query(prim->pd, dnnl_query_impl_info_str, 0, &prim->impl),
            "dnnl_primitive_desc_query(impl_info_str)");
    TRY(status);
    prim->fault = ndrt_fault_of(spec, prim->pd, prim->impl);
    prim->scratchpad = scratchpad_of(prim->pd);
    prim->reserve = ndrt_reserve_of(spec, prim->impl, ndrt_biggest_of(spec));
    TRY(expect_all(prim, spec));
    prim->reorders = reordered_by(prim, spec);
    return NDRT_OK;
}

static ndrt_status prim_fill_alone(ndrt_prim *prim, const ndrt_spec *spec) {
    ndrt_native_state state;
    /* convolutions keep the thread count with which they were created */
    TRY(ndrt_enter(&state, prim->nthreads));
    pthread_mutex_lock(&create_lock);
    drain();
    ndrt_status status = prim_fill(prim, spec);
    pthread_mutex_unlock(&create_lock);
    ndrt_leave(&state);
    return status;
}

ndrt_status ndrt_prim_new(const ndrt_spec *spec, ndrt_prim **out) {
    TRY(ndrt_engine_init());
    TRY(check_spec(spec));
    ndrt_prim *prim = ndrt_calloc(1, sizeof *prim);
    if (!prim) return ndrt_fail(NDRT_NOMEM, "no memory for a primitive");
    prim->kind = ndrt_kind_name(spec->kind);
    prim->nthreads = threads_for(spec);

    __atomic_add_fetch(&live_prims, 1, __ATOMIC_RELAXED);
    ndrt_status status = prim_fill_alone(prim, spec);
    if (status != NDRT_OK) {
        ndrt_prim_free(prim);
        return status == NDRT_NOMEM ? status : ndrt_blame_spec(status, spec);
    }
    *out = prim;
    return NDRT_OK;
}

void ndrt_prim_free(ndrt_prim *prim) {
    if (!prim) return;
    __atomic_sub_fetch(&live_prims, 1, __ATOMIC_RELAXED);
    prim->next_given_back = __atomic_load_n(&given_back, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&given_back, &prim->next_given_back, prim, 1,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    /* Destroys it now if the lock is free; a finalizer must not wait, so else the next creation
     * does. */
    if (pthread_mutex_trylock(&create_lock) == 0) {
        drain();
        pthread_mutex_unlock(&create_lock);
    }
}

int64_t ndrt_kept_most(int64_t most) {
    pthread_mutex_lock(&create_lock);
    const int64_t before = ndrt_kept_rest_set(most);
    pthread_mutex_unlock(&create_lock);
    return before;
}

static void at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK)
        pthread_mutex_lock(&create_lock);
    else
        pthread_mutex_unlock(&create_lock);
}

/* Lock order: making a primitive interns layouts, so its lock is taken first. */
static __attribute__((constructor)) void tell_of_locks(void) {
    ndrt_at_fork(at_fork);
    ndrt_at_fork(ndrt_desc_at_fork);
}

const char *ndrt_prim_impl(const ndrt_prim *prim) { return prim->impl; }
const char *ndrt_prim_fault(const ndrt_prim *prim) { return prim->fault; }
int ndrt_prim_threads(const ndrt_prim *prim) { return prim->nthreads; }
int64_t ndrt_prim_scratchpad(const ndrt_prim *prim) { return prim->scratchpad; }
int64_t ndrt_prim_count(void) { return __atomic_load_n(&live_prims, __ATOMIC_RELAXED); }

void ndrt_count_reorder(int64_t nbytes) {
    __atomic_add_fetch(&reorders_run, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&reordered_bytes, nbytes, __ATOMIC_RELAXED);
}

void ndrt_reorders_read(int64_t *count, int64_t *nbytes) {
    *count = __atomic_load_n(&reorders_run, __ATOMIC_RELAXED);
    *nbytes = __atomic_load_n(&reordered_bytes, __ATOMIC_RELAXED);
}

void ndrt_reorders_reset(void) {
    __atomic_store_n(&reorders_run, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&reordered_bytes, 0, __ATOMIC_RELAXED);
}

ndrt_status ndrt_prim_desc(const ndrt_prim *prim, int arg, ndrt_desc **out) {
    const_dnnl_memory_desc_t md =
        dnnl_primitive_desc_query_md(prim->pd, dnnl_query_exec_arg_md, arg);
    *out = NULL;
    return md_is_none(md) ? NDRT_OK : ndrt_desc_intern(md, out);
}
