/* Lock sets: leases on several chunks that are acquired and released as a unit, and the note of
 * whether they are held; releasing is idempotent. */
#include <stdlib.h>

#include "ndrt_leases.h"

/* Attempts until a lease whose bias was dropped is biased again, over which the cost of two more
 * checks of all leases is spread. */
enum { PATIENCE = 1024 };

/* An interrupt may hit a caller between any two of its steps. So the call that acquires leases also
 * notes that they are held, and releasing twice, or without holding, does nothing. */
struct ndrt_lockset {
    ndrt_lockset_kind kind;
    int own; /* of an upgrade: shared leases that its caller has */
    int held;
    uint32_t era;      /* when it was taken */
    const char *taker; /* thread that took it: an executor's is taken by one after another */
    /* Of what is tried again and again: */
    int by_bias;          /* how it is held: biased leases are not counted in their chunks */
    int ncounted;         /* leases that are taken one by one all the same */
    int *counted;         /* their places */
    int nchanging;        /* those among them that are shared, but revoked too often to be biased */
    int patience;         /* tries until those are biased again */
    uint64_t unrevoked;   /* the count of revocations when none of the others was written to */
    ndrt_reading reading; /* of the others */
    ndrt_reader *readers; /* one for each lease */
    int n;
    ndrt_lease leases[];
};

ndrt_status ndrt_lockset_new(ndrt_lockset_kind kind, int n, ndrt_chunk *const *chunks,
                             const uint8_t *exclusive, ndrt_new_lockset *out) {
    for (int i = 0; i < n; i++)
        if (!chunks[i]) return ndrt_fail(NDRT_INVALID, "lease %d of %d has no chunk", i, n);
    ndrt_lockset *set = ndrt_malloc(sizeof *set + (size_t)n * sizeof *set->leases);
    if (!set) return ndrt_fail(NDRT_NOMEM, "no memory for a lock set of %d chunks", n);
    *set = (ndrt_lockset){.kind = kind};
    for (int i = 0; i < n; i++) set->leases[i] = (ndrt_lease){chunks[i], exclusive && exclusive[i]};
    set->own = n && kind == NDRT_LOCKSET_UPGRADE ? !set->leases[0].exclusive : 0;
    set->n = ndrt_leases_settle(set->leases, n);
    /* a finalizer may run after the owners of the chunks are gone */
    for (int i = 0; i < set->n; i++)
        __atomic_add_fetch(&set->leases[i].chunk->references, 1, __ATOMIC_RELAXED);
    *out = (ndrt_new_lockset){set, (intptr_t)set};
    return NDRT_OK;
}

static _Thread_local char me; /* its address is the thread's */

static int is_held(const ndrt_lockset *set) {
    return set->held && (set->kind == NDRT_LOCKSET_PACKED || set->era == ndrt_era);
}

static int note(ndrt_lockset *set, int got) {
    set->era = ndrt_era;
    __atomic_store_n(&set->taker, &me, __ATOMIC_RELEASE);
    set->held = got;
    return got;
}

/* Prefetches all chunks, so that cache misses overlap instead of following each other after the
 * locked operations. */
static void prefetch(const ndrt_lockset *set) {
    for (int i = 0; i < set->n; i++) __builtin_prefetch(&set->leases[i].chunk->lease_word, 1);
}

static void add_packers(const ndrt_lockset *set, int packers) {
    for (int i = 0; i < set->n; i++)
        __atomic_add_fetch(&set->leases[i].chunk->packers, packers, __ATOMIC_SEQ_CST);
}

int ndrt_lockset_take(ndrt_lockset *set) {
    if (is_held(set)) return 0;
    int got = 1;
    set->by_bias = 0;
    switch (set->kind) {
    case NDRT_LOCKSET_LEASES:
        prefetch(set);
        if (!ndrt_leases_take(set->leases, set->n)) {
            /* what was acquired and undone may have made a sleeper fail */
            ndrt_leases_wake();
            ndrt_leases_wait(set->leases, set->n);
        }
        break;
    case NDRT_LOCKSET_UPGRADE:
        for (int i = 0; i < set->n && got; i++)
            got = ndrt_lease_upgrade(set->leases[i].chunk, set->own);
        if (!got) ndrt_leases_wake();
        break;
    case NDRT_LOCKSET_PACKED: add_packers(set, 1); break;
    }
    return note(set, got);
}

/* ---- biased leases: flagged by the reader, not counted in the chunk ------------------------- */

ndrt_status ndrt_lockset_bias(ndrt_lockset *set) {
    if (set->readers) return NDRT_OK;
    size_t n = (size_t)set->n;
    ndrt_reader *readers = ndrt_calloc(n + 1, sizeof *readers);
    int *counted = readers ? ndrt_malloc((n + 1) * sizeof *counted) : NULL;
    if (!counted) {
        free(readers);
        return ndrt_fail(NDRT_NOMEM, "no memory to bias leases on %zu chunks", n);
    }
    set->readers = readers;
    set->counted = counted;
    set->reading.revoked = 1; /* nothing was checked yet */
    ndrt_readers_enter(readers, set->leases, set->n, &set->reading);
    return NDRT_OK;
}

/* Chunks that changed often may have stopped doing so, as weights that were loaded twice. */
static void bias_again(ndrt_lockset *set) {
    if (!set->nchanging || --set->patience) return;
    ndrt_readers_enter(set->readers, set->leases, set->n, &set->reading);
    __atomic_add_fetch(&set->reading.revoked, 1, __ATOMIC_SEQ_CST);
}

/* Checks each chunk after a revocation. 0: one of them is being written to. */
static int look(ndrt_lockset *set) {
    ndrt_readers_settle(set->readers, set->leases, set->n);
    set->ncounted = set->nchanging = 0;
    set->patience = PATIENCE;
    int readable = 1;
    for (int i = 0; i < set->n; i++) {
        if (set->readers[i].biased) {
            readable &= ndrt_lease_readable(set->leases[i].chunk);
        } else {
            set->counted[set->ncounted++] = i;
            set->nchanging += !set->leases[i].exclusive;
        }
    }
    return readable;
}

/* Acquires the first n of those that are counted, and sets the flag for all others. */
static void leave(ndrt_lockset *set, int n) {
    for (int i = 0; i < n; i++) ndrt_lease_undo(&set->leases[set->counted[i]]);
    __atomic_store_n(&set->reading.reads, ndrt_word_of(0), __ATOMIC_SEQ_CST);
}

int ndrt_lockset_try(ndrt_lockset *set) {
    if (set->kind != NDRT_LOCKSET_LEASES || is_held(set) || !set->readers) return 0;
    bias_again(set);
    __atomic_store_n(&set->reading.reads, ndrt_word_of(1), __ATOMIC_SEQ_CST);
    uint64_t revoked = __atomic_load_n(&set->reading.revoked, __ATOMIC_SEQ_CST);
    int got = revoked == set->unrevoked || look(set), n = 0;
    while (got && n < set->ncounted)
        if ((got = ndrt_lease_try(&set->leases[set->counted[n]]))) n++;
    if (got) {
        set->unrevoked = revoked;
        set->by_bias = 1;
    } else {
        leave(set, n);
        ndrt_leases_wake();
    }
    return note(set, got);
}

uint64_t ndrt_lockset_unrevoked(const ndrt_lockset *set) {
    return is_held(set) && set->by_bias ? set->unrevoked : 0;
}

int ndrt_lockset_is_biased(const ndrt_lockset *set, const ndrt_chunk *chunk) {
    for (int low = 0, high = set->readers ? set->n : 0; low < high;) {
        int middle = low + (high - low) / 2;
        const ndrt_chunk *found = set->leases[middle].chunk;
        if (found == chunk) return set->readers[middle].biased;
        if (found < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- release -------------------------------------------------------------------------------- */

void ndrt_lockset_give_back(ndrt_lockset *set) {
    if (!is_held(set)) return;
    set->held = 0;
    switch (set->kind) {
    case NDRT_LOCKSET_LEASES:
        if (set->by_bias) {
            leave(set, set->ncounted);
            break;
        }
        prefetch(set);
        for (int i = 0; i < set->n; i++) ndrt_lease_undo(&set->leases[i]);
        break;
    case NDRT_LOCKSET_UPGRADE:
        for (int i = 0; i < set->n; i++) ndrt_lease_downgrade(set->leases[i].chunk, set->own);
        break;
    case NDRT_LOCKSET_PACKED: add_packers(set, -1); return;
    }
    ndrt_leases_wake();
}

int ndrt_lockset_meets(const ndrt_lockset *held, const ndrt_lockset *wanted) {
    if (__atomic_load_n(&held->taker, __ATOMIC_ACQUIRE) != &me || !is_held(held)) return 0;
    for (int i = 0, j = 0; i < held->n && j < wanted->n;) { /* both are in order */
        const ndrt_lease *a = &held->leases[i], *b = &wanted->leases[j];
        if (a->chunk == b->chunk && (a->exclusive || b->exclusive)) return 2;
        if (a->chunk <= b->chunk) i++;
        if (b->chunk <= a->chunk) j++;
    }
    return 1;
}

int ndrt_lockset_exit(ndrt_lockset *set, void *keep, void *kind, void *error, void *trace) {
    (void)keep, (void)kind, (void)error, (void)trace;
    ndrt_lockset_give_back(set);
    return 0;
}

void ndrt_lockset_free(ndrt_lockset *set) {
    if (!set) return;
    ndrt_lockset_give_back(set);
    if (set->readers) ndrt_readers_leave(set->readers, set->leases, set->n);
    for (int i = 0; i < set->n; i++) ndrt_chunk_free(set->leases[i].chunk);
    free(set->readers);
    free(set->counted);
    free(set);
}
