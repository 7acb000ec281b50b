/* A cache of convolutions that nobody uses: destroying one in oneDNN 3.2 does not free all of it.
 *
 * oneDNN caches the kernels of its implementations "brgconv" for the life of the process and shares
 * those with equal code. But the code of an activation contains an address of its own, so that it
 * is never equal, and half of a primitive's memory (16 to 70 KiB) leaks when it is destroyed. So a
 * primitive is kept for each spec, and the next user of an equal spec gets it.
 *
 * The number of unused ones is bounded, for programs whose shapes do not recur. If a spec comes
 * back after its primitive was destroyed, the bound was too low and is raised. All static data is
 * guarded by the creation lock. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_onednn.h"

enum { NBUCKETS = 1024, NLAYOUTS = 8, IMPL_ROOM = 96, RESTING_MOST = 1024 };

/* All that a convolution is made from, and its implementation: compared by its bytes. The level of
 * the CPU can not change in the life of a process. */
typedef struct {
    int kind, direction, nthreads, nspatial, npost_ops;
    char impl[IMPL_ROOM];
    int64_t strides[NDRT_MAX_SPATIAL], dilates[NDRT_MAX_SPATIAL];
    int64_t pad_l[NDRT_MAX_SPATIAL], pad_r[NDRT_MAX_SPATIAL];
    const ndrt_desc *layouts[NLAYOUTS];
    ndrt_post_op post_ops[NDRT_MAX_POST_OPS];
} description;

struct ndrt_kept {
    description of;
    uint64_t hash;
    dnnl_primitive_t primitive;
    int64_t users;
    ndrt_kept *next_in_bucket;
    ndrt_kept *older, *newer; /* of those without users */
};

static ndrt_kept *buckets[NBUCKETS];
static int64_t nkept;
static struct {
    ndrt_kept *oldest, *newest;
    int64_t count, most;
} resting = {.most = RESTING_MOST};

static int has_activation(const ndrt_spec *spec) {
    for (int i = 0; i < spec->npost_ops; i++)
        if (spec->post_ops[i].kind == NDRT_POST_ELTWISE) return 1;
    return 0;
}

int ndrt_is_kept(const ndrt_spec *spec, const char *impl) {
    return (spec->kind == NDRT_CONVOLUTION || spec->kind == NDRT_DECONVOLUTION) &&
           has_activation(spec) && strstr(impl, "brgconv") && strlen(impl) < IMPL_ROOM;
}

static void describe(const ndrt_spec *spec, int nthreads, const char *impl, description *d) {
    const ndrt_desc *layouts[NLAYOUTS] = {spec->src,       spec->weights,  spec->bias,
                                          spec->dst,       spec->diff_src, spec->diff_weights,
                                          spec->diff_bias, spec->diff_dst};
    memset(d, 0, sizeof *d); /* zeroes the padding between the fields, too */
    d->kind = spec->kind;
    d->direction = spec->direction;
    d->nthreads = nthreads;
    d->nspatial = spec->nspatial;
    d->npost_ops = spec->npost_ops;
    memcpy(d->impl, impl, strlen(impl));
    memcpy(d->strides, spec->strides, sizeof d->strides);
    memcpy(d->dilates, spec->dilates, sizeof d->dilates);
    memcpy(d->pad_l, spec->pad_l, sizeof d->pad_l);
    memcpy(d->pad_r, spec->pad_r, sizeof d->pad_r);
    memcpy(d->layouts, layouts, sizeof layouts);
    for (int i = 0; i < spec->npost_ops; i++) d->post_ops[i] = spec->post_ops[i];
}

static uint64_t mixed(uint64_t hash, const void *with, size_t nbytes) {
    const unsigned char *bytes = with;
    for (size_t i = 0; i < nbytes; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* The same for layouts that were freed and made again at other addresses. */
static uint64_t hash_of(const description *d) {
    uint64_t hash = mixed(0xcbf29ce484222325u, d, offsetof(description, layouts));
    for (int i = 0; i < NLAYOUTS; i++) {
        const uint64_t layout = ndrt_desc_hash(d->layouts[i]);
        hash = mixed(hash, &layout, sizeof layout);
    }
    for (int i = 0; i < d->npost_ops; i++) {
        const uint64_t layout = ndrt_desc_hash(d->post_ops[i].desc);
        hash = mixed(hash, &d->post_ops[i], offsetof(ndrt_post_op, desc));
        hash = mixed(hash, &layout, sizeof layout);
    }
    return (hash ^ hash >> 29) | 1; /* 0 is none */
}

/* ---- those that were destroyed: their hashes, in the places that these ask for or behind -----
 */

static struct {
    uint64_t *hashes; /* 0: a free place */
    size_t places, count;
} gone;

static uint64_t *place_of(uint64_t *hashes, size_t places, uint64_t hash) {
    size_t at = hash & (places - 1);
    while (hashes[at] && hashes[at] != hash) at = (at + 1) & (places - 1);
    return &hashes[at];
}

static int is_gone(uint64_t hash) {
    return gone.places && *place_of(gone.hashes, gone.places, hash) == hash;
}

/* Without memory it is not remembered. */
static void remember(uint64_t hash) {
    if (gone.count * 2 >= gone.places) {
        const size_t wanted = gone.places ? gone.places * 2 : 256;
        uint64_t *bigger = ndrt_calloc(wanted, sizeof *bigger);
        if (!bigger) return;
        for (size_t i = 0; i < gone.places; i++)
            if (gone.hashes[i]) *place_of(bigger, wanted, gone.hashes[i]) = gone.hashes[i];
        free(gone.hashes);
        gone.hashes = bigger;
        gone.places = wanted;
    }
    uint64_t *place = place_of(gone.hashes, gone.places, hash);
    gone.count += *place != hash;
    *place = hash;
}

/* ---- those that are there ---------------------------------------------------------------------
 */

static ndrt_kept *find(const description *of, uint64_t hash) {
    ndrt_kept *k = buckets[hash % NBUCKETS];
    while (k && (k->hash != hash || memcmp(&k->of, of, sizeof *of))) k = k->next_in_bucket;
    return k;
}

/* Else another layout at the same address would be taken for it. */
static void hold_layouts(const description *d) {
    for (int i = 0; i < NLAYOUTS; i++) ndrt_desc_hold(d->layouts[i]);
    for (int i = 0; i < d->npost_ops; i++) ndrt_desc_hold(d->post_ops[i].desc);
}

static void free_layouts(const description *d) {
    for (int i = 0; i < NLAYOUTS; i++) ndrt_desc_free((ndrt_desc *)(uintptr_t)d->layouts[i]);
    for (int i = 0; i < d->npost_ops; i++)
        ndrt_desc_free((ndrt_desc *)(uintptr_t)d->post_ops[i].desc);
}

static void wake(ndrt_kept *k) {
    *(k->older ? &k->older->newer : &resting.oldest) = k->newer;
    *(k->newer ? &k->newer->older : &resting.newest) = k->older;
    k->older = k->newer = NULL;
    resting.count--;
}

static void destroy(ndrt_kept *k) {
    ndrt_kept **link = &buckets[k->hash % NBUCKETS];
    while (*link != k) link = &(*link)->next_in_bucket;
    *link = k->next_in_bucket;
    wake(k);
    remember(k->hash);
    free_layouts(&k->of);
    dnnl_primitive_destroy(k->primitive);
    free(k);
    __atomic_sub_fetch(&nkept, 1, __ATOMIC_RELAXED);
}

static void destroy_oldest(void) {
    while (resting.count > resting.most) destroy(resting.oldest);
}

static ndrt_status make(const description *of, uint64_t hash, const_dnnl_primitive_desc_t pd,
                        ndrt_kept **out) {
    ndrt_kept *made = ndrt_calloc(1, sizeof *made);
    if (!made) return ndrt_fail(NDRT_NOMEM, "no memory for a primitive");
    const ndrt_status status = ndrt_primitive_create(&made->primitive, pd);
    if (status != NDRT_OK) {
        free(made);
        return status;
    }
    memcpy(&made->of, of, sizeof *of);
    hold_layouts(of);
    made->hash = hash;
    made->next_in_bucket = buckets[hash % NBUCKETS];
    buckets[hash % NBUCKETS] = made;
    __atomic_add_fetch(&nkept, 1, __ATOMIC_RELAXED);
    if (is_gone(hash)) resting.most++;
    *out = made;
    return NDRT_OK;
}

ndrt_status ndrt_kept_take(const ndrt_spec *spec, int nthreads, const char *impl,
                           const_dnnl_primitive_desc_t pd, ndrt_kept **out) {
    description of;
    describe(spec, nthreads, impl, &of);
    const uint64_t hash = hash_of(&of);
    ndrt_kept *k = find(&of, hash);
    if (!k)
        TRY(make(&of, hash, pd, &k));
    else if (!k->users)
        wake(k);
    k->users++;
    *out = k;
    return NDRT_OK;
}

dnnl_primitive_t ndrt_kept_primitive(const ndrt_kept *kept) { return kept->primitive; }

void ndrt_kept_give_back(ndrt_kept *kept) {
    if (--kept->users) return;
    kept->older = resting.newest;
    *(resting.newest ? &resting.newest->newer : &resting.oldest) = kept;
    resting.newest = kept;
    resting.count++;
    destroy_oldest();
}

int64_t ndrt_kept_count(void) { return __atomic_load_n(&nkept, __ATOMIC_RELAXED); }

int64_t ndrt_kept_rest_set(int64_t most) {
    const int64_t before = resting.most;
    resting.most = most;
    destroy_oldest();
    gone.count = gone.places = 0;
    free(gone.hashes);
    gone.hashes = NULL;
    return before;
}
