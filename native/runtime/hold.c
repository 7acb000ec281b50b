/* Holds: what is had on many chunks at once, and the note of whether it is had. */
#include <stdlib.h>

#include "ndrt_leases.h"

/* Tries until chunks that changed too often are to know a reader again: what two more looks at all
 * of them cost is spread over so many runs. */
enum { PATIENCE = 1024 };

/* An interrupt may strike a caller between any two of its steps, so what is held is noted here, in
 * the call that takes it, and giving it back twice, or without having it, does nothing. */
struct ndrt_hold {
    ndrt_hold_kind kind;
    int own; /* of an upgrade: shared leases that its caller has */
    int held;
    uint32_t era;      /* when it was taken */
    const char *taker; /* thread that took it: an executor's is taken by one after another */
    /* Of what is tried again and again: */
    int announced;        /* how it is held: chunks that know the reader are not counted in */
    int ncounted;         /* leases that are taken one by one all the same */
    int *counted;         /* their places */
    int nchanging;        /* those among them that are read, but of chunks that change too often */
    int patience;         /* tries until those get another chance */
    uint64_t calm;        /* how much was stirred when none of the others was written to */
    ndrt_reading reading; /* of the others */
    ndrt_reader *readers; /* one for each lease */
    int n;
    ndrt_lease leases[];
};

ndrt_status ndrt_hold_new(ndrt_hold_kind kind, int n, ndrt_chunk *const *chunks,
                          const uint8_t *exclusive, ndrt_new_hold *out) {
    for (int i = 0; i < n; i++)
        if (!chunks[i]) return ndrt_fail(NDRT_INVALID, "hold %d of %d has no chunk", i, n);
    ndrt_hold *hold = ndrt_malloc(sizeof *hold + (size_t)n * sizeof *hold->leases);
    if (!hold) return ndrt_fail(NDRT_NOMEM, "no memory to hold %d chunks", n);
    *hold = (ndrt_hold){.kind = kind};
    for (int i = 0; i < n; i++)
        hold->leases[i] = (ndrt_lease){chunks[i], exclusive && exclusive[i]};
    hold->own = n && kind == NDRT_HOLD_UPGRADE ? !hold->leases[0].exclusive : 0;
    hold->n = ndrt_leases_settle(hold->leases, n);
    /* A finalizer may come when those who made the chunks are gone. */
    for (int i = 0; i < hold->n; i++)
        __atomic_add_fetch(&hold->leases[i].chunk->references, 1, __ATOMIC_RELAXED);
    *out = (ndrt_new_hold){hold, (intptr_t)hold};
    return NDRT_OK;
}

static _Thread_local char me; /* its address is the thread's */

static int is_held(const ndrt_hold *hold) {
    return hold->held && (hold->kind == NDRT_HOLD_PACKED || hold->era == ndrt_era);
}

static int note(ndrt_hold *hold, int got) {
    hold->era = ndrt_era;
    __atomic_store_n(&hold->taker, &me, __ATOMIC_RELEASE);
    hold->held = got;
    return got;
}

/* What an earlier run left in no cache comes from memory all at once, not one after the other
 * behind the locked operations that follow. */
static void prefetch(const ndrt_hold *hold) {
    for (int i = 0; i < hold->n; i++) __builtin_prefetch(&hold->leases[i].chunk->lease_word, 1);
}

static void add_packers(const ndrt_hold *hold, int packers) {
    for (int i = 0; i < hold->n; i++)
        __atomic_add_fetch(&hold->leases[i].chunk->packers, packers, __ATOMIC_SEQ_CST);
}

int ndrt_hold_take(ndrt_hold *hold) {
    if (is_held(hold)) return 0;
    int got = 1;
    hold->announced = 0;
    switch (hold->kind) {
    case NDRT_HOLD_LEASES:
        prefetch(hold);
        if (!ndrt_leases_take(hold->leases, hold->n)) {
            /* What was taken and undone may be what a sleeper looked for in vain. */
            ndrt_leases_wake();
            ndrt_leases_wait(hold->leases, hold->n);
        }
        break;
    case NDRT_HOLD_UPGRADE:
        for (int i = 0; i < hold->n && got; i++)
            got = ndrt_lease_upgrade(hold->leases[i].chunk, hold->own);
        if (!got) ndrt_leases_wake();
        break;
    case NDRT_HOLD_PACKED: add_packers(hold, 1); break;
    }
    return note(hold, got);
}

/* ---- announced, not counted -------------------------------------------------------------------
 */

ndrt_status ndrt_hold_introduce(ndrt_hold *hold) {
    if (hold->readers) return NDRT_OK;
    size_t n = (size_t)hold->n;
    ndrt_reader *readers = ndrt_calloc(n + 1, sizeof *readers);
    int *counted = readers ? ndrt_malloc((n + 1) * sizeof *counted) : NULL;
    if (!counted) {
        free(readers);
        return ndrt_fail(NDRT_NOMEM, "no memory to introduce a reader to %zu chunks", n);
    }
    hold->readers = readers;
    hold->counted = counted;
    hold->reading.stirred = 1; /* nothing was looked at yet */
    ndrt_readers_enter(readers, hold->leases, hold->n, &hold->reading);
    return NDRT_OK;
}

/* What changed often may do so no more: weights that were loaded twice, and now only serve. */
static void introduce_again(ndrt_hold *hold) {
    if (!hold->nchanging || --hold->patience) return;
    ndrt_readers_enter(hold->readers, hold->leases, hold->n, &hold->reading);
    __atomic_add_fetch(&hold->reading.stirred, 1, __ATOMIC_SEQ_CST);
}

/* A look at each chunk, after something was stirred. 0: one of them is written to. */
static int look(ndrt_hold *hold) {
    ndrt_readers_settle(hold->readers, hold->leases, hold->n);
    hold->ncounted = hold->nchanging = 0;
    hold->patience = PATIENCE;
    int calm = 1;
    for (int i = 0; i < hold->n; i++) {
        if (hold->readers[i].known) {
            calm &= ndrt_lease_readable(hold->leases[i].chunk);
        } else {
            hold->counted[hold->ncounted++] = i;
            hold->nchanging += !hold->leases[i].exclusive;
        }
    }
    return calm;
}

/* The first n of those that are counted, and the word for all others. */
static void leave(ndrt_hold *hold, int n) {
    for (int i = 0; i < n; i++) ndrt_lease_undo(&hold->leases[hold->counted[i]]);
    __atomic_store_n(&hold->reading.reads, ndrt_word_of(0), __ATOMIC_SEQ_CST);
}

int ndrt_hold_try(ndrt_hold *hold) {
    if (hold->kind != NDRT_HOLD_LEASES || is_held(hold) || !hold->readers) return 0;
    introduce_again(hold);
    __atomic_store_n(&hold->reading.reads, ndrt_word_of(1), __ATOMIC_SEQ_CST);
    uint64_t stirred = __atomic_load_n(&hold->reading.stirred, __ATOMIC_SEQ_CST);
    int got = stirred == hold->calm || look(hold), n = 0;
    while (got && n < hold->ncounted)
        if ((got = ndrt_lease_try(&hold->leases[hold->counted[n]]))) n++;
    if (got) {
        hold->calm = stirred;
        hold->announced = 1;
    } else {
        leave(hold, n);
        ndrt_leases_wake();
    }
    return note(hold, got);
}

uint64_t ndrt_hold_calm(const ndrt_hold *hold) {
    return is_held(hold) && hold->announced ? hold->calm : 0;
}

int ndrt_hold_is_known(const ndrt_hold *hold, const ndrt_chunk *chunk) {
    for (int low = 0, high = hold->readers ? hold->n : 0; low < high;) {
        int middle = low + (high - low) / 2;
        const ndrt_chunk *found = hold->leases[middle].chunk;
        if (found == chunk) return hold->readers[middle].known;
        if (found < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

void ndrt_hold_give_back(ndrt_hold *hold) {
    if (!is_held(hold)) return;
    hold->held = 0;
    switch (hold->kind) {
    case NDRT_HOLD_LEASES:
        if (hold->announced) {
            leave(hold, hold->ncounted);
            break;
        }
        prefetch(hold);
        for (int i = 0; i < hold->n; i++) ndrt_lease_undo(&hold->leases[i]);
        break;
    case NDRT_HOLD_UPGRADE:
        for (int i = 0; i < hold->n; i++) ndrt_lease_downgrade(hold->leases[i].chunk, hold->own);
        break;
    case NDRT_HOLD_PACKED: add_packers(hold, -1); return;
    }
    ndrt_leases_wake();
}

int ndrt_hold_meets(const ndrt_hold *held, const ndrt_hold *wanted) {
    if (__atomic_load_n(&held->taker, __ATOMIC_ACQUIRE) != &me || !is_held(held)) return 0;
    for (int i = 0, j = 0; i < held->n && j < wanted->n;) { /* both are in order */
        const ndrt_lease *a = &held->leases[i], *b = &wanted->leases[j];
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
    if (hold->readers) ndrt_readers_leave(hold->readers, hold->leases, hold->n);
    for (int i = 0; i < hold->n; i++) ndrt_chunk_free(hold->leases[i].chunk);
    free(hold->readers);
    free(hold->counted);
    free(hold);
}
