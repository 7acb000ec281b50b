/* Shared by native/runtime/chunk.c (leases of chunks), native/runtime/readers.c (biased leases) and
 * native/runtime/lockset.c (leases on several chunks). */
#ifndef NDRT_LEASES_H
#define NDRT_LEASES_H

#include "ndrt_internal.h"

typedef struct {
    ndrt_chunk *chunk;
    int exclusive;
} ndrt_lease;

/* Number of forks from the first process to this one, a part of a lease's word: leases of earlier
 * eras belong to threads that this process does not have, and count as released. */
extern uint32_t ndrt_era;

static inline uint64_t ndrt_word_of(int32_t count) {
    return (uint64_t)ndrt_era << 32 | (uint32_t)count;
}

static inline int32_t ndrt_count_in(uint64_t word) {
    return word >> 32 == ndrt_era ? (int32_t)word : 0;
}

/* ---- one chunk ----------------------------------------------------------------------------- */

/* 0: somebody holds a conflicting lease. A failed attempt may have blocked others for a moment: the
 * caller wakes them. */
int ndrt_lease_try(const ndrt_lease *lease);
void ndrt_lease_undo(const ndrt_lease *lease);
/* An exclusive lease in place of so many shared ones of the caller, and back. */
int ndrt_lease_upgrade(ndrt_chunk *chunk, int32_t own);
void ndrt_lease_downgrade(ndrt_chunk *chunk, int32_t own);
/* Whether nobody writes to it. */
static inline int ndrt_lease_readable(const ndrt_chunk *chunk) {
    return ndrt_count_in(__atomic_load_n(&chunk->lease_word, __ATOMIC_SEQ_CST)) >= 0;
}

/* ---- many chunks --------------------------------------------------------------------------- */

/* Sorts, and merges each chunk's leases to the strongest; returns how many remain. */
int ndrt_leases_settle(ndrt_lease *leases, int n);
int ndrt_leases_take(const ndrt_lease *leases, int n); /* all or none */
void ndrt_leases_wait(const ndrt_lease *leases, int n);
/* Sorts, merges and acquires, but returns 0 instead of waiting; *n becomes how many remain. */
int ndrt_leases_try(ndrt_lease *leases, int *n);
void ndrt_leases_undo(const ndrt_lease *leases, int n); /* those that were taken */
void ndrt_leases_wake(void); /* something was given back: the sleepers look again */

/* ---- biased readers --------------------------------------------------------------- */

/* One that reads the same chunks again and again. */
typedef struct {
    uint64_t reads;   /* like a chunk's word: whether he reads them now */
    uint64_t revoked; /* grows whenever one of them is taken for writing, or changes */
} ndrt_reading;

struct ndrt_reader {
    ndrt_reader *next; /* of the same chunk */
    ndrt_reading *of;
    int biased; /* in the chunk's list */
    int revoked;
    int times; /* looked at and found revoked */
};

/* Revokes the biased readers of a chunk; returns how many of them read now. */
int ndrt_readers_revoke(ndrt_chunk *chunk);
int ndrt_readers_now(ndrt_chunk *chunk);
/* Registers each reader at the chunk of its lease, unless it is registered or that is exclusive. */
void ndrt_readers_enter(ndrt_reader *readers, const ndrt_lease *leases, int n, ndrt_reading *of);
/* Drops the bias for chunks that were revoked at two or more looks. */
void ndrt_readers_settle(ndrt_reader *readers, const ndrt_lease *leases, int n);
void ndrt_readers_leave(ndrt_reader *readers, const ndrt_lease *leases, int n);

#endif
