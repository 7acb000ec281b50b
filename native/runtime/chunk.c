/* Chunk counters and leases: who reads or writes a chunk's bytes right now. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_leases.h"

/* A lease is acquired by compare-and-swap on the chunk. Only a request that failed takes the lock,
 * to sleep; releasing a lease wakes all sleepers. A sleeper holds no part of its request, so that
 * there are no deadlocks. There is no fairness: a writer waits as long as readers overlap.
 *
 * A frequent reader of the same hundreds of chunks does not count itself in each of them: it is
 * registered at the chunks (`readers`), and one word of its own says whether it reads now. It sets
 * that word, then checks whether a writer has revoked it; a writer acquires the chunk, then revokes
 * its biased readers, and checks whether one of them reads. As each writes before it checks, at
 * least one of the two sees the other and backs off. */
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;
static int waiting;
static uint64_t next_id;

uint32_t ndrt_era;

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

int ndrt_chunks_note(int n, ndrt_chunk *const *chunks, uint64_t *writes) {
    int readable = 1;
    for (int i = 0; i < n; i++) {
        writes[i] = __atomic_load_n(&chunks[i]->writes, __ATOMIC_SEQ_CST);
        readable &= !__atomic_load_n(&chunks[i]->writable_pins, __ATOMIC_SEQ_CST);
    }
    return readable;
}

int ndrt_chunks_unwritten(int n, ndrt_chunk *const *chunks, const uint64_t *writes) {
    int same = 1;
    for (int i = 0; i < n; i++)
        same &= __atomic_load_n(&chunks[i]->writes, __ATOMIC_SEQ_CST) == writes[i];
    return same;
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
    ndrt_readers_revoke(chunk);
}

void ndrt_chunk_add_writes(ndrt_chunk *chunk) {
    __atomic_add_fetch(&chunk->writes, 1, __ATOMIC_SEQ_CST);
    ndrt_readers_revoke(chunk);
}

void ndrt_chunk_add_pins(ndrt_chunk *chunk, int pins, int writable) {
    __atomic_add_fetch(&chunk->pins, pins, __ATOMIC_SEQ_CST);
    if (writable < 0) __atomic_add_fetch(&chunk->exports, (uint64_t)-writable, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&chunk->writable_pins, writable, __ATOMIC_SEQ_CST);
    if (writable) ndrt_readers_revoke(chunk);
}

/* ---- one chunk ----------------------------------------------------------------------------- */

static int32_t counted(const ndrt_chunk *chunk) {
    return ndrt_count_in(__atomic_load_n(&chunk->lease_word, __ATOMIC_SEQ_CST));
}

int ndrt_chunk_lease(ndrt_chunk *chunk) {
    int32_t count = counted(chunk);
    return count < 0 ? count : count + ndrt_readers_now(chunk);
}

/* Changes one count to another, if it still is that one. */
static int lease_change(ndrt_chunk *chunk, int32_t from, int32_t to) {
    uint64_t now = __atomic_load_n(&chunk->lease_word, __ATOMIC_SEQ_CST);
    return ndrt_count_in(now) == from &&
           __atomic_compare_exchange_n(&chunk->lease_word, &now, ndrt_word_of(to), 0,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int ndrt_lease_upgrade(ndrt_chunk *chunk, int32_t own) {
    if (!lease_change(chunk, own, -1)) return 0;
    if (!ndrt_readers_revoke(chunk)) return 1;
    __atomic_store_n(&chunk->lease_word, ndrt_word_of(own), __ATOMIC_SEQ_CST);
    return 0;
}

void ndrt_lease_downgrade(ndrt_chunk *chunk, int32_t own) { lease_change(chunk, -1, own); }

int ndrt_lease_try(const ndrt_lease *l) {
    if (l->exclusive) return ndrt_lease_upgrade(l->chunk, 0);
    for (int32_t now; (now = counted(l->chunk)) >= 0;)
        if (lease_change(l->chunk, now, now + 1)) return 1;
    return 0;
}

void ndrt_lease_undo(const ndrt_lease *l) {
    if (l->exclusive) {
        __atomic_store_n(&l->chunk->lease_word, ndrt_word_of(0), __ATOMIC_SEQ_CST);
        return;
    }
    for (int32_t now; (now = counted(l->chunk)) > 0;)
        if (lease_change(l->chunk, now, now - 1)) return;
}

void ndrt_leases_wake(void) {
    if (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&wait_lock);
    pthread_cond_broadcast(&given_back);
    pthread_mutex_unlock(&wait_lock);
}

/* ---- many chunks ---------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const ndrt_lease *x = a, *y = b;
    if (x->chunk != y->chunk) return x->chunk < y->chunk ? -1 : 1;
    return y->exclusive - x->exclusive;
}

int ndrt_leases_settle(ndrt_lease *leases, int n) {
    if (n < 2) return n;
    if (n <= 16) { /* the usual case: insertion sort, without qsort's calls */
        for (int i = 1; i < n; i++) {
            ndrt_lease moved = leases[i];
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

int ndrt_leases_take(const ndrt_lease *leases, int n) {
    for (int i = 0; i < n; i++)
        if (!ndrt_lease_try(&leases[i])) {
            while (i-- > 0) ndrt_lease_undo(&leases[i]);
            return 0;
        }
    return 1;
}

void ndrt_leases_wait(const ndrt_lease *leases, int n) {
    pthread_mutex_lock(&wait_lock);
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    while (!ndrt_leases_take(leases, n)) pthread_cond_wait(&given_back, &wait_lock);
    __atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&wait_lock);
}

int ndrt_leases_try(ndrt_lease *leases, int *n) {
    *n = ndrt_leases_settle(leases, *n);
    int done = ndrt_leases_take(leases, *n);
    if (!done) ndrt_leases_wake();
    return done;
}

void ndrt_leases_undo(const ndrt_lease *leases, int n) {
    for (int i = 0; i < n; i++) ndrt_lease_undo(&leases[i]);
    ndrt_leases_wake();
}

int ndrt_chunk_copy(intptr_t to_address, size_t to_offset, intptr_t from_address,
                    size_t from_offset, size_t nbytes) {
    ndrt_chunk *to = (ndrt_chunk *)to_address, *from = (ndrt_chunk *)from_address;
    if (to == from) return 0;
    ndrt_lease leases[] = {{to, 1}, {from, 0}};
    int n = ndrt_leases_settle(leases, 2);
    int got = ndrt_leases_take(leases, n);
    /* under the leases, so that nobody moves or converts them meanwhile */
    int done = got && to->data && from->data && !to->layout && !from->layout;
    if (done) {
        ndrt_chunk_add_writes(to);
        memmove((char *)to->data + to_offset, (const char *)from->data + from_offset, nbytes);
    }
    for (int i = 0; got && i < n; i++) ndrt_lease_undo(&leases[i]);
    ndrt_leases_wake(); /* also for leases that were acquired and undone */
    return done;
}

void ndrt_chunk_at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK) {
        pthread_mutex_lock(&wait_lock);
        return;
    }
    if (moment == NDRT_FORK_CHILD) {
        ndrt_era++;
        waiting = 0;
        given_back = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    }
    pthread_mutex_unlock(&wait_lock);
}
