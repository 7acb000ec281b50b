/* Arguments of primitives: checks them, makes oneDNN's memory objects of them, runs. */
#include <pthread.h>
#include <stdlib.h>

#include "ndrt_onednn.h"

/* ---- checking ------------------------------------------------------------------------------- */

/* The same bytes in the same order: the same layout, or one that differs in the strides of dims of
 * size 1, or dense row-major under another shape (a bias may be 1xC or C). */
static int fits(const ndrt_expected *e, const ndrt_desc *given) {
    if (e->desc == given) return 1;
    const ndrt_desc_info *want = ndrt_desc_read(e->desc), *got = ndrt_desc_read(given);
    if (e->arg == NDRT_ARG_SCRATCHPAD || e->arg == NDRT_ARG_WORKSPACE)
        return got->nbytes >= want->nbytes;
    return got->same_as == want->same_as ||
           (got->dtype == want->dtype && got->nelems == want->nelems &&
            got->nbytes == want->nbytes && got->is_default && want->is_default);
}

static ndrt_status check_one(const ndrt_prim *prim, const ndrt_expected *e, const ndrt_arg *given) {
    if (!fits(e, given->desc)) {
        char want[256], got[256];
        ndrt_describe(e->desc, want, sizeof want);
        ndrt_describe(given->desc, got, sizeof got);
        return ndrt_fail(NDRT_INVALID, "%s: argument %d has layout %s, made for %s", prim->kind,
                         e->arg, got, want);
    }
    if (!given->data && ndrt_desc_read(given->desc)->nbytes)
        return ndrt_fail(NDRT_INVALID, "%s: argument %d has no bytes, its layout needs %lld",
                         prim->kind, e->arg, (long long)ndrt_desc_read(given->desc)->nbytes);
    return NDRT_OK;
}

/* oneDNN checks none of this: it would read or write whatever memory is there. */
ndrt_status ndrt_args_check(const ndrt_prim *prim, int nargs, const ndrt_arg *args) {
    for (int i = 0; i < nargs; i++)
        if (!args[i].desc)
            return ndrt_fail(NDRT_INVALID, "%s: argument %d has no layout", prim->kind,
                             args[i].arg);
    int at = 0; /* both lists mostly have the same order: continue where the last one was found */
    for (int i = 0; i < prim->nexpected; i++) {
        const ndrt_expected *e = &prim->expected[i];
        int tried = 0;
        for (; tried < nargs && args[at].arg != e->arg; tried++) at = at + 1 < nargs ? at + 1 : 0;
        if (tried == nargs) {
            if (e->optional) continue;
            return ndrt_fail(NDRT_INVALID, "%s: argument %d is missing", prim->kind, e->arg);
        }
        TRY(check_one(prim, e, &args[at]));
    }
    return NDRT_OK;
}

/* ---- memory objects of a plan step ------------------------------------------------------------
 */

ndrt_status ndrt_args_make(int nargs, const ndrt_arg *args, dnnl_exec_arg_t *made) {
    for (int i = 0; i < nargs; i++) {
        ndrt_status status =
            ndrt_check(dnnl_memory_create(&made[i].memory, ndrt_desc_md(args[i].desc),
                                          ndrt_engine(), args[i].data),
                       "dnnl_memory_create");
        if (status != NDRT_OK) {
            ndrt_args_destroy(i, made);
            return status;
        }
        made[i].arg = args[i].arg;
    }
    return NDRT_OK;
}

void ndrt_args_destroy(int nargs, dnnl_exec_arg_t *made) {
    for (int i = 0; i < nargs; i++) dnnl_memory_destroy(made[i].memory);
}

/* ---- memory objects of a single call -----------------------------------------------------------
 */

/* Making and destroying a memory object costs as much as a small primitive's whole run, so each
 * thread caches some by layout and points them at other bytes. They own copies of their layouts,
 * and ids of layouts are never reused, so that no entry can be stale. */
enum { NSLOTS = 64, PROBES = 4, MAX_KEPT = 16 };
typedef struct {
    int64_t desc_id;
    uint64_t call; /* the last call that used it */
    dnnl_memory_t memory;
} slot;
typedef struct {
    uint64_t call;
    slot slots[NSLOTS];
} kept_memories;

static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int kept_works;
static _Thread_local kept_memories *kept;

static void kept_destroy(void *p) {
    kept_memories *k = p;
    for (int i = 0; i < NSLOTS; i++)
        if (k->slots[i].memory) dnnl_memory_destroy(k->slots[i].memory);
    free(k);
}

static void kept_start(void) { kept_works = pthread_key_create(&kept_key, kept_destroy) == 0; }

static int kept_ready(void) {
    if (kept) return 1;
    pthread_once(&kept_once, kept_start);
    kept_memories *made = kept_works ? calloc(1, sizeof *made) : NULL;
    if (made && pthread_setspecific(kept_key, made)) {
        free(made);
        made = NULL;
    }
    kept = made;
    return made != NULL; /* without it everything works, slower */
}

/* A slot that this call does not use yet, preferably one that has this layout. */
static slot *slot_find(int64_t desc_id) {
    slot *free_one = NULL;
    for (unsigned i = 0; i < PROBES; i++) {
        slot *s = &kept->slots[((uint64_t)desc_id * 7 + i) % NSLOTS];
        if (s->call == kept->call) continue;
        if (s->desc_id == desc_id) return s;
        if (!free_one || s->call < free_one->call) free_one = s;
    }
    return free_one;
}

static ndrt_status borrow(const ndrt_arg *arg, dnnl_exec_arg_t *made, int *borrowed) {
    int64_t id = ndrt_desc_read(arg->desc)->id;
    slot *s = slot_find(id);
    *borrowed = s != NULL;
    if (!s) return ndrt_args_make(1, arg, made);
    if (s->desc_id == id) {
        TRY(ndrt_check(dnnl_memory_set_data_handle(s->memory, arg->data),
                       "dnnl_memory_set_data_handle"));
    } else {
        TRY(ndrt_args_make(1, arg, made));
        if (s->memory) dnnl_memory_destroy(s->memory);
        s->memory = made->memory;
        s->desc_id = id;
    }
    s->call = kept->call;
    *made = (dnnl_exec_arg_t){arg->arg, s->memory};
    return NDRT_OK;
}

/* ---- running ------------------------------------------------------------------------------------
 */

ndrt_status ndrt_prim_execute(const ndrt_prim *prim, int nargs, const dnnl_exec_arg_t *args) {
    dnnl_stream_t stream;
    if (prim->reserve) TRY(ndrt_reserve_space(prim->reserve, prim->kind));
    TRY(ndrt_stream(&stream));
    TRY(ndrt_check(dnnl_primitive_execute(prim->primitive, stream, nargs, args),
                   "dnnl_primitive_execute"));
    TRY(ndrt_check(dnnl_stream_wait(stream), "dnnl_stream_wait"));
    if (prim->reorders >= 0) ndrt_count_reorder(prim->reorders);
    return NDRT_OK;
}

static ndrt_status execute_in_mode(const ndrt_prim *prim, int nargs, const dnnl_exec_arg_t *args) {
    ndrt_native_state state;
    TRY(ndrt_enter(&state, prim->nthreads));
    ndrt_status status = ndrt_prim_execute(prim, nargs, args);
    ndrt_leave(&state);
    return status;
}

static ndrt_status run_few(const ndrt_prim *prim, int nargs, const ndrt_arg *args) {
    dnnl_exec_arg_t made[MAX_KEPT];
    int borrowed[MAX_KEPT];
    ndrt_status status = NDRT_OK;
    int n = 0;
    kept->call++;
    for (; n < nargs; n++) {
        status = borrow(&args[n], &made[n], &borrowed[n]);
        if (status != NDRT_OK) break;
    }
    if (status == NDRT_OK) status = execute_in_mode(prim, nargs, made);
    for (int i = 0; i < n; i++)
        if (!borrowed[i]) dnnl_memory_destroy(made[i].memory);
    return status;
}

static ndrt_status run_many(const ndrt_prim *prim, int nargs, const ndrt_arg *args) {
    dnnl_exec_arg_t *made = ndrt_malloc((size_t)nargs * sizeof *made);
    if (!made) return ndrt_fail(NDRT_NOMEM, "no memory for %d arguments", nargs);
    ndrt_status status = ndrt_args_make(nargs, args, made);
    if (status == NDRT_OK) {
        status = execute_in_mode(prim, nargs, made);
        ndrt_args_destroy(nargs, made);
    }
    free(made);
    return status;
}

ndrt_status ndrt_prim_run(const ndrt_prim *prim, int nargs, const ndrt_arg *args) {
    TRY(ndrt_args_check(prim, nargs, args));
    TRY(ndrt_reserve_heap());
    return nargs <= MAX_KEPT && kept_ready() ? run_few(prim, nargs, args)
                                             : run_many(prim, nargs, args);
}
