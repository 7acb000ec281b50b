/* Chunk counters, and leases: who may read or write a chunk's bytes right now. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

/* A lease is taken by compare-and-swap on the chunk. Only a request that could not be met takes
 * the lock, to sleep; whoever gives something back wakes the sleepers. Nobody holds part of a
 * request while asleep, so requests can not block one another for ever. There is no fairness: a
 * writer waits as long as readers keep overlapping. */
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;
static int waiting;
static uint64_t next_id;

ndrt_status ndrt_chunk_new(ndrt_chunk **out) {
    ndrt_chunk *chunk = ndrt_calloc(1, sizeof *chunk);
    if (!chunk) return ndrt_fail(NDRT_NOMEM, "no memory for a chunk");
    chunk->id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
    chunk->account = ndrt_account_take(NULL);
    *out = chunk;
    return NDRT_OK;
}

void ndrt_chunk_free(ndrt_chunk *chunk) {
    if (!chunk) return;
    ndrt_account_free(chunk->account);
    free(chunk);
}

void ndrt_chunk_add_version(ndrt_chunk *chunk) {
    __atomic_add_fetch(&chunk->version, 1, __ATOMIC_SEQ_CST);
}

void ndrt_chunk_add_writes(ndrt_chunk *chunk) {
    __atomic_add_fetch(&chunk->writes, 1, __ATOMIC_SEQ_CST);
}

void ndrt_chunk_add_pins(ndrt_chunk *chunk, int pins, int writable) {
    __atomic_add_fetch(&chunk->pins, pins, __ATOMIC_SEQ_CST);
    if (writable < 0) __atomic_add_fetch(&chunk->exports, (uint64_t)-writable, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&chunk->writable_pins, writable, __ATOMIC_SEQ_CST);
}

void ndrt_chunk_add_packers(ndrt_chunk *chunk, int packers) {
    __atomic_add_fetch(&chunk->packers, packers, __ATOMIC_SEQ_CST);
}

/* ---- one chunk ----------------------------------------------------------------------------- */

typedef struct {
    ndrt_chunk *chunk;
    int exclusive;
} lease;

static int lease_try(const lease *l) {
    int32_t now = __atomic_load_n(&l->chunk->lease, __ATOMIC_SEQ_CST);
    while (l->exclusive ? now == 0 : now >= 0)
        if (__atomic_compare_exchange_n(&l->chunk->lease, &now, l->exclusive ? -1 : now + 1, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return 1;
    return 0;
}

static void lease_undo(const lease *l) {
    if (l->exclusive)
        __atomic_store_n(&l->chunk->lease, 0, __ATOMIC_SEQ_CST);
    else
        __atomic_sub_fetch(&l->chunk->lease, 1, __ATOMIC_SEQ_CST);
}

static void wake(void) {
    if (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&wait_lock);
    pthread_cond_broadcast(&given_back);
    pthread_mutex_unlock(&wait_lock);
}

/* ---- many chunks ---------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const lease *x = a, *y = b;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return y->exclusive - x->exclusive;
}

/* Each chunk once, at its strongest mode; returns how many there are. */
static int leases_fill(lease *leases, int n, ndrt_chunk *const *chunks, const uint8_t *modes) {
    for (int i = 0; i < n; i++) leases[i] = (lease){chunks[i], modes[i] != 0};
    if (n < 2) return n;
    if (n <= 16) { /* the usual case, without qsort's calls */
        for (int i = 1; i < n; i++) {
            lease moved = leases[i];
            int j = i;
            for (; j > 0 && by_address(&moved, &leases[j - 1]) < 0; j--) leases[j] = leases[j - 1];
            leases[j] = moved;
        }
    } else {
        qsort(leases, (size_t)n, sizeof *leases, by_address);
    }
    int kept = 1;
    for (int i = 1; i < n; i++)
        if (leases[i].chunk != leases[kept - 1].chunk) leases[kept++] = leases[i];
    return kept;
}

static int leases_try(const lease *leases, int n) {
    for (int i = 0; i < n; i++)
        if (!lease_try(&leases[i])) {
            while (i-- > 0) lease_undo(&leases[i]);
            return 0;
        }
    return 1;
}

enum { ON_STACK = 64 };

ndrt_status ndrt_lease_acquire(int n, ndrt_chunk *const *chunks, const uint8_t *modes) {
    lease few[ON_STACK], *leases = few;
    for (int i = 0; i < n; i++)
        if (!chunks[i]) return ndrt_fail(NDRT_INVALID, "lease %d of %d has no chunk", i, n);
    if (n > ON_STACK && !(leases = ndrt_malloc((size_t)n * sizeof *leases)))
        return ndrt_fail(NDRT_NOMEM, "no memory for %d leases", n);
    int kept = leases_fill(leases, n, chunks, modes);
    if (!leases_try(leases, kept)) {
        /* What was taken and undone above may be what a sleeper looked for in vain. */
        wake();
        pthread_mutex_lock(&wait_lock);
        __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
        while (!leases_try(leases, kept)) pthread_cond_wait(&given_back, &wait_lock);
        __atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&wait_lock);
    }
    if (leases != few) free(leases);
    return NDRT_OK;
}

/* Is (chunk, mode) at i the first mention of its chunk? And what is its strongest mode? Works
 * without memory of its own, so that giving back can not fail. */
static int first_mention(int i, int n, ndrt_chunk *const *chunks, const uint8_t *modes,
                         int *exclusive) {
    for (int j = 0; j < i; j++)
        if (chunks[j] == chunks[i]) return 0;
    *exclusive = modes[i] != 0;
    for (int j = i + 1; j < n; j++)
        if (chunks[j] == chunks[i] && modes[j]) *exclusive = 1;
    return 1;
}

void ndrt_lease_release(int n, ndrt_chunk *const *chunks, const uint8_t *modes) {
    if (n <= ON_STACK) {
        lease leases[ON_STACK];
        int kept = leases_fill(leases, n, chunks, modes);
        for (int i = 0; i < kept; i++) lease_undo(&leases[i]);
    } else {
        for (int i = 0; i < n; i++) {
            lease l = {chunks[i], 0};
            if (first_mention(i, n, chunks, modes, &l.exclusive)) lease_undo(&l);
        }
    }
    wake();
}

int ndrt_lease_try_exclusive(ndrt_chunk *chunk, int held) {
    int32_t only_mine = held;
    return __atomic_compare_exchange_n(&chunk->lease, &only_mine, -1, 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

void ndrt_lease_back_to_shared(ndrt_chunk *chunk, int held) {
    __atomic_store_n(&chunk->lease, held, __ATOMIC_SEQ_CST);
    wake();
}
