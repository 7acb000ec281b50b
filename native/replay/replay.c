/* Replays: a plan that is run again as long as its guards hold. */
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

typedef struct {
    ndrt_chunk *chunk;
    uint64_t was; /* its version, or its changes */
} watched;

struct ndrt_replay {
    ndrt_plan *plan;
    ndrt_lockset *leases;
    int threads, leased;
    ndrt_status failure;
    int nguards, nsources, nwritten;
    int64_t cursor, runs;
    double *times;              /* of the steps of a run, where somebody wants them */
    uint64_t unrevoked;         /* of the leases, when all held; 0: it is not known that all does */
    int nunbiased, *unbiased;   /* guards and sources that such a number says nothing of */
    watched *sources, *written; /* in the one array that begins with the guards */
    watched guards[];
};

static void watch(watched *to, int n, ndrt_chunk *const *chunks) {
    for (int i = 0; i < n; i++) {
        /* a finalizer may run after the owners of the chunks are gone */
        __atomic_add_fetch(&chunks[i]->references, 1, __ATOMIC_RELAXED);
        to[i].chunk = chunks[i];
    }
}

static uint64_t version_of(const ndrt_chunk *chunk) {
    return __atomic_load_n(&chunk->version, __ATOMIC_SEQ_CST);
}

static uint64_t changes_of(const ndrt_chunk *chunk) {
    return __atomic_load_n(&chunk->writes, __ATOMIC_SEQ_CST) +
           __atomic_load_n(&chunk->exports, __ATOMIC_SEQ_CST);
}

ndrt_status ndrt_replay_new(const ndrt_replay_spec *spec, ndrt_replay **out) {
    TRY(ndrt_lockset_bias(spec->leases));
    size_t n = (size_t)spec->nguards + (size_t)spec->nsources + (size_t)spec->nwritten;
    ndrt_replay *made = ndrt_calloc(1, sizeof *made + n * sizeof *made->guards);
    int *unbiased = made ? ndrt_malloc((n + 1) * sizeof *unbiased) : NULL;
    if (!unbiased) {
        free(made);
        return ndrt_fail(NDRT_NOMEM, "no memory to watch %zu chunks", n);
    }
    made->unbiased = unbiased;
    made->plan = spec->plan;
    made->leases = spec->leases;
    made->threads = ndrt_threads_get();
    made->nguards = spec->nguards;
    made->nsources = spec->nsources;
    made->nwritten = spec->nwritten;
    made->sources = made->guards + spec->nguards;
    made->written = made->sources + spec->nsources;
    watch(made->guards, spec->nguards, spec->guards);
    watch(made->sources, spec->nsources, spec->sources);
    watch(made->written, spec->nwritten, spec->written);
    ndrt_replay_rewatch(made);
    ndrt_replay_renew(made, spec->changes);
    *out = made;
    return NDRT_OK;
}

void ndrt_replay_free(ndrt_replay *replay) {
    if (!replay) return;
    int n = replay->nguards + replay->nsources + replay->nwritten;
    for (int i = 0; i < n; i++) ndrt_chunk_free(replay->guards[i].chunk);
    free(replay->unbiased);
    free(replay);
}

void ndrt_replay_rewatch(ndrt_replay *replay) {
    for (int i = 0; i < replay->nguards; i++)
        replay->guards[i].was = version_of(replay->guards[i].chunk);
    replay->unrevoked = 0;
}

void ndrt_replay_renew(ndrt_replay *replay, const uint64_t *changes) {
    for (int i = 0; i < replay->nsources; i++) replay->sources[i].was = changes[i];
    replay->unrevoked = 0;
}

void ndrt_replay_profile(ndrt_replay *replay, double *times) { replay->times = times; }

ndrt_status ndrt_replay_status(const ndrt_replay *replay) { return replay->failure; }

int64_t ndrt_replay_cursor(const ndrt_replay *replay) { return replay->cursor; }

int64_t ndrt_replay_runs(const ndrt_replay *replay) { return replay->runs; }

/* Checks guards and sources, which are contiguous. */
static ndrt_replay_result guard_one(const ndrt_replay *replay, int at) {
    const watched *one = &replay->guards[at];
    if (at < replay->nguards)
        return version_of(one->chunk) == one->was ? NDRT_REPLAY_DONE : NDRT_REPLAY_MOVED;
    int same = changes_of(one->chunk) == one->was &&
               !__atomic_load_n(&one->chunk->writable_pins, __ATOMIC_SEQ_CST);
    return same ? NDRT_REPLAY_DONE : NDRT_REPLAY_CHANGED;
}

static ndrt_replay_result guard_all(ndrt_replay *replay) {
    ndrt_replay_result result = NDRT_REPLAY_DONE;
    int n = replay->nguards + replay->nsources;
    replay->nunbiased = 0;
    for (int i = 0; i < n && result == NDRT_REPLAY_DONE; i++) {
        result = guard_one(replay, i);
        if (!ndrt_lockset_is_biased(replay->leases, replay->guards[i].chunk))
            replay->unbiased[replay->nunbiased++] = i;
    }
    return result;
}

static ndrt_replay_result guard(ndrt_replay *replay) {
    uint64_t unrevoked = ndrt_lockset_unrevoked(replay->leases);
    ndrt_replay_result result = NDRT_REPLAY_DONE;
    if (unrevoked && unrevoked == replay->unrevoked) {
        for (int i = 0; i < replay->nunbiased && result == NDRT_REPLAY_DONE; i++)
            result = guard_one(replay, replay->unbiased[i]);
    } else {
        result = guard_all(replay);
        replay->unrevoked = result == NDRT_REPLAY_DONE ? unrevoked : 0;
    }
    if (result != NDRT_REPLAY_DONE || replay->threads == ndrt_threads_get()) return result;
    return NDRT_REPLAY_THREADS;
}

static ndrt_replay_result leave(const ndrt_replay *replay, ndrt_replay_result result) {
    if (!replay->leased) ndrt_lockset_give_back(replay->leases);
    return result;
}

static ndrt_replay_result advance(ndrt_replay *replay, double budget_ms) {
    ndrt_status status = ndrt_plan_profile(replay->plan, budget_ms, &replay->cursor, replay->times);
    if (status == NDRT_OK && replay->cursor < ndrt_plan_size(replay->plan))
        return NDRT_REPLAY_UNFINISHED;
    if (status != NDRT_OK) {
        replay->failure = status;
        return leave(replay, NDRT_REPLAY_FAILED);
    }
    replay->runs++;
    return leave(replay, NDRT_REPLAY_DONE);
}

ndrt_replay_result ndrt_replay_run(ndrt_replay *replay, double budget_ms, int leased) {
    if (!leased && !ndrt_lockset_try(replay->leases)) return NDRT_REPLAY_BUSY;
    replay->leased = leased;
    /* Under the leases, so that nobody converts or writes meanwhile. */
    ndrt_replay_result broken = guard(replay);
    if (broken != NDRT_REPLAY_DONE) return leave(replay, broken);
    /* counted before the writes, so that none can be missed */
    for (int i = 0; i < replay->nwritten; i++) ndrt_chunk_add_writes(replay->written[i].chunk);
    replay->cursor = 0;
    return advance(replay, budget_ms);
}

ndrt_replay_result ndrt_replay_fed(ndrt_replay *replay, int n, const ndrt_replay_copy *copies,
                                   double budget_ms) {
    for (int i = 0; i < n; i++) {
        const ndrt_replay_copy *c = &copies[i];
        if (!ndrt_chunk_copy(c->target, c->target_offset, c->source, c->source_offset, c->nbytes))
            return NDRT_REPLAY_BUSY;
    }
    return ndrt_replay_run(replay, budget_ms, 0);
}

ndrt_replay_result ndrt_replay_go_on(ndrt_replay *replay, double budget_ms) {
    if (ndrt_plan_stops_at(replay->plan, replay->cursor)) replay->cursor++;
    return advance(replay, budget_ms);
}
