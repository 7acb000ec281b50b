/* The API of the native shim, continued: recorded steps and their replay. */
#ifndef NDRT_PLANS_H
#define NDRT_PLANS_H

#include "ndrt_kernels.h"

/* cdef-begin */
/* ---- arenas: offsets for memory with known lifetimes ------------------------------------ */
typedef struct {
    int64_t nbytes, born, dies; /* the first and the last step that use it */
    int64_t team, lane;         /* lanes of a team, from 0 up, run at once; -1: none */
    int64_t offset;
} ndrt_life;
/* Assign an offset to each of n lives, sorted by birth; lives that meet do not overlap. `work` is
 * the number of comparisons.
 *
 * This one places them in `order`, each as low as the earlier ones allow. If `most_work` is reached
 * it may have given up, and offsets mean nothing. */
ndrt_status ndrt_arena_place_low(int64_t n, ndrt_life *lives, const int64_t *order,
                                 int64_t most_work, int64_t *work);
/* In the order of time: each in the smallest hole that fits at its birth. `births` and `deaths`
 * list the lives in those orders; lanes are not supported. */
ndrt_status ndrt_arena_sweep(int64_t n, ndrt_life *lives, const int64_t *births,
                             const int64_t *deaths, int64_t *work);
/* Moves placed lives within the arena to where the same half of the threads wrote before, if
 * nothing that they meet is there, until `most_work` is exceeded. */
ndrt_status ndrt_arena_keep_halves(int64_t n, ndrt_life *lives, int64_t most_work, int64_t *work);

/* ---- plans: recorded steps, run by one call -------------------------------------------- */
typedef struct ndrt_plan ndrt_plan;
ndrt_status ndrt_plan_new(ndrt_plan **out);
void ndrt_plan_free(ndrt_plan *plan);
ndrt_status ndrt_plan_add_prim(ndrt_plan *plan, const ndrt_prim *prim, int nargs,
                               const ndrt_arg *args); /* the plan does not own the primitive */
ndrt_status ndrt_plan_add_kernel(ndrt_plan *plan, const ndrt_kernel_call *call);
/* A step at which runs stop so that the caller does something; the run continues after it. */
ndrt_status ndrt_plan_add_stop(ndrt_plan *plan);
int ndrt_plan_stops_at(const ndrt_plan *plan, int64_t at);
int64_t ndrt_plan_size(const ndrt_plan *plan);
/* Drops all steps but the first `nsteps`. */
void ndrt_plan_cut(ndrt_plan *plan, int64_t nsteps);
/* Declares steps from `begin` on as lanes: up to ends[0], from there up to ends[1], and so on. They
 * come after earlier lanes and use one thread each. Lanes run in parallel when a run reaches them;
 * a run that begins inside of them executes the rest in order. */
ndrt_status ndrt_plan_add_lanes(ndrt_plan *plan, int64_t begin, int count, const int64_t *ends);
/* Marks a consistent point: the steps so far leave no array half written. */
void ndrt_plan_mark_consistent(ndrt_plan *plan);
/* Runs from step *cursor to the end, to a stop, or to the first consistent point after budget_ms
 * (below 0: no limit); *cursor is where to continue. */
ndrt_status ndrt_plan_run(ndrt_plan *plan, double budget_ms, int64_t *cursor);
/* The same; times[i] becomes the milliseconds of step i. NULL: not measured. */
ndrt_status ndrt_plan_profile(ndrt_plan *plan, double budget_ms, int64_t *cursor, double *times);

/* ---- replays: a plan, and the conditions under which it is valid ----------------------------- */
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
/* `plan` and `leases` must outlive the replay. */
ndrt_status ndrt_replay_new(const ndrt_replay_spec *spec, ndrt_replay **out);
void ndrt_replay_free(ndrt_replay *replay);
/* With `leased` the caller holds the leases, and keeps them. */
ndrt_replay_result ndrt_replay_run(ndrt_replay *replay, double budget_ms, int leased);
/* The same, without leases of the caller's, after copies between arrays in the default layout, each
 * by ndrt_chunk_copy; BUSY if one is not possible, when earlier ones have been made. */
typedef struct {
    intptr_t target, source; /* chunks */
    size_t target_offset, source_offset, nbytes;
} ndrt_replay_copy;
ndrt_replay_result ndrt_replay_fed(ndrt_replay *replay, int n, const ndrt_replay_copy *copies,
                                   double budget_ms);
/* Continues; from a stop, with the step after it. */
ndrt_replay_result ndrt_replay_go_on(ndrt_replay *replay, double budget_ms);
/* Accepts the sources as they were with these changes: results were computed anew from them. */
void ndrt_replay_renew(ndrt_replay *replay, const uint64_t *changes);
/* Accepts the present state of guarded chunks: they have their recorded memory and layout again.
 * The caller holds the leases. */
void ndrt_replay_rewatch(ndrt_replay *replay);
ndrt_status ndrt_replay_status(const ndrt_replay *replay); /* of the step that failed last */
int64_t ndrt_replay_cursor(const ndrt_replay *replay);     /* that step, or the one to go on from */
int64_t ndrt_replay_runs(const ndrt_replay *replay);       /* finished ones */
/* Later runs store the milliseconds of step i in times[i]; NULL: no more. */
void ndrt_replay_profile(ndrt_replay *replay, double *times);

/* ---- calls: a recorded call of one operator, repeated for other arrays ----------------------- */
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
/* Where a kernel has which number of the call's parameters. */
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
/* With the GIL held. From a tuple of types, their slots and parts of keys (see
 * imperative/fast_call.py), returns a tuple of Python functions: run, keep, kinds, copies and
 * again. NULL: a Python exception is set. */
void *ndrt_call_functions(void *setup);
int64_t ndrt_call_hits(void); /* primitives that calls did not have to look up */
void ndrt_call_hits_reset(void);
/* cdef-end */

#endif
