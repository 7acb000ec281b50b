/* Layout descriptors, interned: equal layouts are one object, with a reference count. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_onednn.h"
#include "oneapi/dnnl/dnnl_debug.h"

struct ndrt_desc {
    ndrt_desc_info info;
    dnnl_memory_desc_t md;
    uint64_t hash;
    ndrt_desc *next_in_bucket;
    ndrt_desc *canonical; /* holds a reference; NULL when this one is it */
    int64_t references;   /* changed under the lock only */
    int64_t given_back;   /* references that ndrt_desc_free has queued */
    ndrt_desc *next_given_back;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static ndrt_desc **buckets;
static size_t nbuckets; /* a power of two */
static int64_t ndescs, next_id;
static ndrt_desc *given_back; /* stack, linked by next_given_back */

const_dnnl_memory_desc_t ndrt_desc_md(const ndrt_desc *desc) { return desc ? desc->md : NULL; }
uint64_t ndrt_desc_hash(const ndrt_desc *desc) { return desc ? desc->hash : 0; }
const ndrt_desc_info *ndrt_desc_read(const ndrt_desc *desc) { return desc ? &desc->info : NULL; }

/* ---- what a layout is ------------------------------------------------------------------- */

static void copy_dims(const_dnnl_memory_desc_t md, dnnl_query_t what, int n, int64_t *to) {
    const dnnl_dims_t *from = NULL;
    if (dnnl_memory_desc_query(md, what, (void *)&from) == dnnl_success && from)
        memcpy(to, *from, (size_t)n * sizeof *to);
}

/* Only what is known of a layout, not which one it is. */
static int same_info(const ndrt_desc_info *a, const ndrt_desc_info *b) {
    size_t from = offsetof(ndrt_desc_info, nbytes);
    return memcmp((const char *)a + from, (const char *)b + from, sizeof *a - from) == 0;
}

/* Strides of dims of size 1 are arbitrary: they become the extent of all dims to their right, as in
 * row-major order, so that two layouts of the same bytes are equal. */
static void order_unit_strides(const ndrt_desc_info *info, int64_t *strides) {
    int64_t extent = 1;
    if (info->nelems == 0) { /* no bytes at all: row-major is as good as any */
        for (int d = info->ndims - 1; d >= 0; d--) {
            strides[d] = extent;
            if (info->dims[d]) extent *= info->dims[d];
        }
        return;
    }
    for (int d = info->ndims - 1; d >= 0; d--) {
        strides[d] = info->dims[d] == 1 ? extent : info->strides[d];
        int64_t reach = info->strides[d] * info->dims[d];
        if (info->dims[d] != 1 && reach > extent) extent = reach;
    }
}

/* From the first byte to the last one that a plain layout touches. oneDNN says more for a view: it
 * counts the gap behind the last row. When it does not say what it would for the strides alone, the
 * layout carries extras (sums for int8) that no query shows: returns 0 then. */
static int plain_nbytes(const ndrt_desc_info *info, int64_t *nbytes) {
    int64_t element = (int64_t)dnnl_data_type_size((dnnl_data_type_t)info->dtype);
    int64_t last = 0, counted = info->nelems == 1;
    for (int d = 0; d < info->ndims; d++) {
        if (info->dims[d] == 1) continue;
        int64_t reach = info->strides[d] * info->dims[d];
        last += reach - info->strides[d];
        if (reach > counted) counted = reach;
    }
    int empty = info->nelems == 0;
    *nbytes = empty ? 0 : (last + 1) * element;
    return (empty ? 0 : counted * element) == info->nbytes;
}

static int row_major(const ndrt_desc_info *info) {
    int64_t expected = 1;
    for (int d = info->ndims - 1; d >= 0; d--) {
        if (info->dims[d] == 1) continue;
        if (info->strides[d] != expected) return 0;
        expected *= info->dims[d];
    }
    return 1;
}

static void fill_info(ndrt_desc_info *info, const_dnnl_memory_desc_t md) {
    memset(info, 0, sizeof *info);
    dnnl_data_type_t dtype = dnnl_data_type_undef;
    dnnl_format_kind_t format = dnnl_format_kind_undef;
    dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &info->ndims);
    dnnl_memory_desc_query(md, dnnl_query_data_type, &dtype);
    dnnl_memory_desc_query(md, dnnl_query_format_kind, &format);
    info->dtype = (int32_t)dtype;
    info->format = (int32_t)format;
    info->nbytes = (int64_t)dnnl_memory_desc_get_size(md);
    copy_dims(md, dnnl_query_dims, info->ndims, info->dims);
    info->nelems = 1;
    for (int d = 0; d < info->ndims; d++) info->nelems *= info->dims[d];
    copy_dims(md, dnnl_query_padded_dims, info->ndims, info->padded_dims);
    info->is_padded =
        memcmp(info->dims, info->padded_dims, (size_t)info->ndims * sizeof *info->dims) != 0;
    if (format != dnnl_blocked) return;
    dnnl_memory_desc_query(md, dnnl_query_submemory_offset_s64, &info->offset0);
    copy_dims(md, dnnl_query_strides, info->ndims, info->strides);
    dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &info->inner_nblks);
    copy_dims(md, dnnl_query_inner_blks, info->inner_nblks, info->inner_blks);
    copy_dims(md, dnnl_query_inner_idxs, info->inner_nblks, info->inner_idxs);
    int64_t nbytes;
    if (info->is_padded || info->inner_nblks || info->offset0 || !plain_nbytes(info, &nbytes))
        return;
    info->nbytes = nbytes;
    info->is_plain = 1;
    info->is_default = info->nelems == 0 || row_major(info);
}

static uint64_t hash_of(const ndrt_desc_info *info) {
    /* The ids at the front are not set yet: they are 0 in every info that is hashed. */
    uint64_t hash = 0xcbf29ce484222325u;
    const uint32_t *words = (const uint32_t *)(const void *)info;
    for (size_t i = 0; i < sizeof *info / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* ---- the table; the lock is held ----------------------------------------------------------- */

static void table_remove(ndrt_desc *desc) {
    ndrt_desc **link = &buckets[desc->hash & (nbuckets - 1)];
    while (*link != desc) link = &(*link)->next_in_bucket;
    *link = desc->next_in_bucket;
    ndescs--;
}

static void unreference(ndrt_desc *desc, int64_t n) {
    while (desc && (desc->references -= n) <= 0) {
        ndrt_desc *canonical = desc->canonical;
        table_remove(desc);
        dnnl_memory_desc_destroy(desc->md);
        free(desc);
        desc = canonical;
        n = 1;
    }
}

static void drain(void) {
    ndrt_desc *desc = __atomic_exchange_n(&given_back, NULL, __ATOMIC_ACQUIRE);
    while (desc) {
        /* Once given_back is 0 another thread may queue the desc again and change its link. */
        ndrt_desc *next = desc->next_given_back;
        unreference(desc, __atomic_exchange_n(&desc->given_back, 0, __ATOMIC_ACQ_REL));
        desc = next;
    }
}

static int grow(void) {
    size_t wanted = nbuckets ? nbuckets * 2 : 256;
    ndrt_desc **bigger = ndrt_calloc(wanted, sizeof *bigger);
    if (!bigger) return nbuckets != 0; /* if that fails, longer chains are correct, too */
    for (size_t i = 0; i < nbuckets; i++)
        for (ndrt_desc *desc = buckets[i], *next; desc; desc = next) {
            next = desc->next_in_bucket;
            desc->next_in_bucket = bigger[desc->hash & (wanted - 1)];
            bigger[desc->hash & (wanted - 1)] = desc;
        }
    free(buckets);
    buckets = bigger;
    nbuckets = wanted;
    return 1;
}

static ndrt_status intern(const_dnnl_memory_desc_t md, dnnl_memory_desc_t *own, ndrt_desc **out);

/* Finds or makes the layout with the same bytes and ordered unit strides. */
static ndrt_status find_canonical(ndrt_desc *desc) {
    const ndrt_desc_info *info = &desc->info;
    desc->info.same_as = info->id;
    if (!info->is_plain) return NDRT_OK;
    int64_t strides[NDRT_MAX_DIMS];
    order_unit_strides(info, strides);
    if (memcmp(strides, info->strides, (size_t)info->ndims * sizeof *strides) == 0) return NDRT_OK;
    dnnl_memory_desc_t md;
    if (dnnl_memory_desc_create_with_strides(&md, info->ndims, info->dims,
                                             (dnnl_data_type_t)info->dtype, strides))
        return NDRT_OK; /* then it stands for itself */
    ndrt_status status = intern(md, &md, &desc->canonical);
    if (status == NDRT_OK) desc->info.same_as = desc->canonical->info.id;
    if (md) dnnl_memory_desc_destroy(md);
    return status;
}

/* With `own`, which points to `md` then, a layout that is new takes that over and leaves NULL
 * there: a copy besides would leave a hole in the heap that no later layout fits. */
static ndrt_status intern(const_dnnl_memory_desc_t md, dnnl_memory_desc_t *own, ndrt_desc **out) {
    ndrt_desc_info info;
    fill_info(&info, md);
    uint64_t hash = hash_of(&info);
    if (ndescs >= (int64_t)nbuckets && !grow())
        return ndrt_fail(NDRT_NOMEM, "no memory for the table of layouts");
    for (ndrt_desc *d = buckets[hash & (nbuckets - 1)]; d; d = d->next_in_bucket)
        /* oneDNN ignores strides of dims of size 1, and only it can compare extras. */
        if (d->hash == hash && same_info(&d->info, &info) && dnnl_memory_desc_equal(d->md, md)) {
            d->references++;
            *out = d;
            return NDRT_OK;
        }
    ndrt_desc *made = ndrt_calloc(1, sizeof *made);
    if (!made) return ndrt_fail(NDRT_NOMEM, "no memory for a layout");
    ndrt_status status = NDRT_OK;
    if (own) {
        made->md = *own;
        *own = NULL;
    } else {
        status = ndrt_check(dnnl_memory_desc_clone(&made->md, md), "dnnl_memory_desc_clone");
    }
    if (status != NDRT_OK) {
        free(made);
        return status;
    }
    memcpy(&made->info, &info,
           sizeof info); /* zeroes the padding between the fields too: it is compared */
    made->info.id = ++next_id;
    made->hash = hash;
    made->references = 1;
    made->next_in_bucket = buckets[hash & (nbuckets - 1)];
    buckets[hash & (nbuckets - 1)] = made;
    ndescs++;
    status = find_canonical(made);
    if (status != NDRT_OK) {
        unreference(made, 1);
        return status;
    }
    *out = made;
    return NDRT_OK;
}

static ndrt_status intern_locked(const_dnnl_memory_desc_t md, dnnl_memory_desc_t *own,
                                 ndrt_desc **out) {
    pthread_mutex_lock(&table_lock);
    drain();
    ndrt_status status = intern(md, own, out);
    pthread_mutex_unlock(&table_lock);
    return status;
}

ndrt_status ndrt_desc_intern(const_dnnl_memory_desc_t md, ndrt_desc **out) {
    return intern_locked(md, NULL, out);
}

void ndrt_desc_hold(const ndrt_desc *desc) {
    if (!desc) return;
    pthread_mutex_lock(&table_lock);
    ((ndrt_desc *)(uintptr_t)desc)->references++;
    pthread_mutex_unlock(&table_lock);
}

void ndrt_desc_free(ndrt_desc *desc) {
    if (!desc) return;
    /* The first release queues the desc; later ones only count, until the queue is drained. */
    if (__atomic_fetch_add(&desc->given_back, 1, __ATOMIC_ACQ_REL)) return;
    desc->next_given_back = __atomic_load_n(&given_back, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&given_back, &desc->next_given_back, desc, 1,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

int64_t ndrt_desc_count(void) {
    pthread_mutex_lock(&table_lock);
    drain();
    int64_t count = ndescs;
    pthread_mutex_unlock(&table_lock);
    return count;
}

void ndrt_desc_at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK)
        pthread_mutex_lock(&table_lock);
    else
        pthread_mutex_unlock(&table_lock);
}

/* ---- tags ----------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    dnnl_format_tag_t tag;
} tag_name;

static tag_name tag_names[dnnl_format_tag_last];
static int ntag_names;
static pthread_once_t tags_once = PTHREAD_ONCE_INIT;

static int by_text(const void *a, const void *b) {
    return strcmp(((const tag_name *)a)->text, ((const tag_name *)b)->text);
}

static void tags_read(void) {
    ntag_names = 0; /* a forked child reads them again if the fork came in between */
    for (int tag = dnnl_format_tag_any; tag < dnnl_format_tag_last; tag++) {
        const char *text = dnnl_fmt_tag2str((dnnl_format_tag_t)tag);
        if (text && *text && !strchr(text, ' '))
            tag_names[ntag_names++] = (tag_name){text, (dnnl_format_tag_t)tag};
    }
    qsort(tag_names, (size_t)ntag_names, sizeof *tag_names, by_text);
}

static dnnl_format_tag_t tag_find(const char *text) {
    pthread_once(&tags_once, tags_read);
    tag_name key = {text, dnnl_format_tag_undef};
    const tag_name *found =
        bsearch(&key, tag_names, (size_t)ntag_names, sizeof *tag_names, by_text);
    return found ? found->tag : dnnl_format_tag_undef;
}

/* oneDNN names only some orders of plain dims; here any order of the first ndims letters is one. */
static int plain_order(const char *tag, int ndims, int *order) {
    unsigned seen = 0;
    for (int i = 0; i < ndims; i++) {
        int dim = tag[i] - 'a';
        if (dim < 0 || dim >= ndims || seen >> dim & 1) return 0;
        seen |= 1u << dim;
        order[i] = dim;
    }
    return tag[ndims] == '\0';
}

/* ---- making ------------------------------------------------------------------------------------
 */

static ndrt_status check_shape(int dtype, int ndims, const int64_t *dims) {
    if (dtype < NDRT_F16 || dtype > NDRT_F64)
        return ndrt_fail(NDRT_INVALID, "dtype %d is none of ndrt_dtype", dtype);
    if (ndims < 1 || ndims > NDRT_MAX_DIMS)
        return ndrt_fail(NDRT_INVALID, "a layout has 1 to %d dims, got %d", NDRT_MAX_DIMS, ndims);
    int64_t nbytes = 8; /* of the widest dtype: no product below can overflow */
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0)
            return ndrt_fail(NDRT_INVALID, "dim %d is %lld, below 0", d, (long long)dims[d]);
        if (dims[d] > 1 && __builtin_mul_overflow(nbytes, dims[d], &nbytes))
            return ndrt_fail(NDRT_INVALID, "the dims' product is more than 63 bits hold");
    }
    return ndrt_reserve_heap(); /* what oneDNN says of a layout that it has no memory for varies */
}

/* Interns `md` and destroys it. */
static ndrt_status intern_own(dnnl_memory_desc_t md, ndrt_desc **out) {
    ndrt_status status = intern_locked(md, &md, out);
    if (md) dnnl_memory_desc_destroy(md);
    return status;
}

ndrt_status ndrt_desc_strided(int dtype, int ndims, const int64_t *dims, const int64_t *strides,
                              ndrt_desc **out) {
    TRY(check_shape(dtype, ndims, dims));
    for (int d = 0; strides && d < ndims; d++)
        if (strides[d] < 0)
            return ndrt_fail(NDRT_INVALID, "stride %d is %lld, below 0: oneDNN has none such", d,
                             (long long)strides[d]);
    dnnl_memory_desc_t md;
    TRY(ndrt_check(
        dnnl_memory_desc_create_with_strides(&md, ndims, dims, (dnnl_data_type_t)dtype, strides),
        "dnnl_memory_desc_create_with_strides"));
    return intern_own(md, out);
}

ndrt_status ndrt_desc_tagged(int dtype, int ndims, const int64_t *dims, const char *tag,
                             ndrt_desc **out) {
    TRY(check_shape(dtype, ndims, dims));
    int order[NDRT_MAX_DIMS];
    if (plain_order(tag, ndims, order)) {
        int64_t strides[NDRT_MAX_DIMS], stride = 1;
        for (int i = ndims - 1; i >= 0; i--) {
            strides[order[i]] = stride;
            stride *= dims[order[i]] ? dims[order[i]] : 1;
        }
        return ndrt_desc_strided(dtype, ndims, dims, strides, out);
    }
    dnnl_format_tag_t found = tag_find(tag);
    if (found == dnnl_format_tag_undef)
        return ndrt_fail(NDRT_INVALID, "no layout is called \"%s\" for %d dims", tag, ndims);
    dnnl_memory_desc_t md;
    if (dnnl_memory_desc_create_with_tag(&md, ndims, dims, (dnnl_data_type_t)dtype, found))
        return ndrt_fail(NDRT_INVALID, "layout \"%s\" does not fit %d dims", tag, ndims);
    return intern_own(md, out);
}

ndrt_status ndrt_desc_permuted(const ndrt_desc *desc, const int *axes, ndrt_desc **out) {
    const ndrt_desc_info *info = &desc->info;
    int place[NDRT_MAX_DIMS]; /* oneDNN wants the inverse permutation: where each axis goes */
    unsigned seen = 0;
    for (int d = 0; d < info->ndims; d++) {
        if (axes[d] < 0 || axes[d] >= info->ndims || seen >> axes[d] & 1)
            return ndrt_fail(NDRT_INVALID, "axes are no permutation of %d dims: axes[%d] is %d",
                             info->ndims, d, axes[d]);
        seen |= 1u << axes[d];
        place[axes[d]] = d;
    }
    dnnl_memory_desc_t md;
    TRY(ndrt_reserve_heap());
    TRY(ndrt_check(dnnl_memory_desc_permute_axes(&md, desc->md, place),
                   "dnnl_memory_desc_permute_axes"));
    return intern_own(md, out);
}

/* Reshapes plain strided dims without copying, if possible: runs of old and new dims with equal
 * products are matched, and the old dims of a run must be contiguous. */
static int reshape_strides(const ndrt_desc_info *info, int ndims, const int64_t *dims,
                           int64_t *strides) {
    int64_t old_dims[NDRT_MAX_DIMS], old_strides[NDRT_MAX_DIMS];
    int nold = 0;
    for (int d = 0; d < info->ndims; d++)
        if (info->dims[d] != 1) {
            old_dims[nold] = info->dims[d];
            old_strides[nold++] = info->strides[d];
        }
    int from = 0, to = 0;
    while (from < nold && to < ndims) {
        int from_end = from + 1, to_end = to + 1;
        int64_t from_product = old_dims[from], to_product = dims[to];
        while (from_product != to_product) {
            if (from_product < to_product) {
                if (from_end == nold) return 0;
                from_product *= old_dims[from_end++];
            } else {
                if (to_end == ndims) return 0;
                to_product *= dims[to_end++];
            }
        }
        for (int d = from; d + 1 < from_end; d++)
            if (old_strides[d] != old_strides[d + 1] * old_dims[d + 1]) return 0;
        int64_t stride = old_strides[from_end - 1];
        for (int d = to_end - 1; d >= to; d--) {
            strides[d] = stride;
            stride *= dims[d];
        }
        from = from_end;
        to = to_end;
    }
    for (; to < ndims; to++) strides[to] = 1; /* only dims of size 1 are left */
    return from == nold;
}

ndrt_status ndrt_desc_reshaped(const ndrt_desc *desc, int ndims, const int64_t *dims,
                               ndrt_desc **out) {
    const ndrt_desc_info *info = &desc->info;
    TRY(check_shape(info->dtype, ndims, dims));
    int64_t nelems = 1;
    for (int d = 0; d < ndims; d++) nelems *= dims[d];
    if (nelems != info->nelems)
        return ndrt_fail(NDRT_INVALID, "%lld elements can not become %lld", (long long)info->nelems,
                         (long long)nelems);
    int64_t strides[NDRT_MAX_DIMS];
    if (nelems == 0 && info->is_plain)
        return ndrt_desc_strided(info->dtype, ndims, dims, NULL, out);
    if (info->is_plain && reshape_strides(info, ndims, dims, strides))
        return ndrt_desc_strided(info->dtype, ndims, dims, strides, out);
    dnnl_memory_desc_t md;
    TRY(ndrt_reserve_heap());
    if (dnnl_memory_desc_reshape(&md, desc->md, ndims, dims))
        return ndrt_fail(NDRT_UNSUPPORTED, "the layout has no such reshape without moving bytes");
    return intern_own(md, out);
}
