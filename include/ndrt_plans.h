/* The API of the native shim, continued: kernels of our own, and steps recorded to be run again. */
#ifndef NDRT_PLANS_H
#define NDRT_PLANS_H

#include "ndrt.h"

/* cdef-begin */
/* ---- kernels of our own: what oneDNN lacks --------------------------------------------- */
typedef enum {
    NDRT_KERNEL_ADD_TO = 1,    /* f32: data[0] += data[1]                    dims n */
    NDRT_KERNEL_COPY = 2,      /* bytes: data[0] = data[1]                   dims nbytes */
    NDRT_KERNEL_ZERO = 3,      /* bytes: data[0] = 0                         dims nbytes */
    NDRT_KERNEL_SGD = 4,       /* f32: out, weight, grad                     dims n
                                  scalars lr wd rescale clip */
    NDRT_KERNEL_SGD_MOM = 5,   /* f32: out, weight, grad, momentum buffer
                                  scalars lr wd rescale clip momentum */
    NDRT_KERNEL_ADAM = 6,      /* f32: out, weight, grad, mean, var
                                  scalars lr wd rescale clip beta1 beta2 epsilon */
    NDRT_KERNEL_PHILOX = 7,    /* u32: data[0]                               dims n, key, counter */
    NDRT_KERNEL_BIAS_GRAD = 8, /* f32: data[0][c] = sum data[1][., c]        dims rows, channels */
    NDRT_KERNEL_BLEND_STATS = 9, /* f32: data[0] = a data[0] + b data[1]      dims n; scalars a b */
    /* These draw n words; the last of their data is the ndrt_random that they are drawn from. */
    NDRT_KERNEL_DROPOUT_MASK = 16, /* f32: data[0] = factor or 0              dims n
                                      scalars bound (of 2^24: kept below it) factor */
    NDRT_KERNEL_DROPOUT = 17,      /* f32: data[1] = mask, data[0] = data[2] mask  the same */
    NDRT_KERNEL_UNIFORM = 18,      /* f32: data[0] = low + width u, at most limit  dims n
                                      scalars low width limit */
    NDRT_KERNEL_NORMAL = 19,       /* f32: data[0] = loc + scale z                 dims n
                                      scalars loc scale */
    NDRT_KERNEL_FILL = 20,   /* f32: data[0] = value                         dims n; scalar value */
    NDRT_KERNEL_SLOPED = 21, /* f32: data[0] = data[3] where data[1] > 0, else data[2] data[3]
                               dims n */
    NDRT_KERNEL_SCALED_ROWS = 22, /* f32: data[0][r][c] = data[1][r][c] * data[2][c] + data[3][c],
                                     to be rectified: 0 where that is not above it
                                     dims rows width, width of data[0]; scalars rectify */

    /* Places are an array of kind F32, F64, S32, S8, U8 or NDRT_INDEX_S64; beyond the axis they
     * go to its nearer end, or with `wrap` round and round. */
    NDRT_KERNEL_GATHER = 32,        /* bytes: out, table, places     dims outer count rows width
                                       scalars kind wrap; out[o][i] = table[o][places[i]] */
    NDRT_KERNEL_GATHER_GRAD = 33,   /* f32: table's gradient, out's gradient, places; the same */
    NDRT_KERNEL_PICK = 34,          /* bytes: out, data, places      dims outer axis inner size
                                       scalars kind wrap; out[o][i] = data[o][places[o][i]][i] */
    NDRT_KERNEL_PICK_GRAD = 35,     /* f32: data's gradient, out's gradient, places
                                       dims outer axis inner; scalars kind wrap */
    NDRT_KERNEL_ONE_HOT = 36,       /* out, places                   dims count depth
                                       scalars kind on off, dtype of out (F32, S32) */
    NDRT_KERNEL_WHERE = 37,         /* f32: out, condition, x, y     dims count width
                                       scalars kind (of the condition) */
    NDRT_KERNEL_SEQUENCE_MASK = 38, /* f32: out, data, lengths       dims rows columns width, which
                                       of the first two are the steps; scalars kind value */
    NDRT_KERNEL_ARANGE = 39,        /* f32: out                      dims n repeat
                                       scalars start step */
    NDRT_KERNEL_ERF = 40            /* f32: data[0] = erf(data[1])   dims n */
} ndrt_kernel_id;
enum { NDRT_INDEX_S64 = 64 }; /* among ndrt_dtype's numbers: places that no layout describes */
/* A stream of random words: where the next draw begins. */
typedef struct {
    uint64_t key, counter; /* of blocks of four words */
} ndrt_random;
void ndrt_random_set(ndrt_random *stream, uint64_t key, uint64_t counter);
/* Takes whole blocks with at least so many words off the stream; `out`: where they begin. For many
 * threads at once. */
void ndrt_random_draw(ndrt_random *stream, int64_t words, ndrt_random *out);

typedef struct {
    int kernel; /* ndrt_kernel_id */
    int nthreads;
    int64_t dims[4];
    void *data[6];
    double scalars[8];
    const double *parameters; /* not NULL: 8 numbers, read in place of scalars when the call runs */
} ndrt_kernel_call;
ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call);

/* ---- plans: recorded steps, run by one call -------------------------------------------- */
typedef struct ndrt_plan ndrt_plan;
ndrt_status ndrt_plan_new(ndrt_plan **out);
void ndrt_plan_free(ndrt_plan *plan);
ndrt_status ndrt_plan_add_prim(ndrt_plan *plan, const ndrt_prim *prim, int nargs,
                               const ndrt_arg *args); /* the plan does not own the primitive */
ndrt_status ndrt_plan_add_kernel(ndrt_plan *plan, const ndrt_kernel_call *call);
int64_t ndrt_plan_size(const ndrt_plan *plan);
/* Points every argument that is `from` at `to`, neither of them NULL; says how many there were. */
int64_t ndrt_plan_rebind(ndrt_plan *plan, const void *from, void *to);
/* The steps so far leave no array half written. */
void ndrt_plan_mark_whole(ndrt_plan *plan);
/* Runs from step *cursor until the end, or until budget_ms has passed (below 0: no limit) and no
 * array is half written; *cursor is where to go on. */
ndrt_status ndrt_plan_run(ndrt_plan *plan, double budget_ms, int64_t *cursor);
/* The same; times[i] becomes the milliseconds that step i took. NULL: nothing is noted. */
ndrt_status ndrt_plan_profile(ndrt_plan *plan, double budget_ms, int64_t *cursor, double *times);

/* ---- replays: a plan, and what must hold for its recorded pointers and layouts to be right -- */
typedef struct {
    ndrt_plan *plan;
    ndrt_hold *leases; /* taken for each run */
    int nguards;       /* chunks whose bytes stay where and as they are now */
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
    NDRT_REPLAY_UNFINISHED = 1, /* the budget is spent; leases are kept: go on, or give them back */
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
ndrt_replay_result ndrt_replay_go_on(ndrt_replay *replay, double budget_ms);
/* What was computed from the sources was computed anew, when they had these changes. */
void ndrt_replay_renew(ndrt_replay *replay, const uint64_t *changes);
/* All guarded chunks are where and as they were at the recording, whatever was between; the caller
 * has the leases. */
void ndrt_replay_rewatch(ndrt_replay *replay);
ndrt_status ndrt_replay_status(const ndrt_replay *replay); /* of the step that failed last */
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
typedef struct {
    ndrt_plan *plan;
    int nthreads; /* the setting it was recorded under */
    int frees_gil;
    int ninputs, noutputs;
    const size_t *nbytes;   /* of each output's memory */
    const int64_t *layouts; /* special ones that outputs are left in, 0: the default one */
    int nbindings;
    const ndrt_binding *bindings;
    size_t scratch;
    int hits; /* primitives that the long way looks up */
} ndrt_call_spec;
/* With the GIL held. From a tuple of types and their slots (see imperative/fast_call.py) a tuple of
 * Python functions, run and keep. NULL: a Python exception is set. */
void *ndrt_call_functions(void *setup);
int64_t ndrt_call_hits(void); /* primitives that calls did not have to look up */
void ndrt_call_hits_reset(void);
/* cdef-end */

#endif
