/* The API of the native shim, continued: steps recorded to be run again. */
#ifndef NDRT_PLANS_H
#define NDRT_PLANS_H

#include "ndrt_kernels.h"

/* cdef-begin */
/* ---- arenas: where memory lies whose use is known -------------------------------------- */
typedef struct {
    int64_t nbytes, born, dies; /* the first and the last step that use it */
    int64_t team, lane;         /* lanes of a team, from 0 up, run at once; -1: none */
    int64_t offset;
} ndrt_life;
/* Give each of n lives, in the order of their births, an offset; those that meet do not overlap.
 * `work` is how many comparisons it took.
 *
 * In `order`, each as low as those before it allow. Where `most_work` or more is done, that
 * may have been given up, and offsets mean nothing. */
ndrt_status ndrt_arena_place_low(int64_t n, ndrt_life *lives, const int64_t *order,
                                 int64_t most_work, int64_t *work);
/* In the order of time: each in the smallest hole that it fits into when it is born. `births` and
 * `deaths` are the lives in the order of these, in any order of the lives; knows no lanes. */
ndrt_status ndrt_arena_sweep(int64_t n, ndrt_life *lives, const int64_t *births,
                             const int64_t *deaths, int64_t *work);
/* Moves lives that have offsets to where the same half of the threads wrote before, within the
 * arena and where nothing is that they meet, until more than `most_work` is done. */
ndrt_status ndrt_arena_keep_halves(int64_t n, ndrt_life *lives, int64_t most_work, int64_t *work);

/* ---- plans: recorded steps, run by one call -------------------------------------------- */
typedef struct ndrt_plan ndrt_plan;
ndrt_status ndrt_plan_new(ndrt_plan **out);
void ndrt_plan_free(ndrt_plan *plan);
ndrt_status ndrt_plan_add_prim(ndrt_plan *plan, const ndrt_prim *prim, int nargs,
                               const ndrt_arg *args); /* the plan does not own the primitive */
ndrt_status ndrt_plan_add_kernel(ndrt_plan *plan, const ndrt_kernel_call *call);
/* A step at which runs end, so that the caller does something; it goes on behind it. */
ndrt_status ndrt_plan_add_stop(ndrt_plan *plan);
int ndrt_plan_stops_at(const ndrt_plan *plan, int64_t at);
int64_t ndrt_plan_size(const ndrt_plan *plan);
/* Forgets all steps but the first `nsteps`. */
void ndrt_plan_cut(ndrt_plan *plan, int64_t nsteps);
/* Steps from `begin` on, which lie behind those of earlier lanes and work with one thread each, are
 * lanes: up to ends[0], from there to ends[1] and so on. A thread runs each when a run comes to
 * them from before; one that begins inside of them runs the rest as it comes. */
ndrt_status ndrt_plan_add_lanes(ndrt_plan *plan, int64_t begin, int count, const int64_t *ends);
/* The steps so far leave no array half written. */
void ndrt_plan_mark_consistent(ndrt_plan *plan);
/* Runs from step *cursor until the end, a stop, or until budget_ms has passed (below 0: no limit)
 * and no array is half written; *cursor is where to go on. */
ndrt_status ndrt_plan_run(ndrt_plan *plan, double budget_ms, int64_t *cursor);
/* The same; times[i] becomes the milliseconds that step i took. NULL: nothing is noted. */
ndrt_status ndrt_plan_profile(ndrt_plan *plan, double budget_ms, int64_t *cursor, double *times);

/* ---- replays: a plan, and what must hold for its recorded pointers and layouts to be right -- */
typedef struct {
    ndrt_plan *plan;
    ndrt_lockset *leases; /* taken for each run */
    int nguards;          /* chunks whose bytes stay where and as they are now */
    ndrt_chunk *const *guards;
    int nsources; /* chunks that something was computed from, when they had these changes */
    ndrt_chunk *const *sources;
    const uint64_t *changes; /* writes + exports */
    int nwritten;            /* chunks that a run writes to */
    ndrt_chunk *const *written;
} ndrt_replay_spec;
typedef struct ndrt_replay ndrt_replay;
typedef enum {
    NDRT_REPLAY_DONE = 0,
    /* the budget is spent, or the cursor is at a stop; leases are kept: go on, or give them back */
    NDRT_REPLAY_UNFINISHED = 1,
    /* these did nothing: */
    NDRT_REPLAY_BUSY = 2,    /* somebody else has a lease that is in the way */
    NDRT_REPLAY_MOVED = 3,   /* a guarded chunk got other memory or another layout */
    NDRT_REPLAY_CHANGED = 4, /* a source was written to, or may be at any time */
    NDRT_REPLAY_THREADS = 5, /* the number of threads is another one */
    NDRT_REPLAY_FAILED = 6   /* a step did: ndrt_replay_status(), ndrt_last_error() */
} ndrt_replay_result;
/* `plan` and `leases` must live longer than what is made. */
ndrt_status ndrt_replay_new(const ndrt_replay_spec *spec, ndrt_replay **out);
void ndrt_replay_free(ndrt_replay *replay);
/* With `leased` the caller has the leases already, and keeps them. */
ndrt_replay_result ndrt_replay_run(ndrt_replay *replay, double budget_ms, int leased);
/* The same, without leases of the caller's, behind copies between arrays in the default layout,
 * each by ndrt_chunk_copy; BUSY where one can not be done, the ones before it are done then. */
typedef struct {
    intptr_t target, source; /* chunks */
    size_t target_offset, source_offset, nbytes;
} ndrt_replay_copy;
ndrt_replay_result ndrt_replay_fed(ndrt_replay *replay, int n, const ndrt_replay_copy *copies,
                                   double budget_ms);
/* From a stop: behind it. */
ndrt_replay_result ndrt_replay_go_on(ndrt_replay *replay, double budget_ms);
/* What was computed from the sources was computed anew, when they had these changes. */
void ndrt_replay_renew(ndrt_replay *replay, const uint64_t *changes);
/* All guarded chunks are where and as they were at the recording, whatever was between; the caller
 * has the leases. */
void ndrt_replay_rewatch(ndrt_replay *replay);
ndrt_status ndrt_replay_status(const ndrt_replay *replay); /* of the step that failed last */
int64_t ndrt_replay_cursor(const ndrt_replay *replay);     /* that step, or the one to go on from */
int64_t ndrt_replay_runs(const ndrt_replay *replay);       /* finished ones */
/* From now on each run notes in times[i] the milliseconds that step i took; NULL: no more. */
void ndrt_replay_profile(ndrt_replay *replay, double *times);

/* ---- calls: what an imperative call of one operator did, to be done again for other arrays ----
 */
typedef enum {
    NDRT_BIND_INPUT = 0,
    NDRT_BIND_OUTPUT = 1,
    NDRT_BIND_SCRATCH = 2 /* of the call's one piece of scratch */
} ndrt_bind_kind;
typedef struct {
    int64_t step;
    int argument;   /* of the step: which of the primitive's arguments, or of the kernel's arrays */
    int kind;       /* ndrt_bind_kind */
    int index;      /* which input or output */
    int64_t offset; /* bytes from where that begins */
} ndrt_binding;
/* Which number of the call's parameters a kernel has where. */
typedef struct {
    int64_t step;
    int scalar; /* of the step */
    int number; /* of the operator's numbers */
} ndrt_numbering;
typedef struct {
    ndrt_plan *plan;
    int frees_gil;
    int ninputs, noutputs;
    const size_t *nbytes;   /* of each output's memory */
    const int64_t *layouts; /* special ones that outputs are left in, 0: the default one */
    int nbindings;
    const ndrt_binding *bindings;
    uint64_t changed; /* inputs that are written to, a bit each */
    size_t scratch;
    int hits; /* primitives that the long way looks up */
    int nnumbers;
    const ndrt_numbering *numbers; /* of those that each run is given anew */
} ndrt_call_spec;
/* With the GIL held. From a tuple of types, their slots and what stands in keys (see
 * imperative/fast_call.py) a tuple of Python functions, run, keep, kinds, copies and again.
 * NULL: a Python exception is set. */
void *ndrt_call_functions(void *setup);
int64_t ndrt_call_hits(void); /* primitives that calls did not have to look up */
void ndrt_call_hits_reset(void);
/* cdef-end */

#endif
