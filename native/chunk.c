/* Chunk counters, and holds: who reads, writes or has packed a chunk's bytes right now. */
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

/* Counts forks from the first process to this one. It is part of a lease's word: the leases of an
 * earlier era are those of threads that this process does not have, and count as given back. */
static uint32_t era;

ndrt_status ndrt_chunk_new(ndrt_chunk **out) {
    ndrt_chunk *chunk = ndrt_calloc(1, sizeof *chunk);
    if (!chunk) return ndrt_fail(NDRT_NOMEM, "no memory for a chunk");
    chunk->id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
    chunk->account = ndrt_account_take(NULL);
    chunk->references = 1;
    *out = chunk;
    return NDRT_OK;
}

void ndrt_chunk_free(ndrt_chunk *chunk) {
    if (!chunk || __atomic_sub_fetch(&chunk->references, 1, __ATOMIC_ACQ_REL)) return;
    ndrt_account_free(chunk->account);
    free(chunk);
}

uint64_t ndrt_chunk_writes_at(intptr_t chunk) {
    return __atomic_load_n(&((ndrt_chunk *)chunk)->writes, __ATOMIC_SEQ_CST);
}

int32_t ndrt_chunk_writable_pins_at(intptr_t chunk) {
    return __atomic_load_n(&((ndrt_chunk *)chunk)->writable_pins, __ATOMIC_SEQ_CST);
}

ndrt_status ndrt_chunk_share(ndrt_chunk *chunk, ndrt_chunk **out) {
    __atomic_add_fetch(&chunk->references, 1, __ATOMIC_RELAXED);
    *out = chunk;
    return NDRT_OK;
}

void ndrt_chunk_place(ndrt_chunk *chunk, void *data, int64_t layout) {
    chunk->data = data;
    chunk->layout = layout;
    ndrt_chunk_add_version(chunk);
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

/* ---- one chunk ----------------------------------------------------------------------------- */

typedef struct {
    ndrt_chunk *chunk;
    int exclusive;
} lease;

static uint64_t word_of(int32_t count) { return (uint64_t)era << 32 | (uint32_t)count; }
static int32_t count_in(uint64_t word) { return word >> 32 == era ? (int32_t)word : 0; }

int ndrt_chunk_lease(const ndrt_chunk *chunk) {
    return count_in(__atomic_load_n(&chunk->lease_word, __ATOMIC_SEQ_CST));
}

/* From one count to another, if it is that one. */
static int lease_change(ndrt_chunk *chunk, int32_t from, int32_t to) {
    uint64_t now = __atomic_load_n(&chunk->lease_word, __ATOMIC_SEQ_CST);
    return count_in(now) == from &&
           __atomic_compare_exchange_n(&chunk->lease_word, &now, word_of(to), 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

static int lease_try(const lease *l) {
    if (l->exclusive) return lease_change(l->chunk, 0, -1);
    for (int32_t now; (now = ndrt_chunk_lease(l->chunk)) >= 0;)
        if (lease_change(l->chunk, now, now + 1)) return 1;
    return 0;
}

static void lease_undo(const lease *l) {
    if (l->exclusive) {
        __atomic_store_n(&l->chunk->lease_word, word_of(0), __ATOMIC_SEQ_CST);
        return;
    }
    for (int32_t now; (now = ndrt_chunk_lease(l->chunk)) > 0;)
        if (lease_change(l->chunk, now, now - 1)) return;
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

/* In order, each chunk once at its strongest mode; returns how many there are. */
static int leases_settle(lease *leases, int n) {
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

/* What an earlier run left in no cache comes from memory all at once, not one after the other
 * behind the locked operations that follow. */
static void leases_prefetch(const lease *leases, int n) {
    for (int i = 0; i < n; i++) __builtin_prefetch(&leases[i].chunk->lease_word, 1);
}

static int leases_try(const lease *leases, int n) {
    for (int i = 0; i < n; i++)
        if (!lease_try(&leases[i])) {
            while (i-- > 0) lease_undo(&leases[i]);
            return 0;
        }
    return 1;
}

static void leases_wait(const lease *leases, int n) {
    pthread_mutex_lock(&wait_lock);
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    while (!leases_try(leases, n)) pthread_cond_wait(&given_back, &wait_lock);
    __atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&wait_lock);
}

int ndrt_leases_try(int n, ndrt_chunk *const *read, ndrt_chunk *written) {
    lease leases[NDRT_CALL_INPUTS + 1];
    int got = 0;
    for (int i = 0; i < n; i++)
        if (read[i] != written) leases[got++] = (lease){read[i], 0};
    if (written) leases[got++] = (lease){written, 1};
    int done = leases_try(leases, got);
    if (!done) wake();
    return done;
}

void ndrt_leases_undo(int n, ndrt_chunk *const *read, ndrt_chunk *written) {
    for (int i = 0; i < n; i++)
        if (read[i] != written) lease_undo(&(lease){read[i], 0});
    if (written) lease_undo(&(lease){written, 1});
    wake();
}

int ndrt_chunk_copy(intptr_t to_address, size_t to_offset, intptr_t from_address,
                    size_t from_offset, size_t nbytes) {
    ndrt_chunk *to = (ndrt_chunk *)to_address, *from = (ndrt_chunk *)from_address;
    if (to == from) return 0;
    lease leases[] = {{to, 1}, {from, 0}};
    int n = leases_settle(leases, 2);
    int got = leases_try(leases, n);
    /* with the leases: nobody moves or converts them in between */
    int done = got && to->data && from->data && !to->layout && !from->layout;
    if (done) {
        ndrt_chunk_add_writes(to);
        memmove((char *)to->data + to_offset, (const char *)from->data + from_offset, nbytes);
    }
    for (int i = 0; got && i < n; i++) lease_undo(&leases[i]);
    wake(); /* also of what was taken and undone */
    return done;
}

/* ---- holds ------------------------------------------------------------------------------------
 */

/* An interrupt may strike a caller between any two of its steps, so what is held is noted here, in
 * the call that takes it, and giving it back twice, or without having it, does nothing. */
struct ndrt_hold {
    ndrt_hold_kind kind;
    int own; /* of an upgrade: shared leases that its caller has */
    int held;
    uint32_t era;      /* when it was taken */
    const char *taker; /* thread that took it: an executor's is taken by one after another */
    int n;
    lease leases[];
};

ndrt_status ndrt_hold_new(ndrt_hold_kind kind, int n, ndrt_chunk *const *chunks,
                          const uint8_t *exclusive, ndrt_new_hold *out) {
    for (int i = 0; i < n; i++)
        if (!chunks[i]) return ndrt_fail(NDRT_INVALID, "hold %d of %d has no chunk", i, n);
    ndrt_hold *hold = ndrt_malloc(sizeof *hold + (size_t)n * sizeof *hold->leases);
    if (!hold) return ndrt_fail(NDRT_NOMEM, "no memory to hold %d chunks", n);
    *hold = (ndrt_hold){.kind = kind};
    for (int i = 0; i < n; i++) hold->leases[i] = (lease){chunks[i], exclusive && exclusive[i]};
    hold->own = n && kind == NDRT_HOLD_UPGRADE ? !hold->leases[0].exclusive : 0;
    hold->n = leases_settle(hold->leases, n);
    /* A finalizer may come when those who made the chunks are gone. */
    for (int i = 0; i < hold->n; i++)
        __atomic_add_fetch(&hold->leases[i].chunk->references, 1, __ATOMIC_RELAXED);
    *out = (ndrt_new_hold){hold, (intptr_t)hold};
    return NDRT_OK;
}

static _Thread_local char me; /* its address is the thread's */

static int is_held(const ndrt_hold *hold) {
    return hold->held && (hold->kind == NDRT_HOLD_PACKED || hold->era == era);
}

static void add_packers(const ndrt_hold *hold, int packers) {
    for (int i = 0; i < hold->n; i++)
        __atomic_add_fetch(&hold->leases[i].chunk->packers, packers, __ATOMIC_SEQ_CST);
}

static int take(ndrt_hold *hold, int may_wait) {
    if (is_held(hold)) return 0;
    int got = 1;
    switch (hold->kind) {
    case NDRT_HOLD_LEASES:
        leases_prefetch(hold->leases, hold->n);
        got = leases_try(hold->leases, hold->n);
        /* What was taken and undone may be what a sleeper looked for in vain. */
        if (!got) wake();
        if (!got && may_wait) {
            leases_wait(hold->leases, hold->n);
            got = 1;
        }
        break;
    case NDRT_HOLD_UPGRADE:
        for (int i = 0; i < hold->n && got; i++)
            got = lease_change(hold->leases[i].chunk, hold->own, -1);
        break;
    case NDRT_HOLD_PACKED: add_packers(hold, 1); break;
    }
    hold->era = era;
    __atomic_store_n(&hold->taker, &me, __ATOMIC_RELEASE);
    hold->held = got;
    return got;
}

int ndrt_hold_take(ndrt_hold *hold) { return take(hold, 1); }
int ndrt_hold_try(ndrt_hold *hold) { return take(hold, 0); }

void ndrt_hold_give_back(ndrt_hold *hold) {
    if (!is_held(hold)) return;
    hold->held = 0;
    switch (hold->kind) {
    case NDRT_HOLD_LEASES:
        leases_prefetch(hold->leases, hold->n);
        for (int i = 0; i < hold->n; i++) lease_undo(&hold->leases[i]);
        break;
    case NDRT_HOLD_UPGRADE:
        for (int i = 0; i < hold->n; i++) lease_change(hold->leases[i].chunk, -1, hold->own);
        break;
    case NDRT_HOLD_PACKED: add_packers(hold, -1); return;
    }
    wake();
}

int ndrt_hold_meets(const ndrt_hold *held, const ndrt_hold *wanted) {
    if (__atomic_load_n(&held->taker, __ATOMIC_ACQUIRE) != &me || !is_held(held)) return 0;
    for (int i = 0, j = 0; i < held->n && j < wanted->n;) { /* both are in order */
        const lease *a = &held->leases[i], *b = &wanted->leases[j];
        if (a->chunk == b->chunk && (a->exclusive || b->exclusive)) return 2;
        if (a->chunk <= b->chunk) i++;
        if (b->chunk <= a->chunk) j++;
    }
    return 1;
}

int ndrt_hold_exit(ndrt_hold *hold, void *keep, void *kind, void *error, void *trace) {
    (void)keep, (void)kind, (void)error, (void)trace;
    ndrt_hold_give_back(hold);
    return 0;
}

void ndrt_hold_free(ndrt_hold *hold) {
    if (!hold) return;
    ndrt_hold_give_back(hold);
    for (int i = 0; i < hold->n; i++) ndrt_chunk_free(hold->leases[i].chunk);
    free(hold);
}

void ndrt_chunk_at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK) {
        pthread_mutex_lock(&wait_lock);
        return;
    }
    if (moment == NDRT_FORK_CHILD) {
        era++;
        waiting = 0;
        given_back = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    }
    pthread_mutex_unlock(&wait_lock);
}
