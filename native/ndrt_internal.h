/* Offered by native/runtime/ to all files in native/, and to nobody else. */
#ifndef NDRT_INTERNAL_H
#define NDRT_INTERNAL_H

#include "ndrt_exports.h"
#include "ndrt_plans.h"
#include "oneapi/dnnl/dnnl.h"

#define TRY(expression)                                                                            \
    do {                                                                                           \
        ndrt_status try_status = (expression);                                                     \
        if (try_status != NDRT_OK) return try_status;                                              \
    } while (0)

/* Stores the text for ndrt_last_error(); returns `status`. */
__attribute__((format(printf, 2, 3))) ndrt_status ndrt_fail(ndrt_status status, const char *format,
                                                            ...);
/* NDRT_OK, or the failure of an oneDNN call named by `what`. */
ndrt_status ndrt_check(dnnl_status_t status, const char *what);

int ndrt_cpu_has(ndrt_cpu_feature feature);

dnnl_engine_t ndrt_engine(void);
ndrt_status ndrt_stream(dnnl_stream_t *out); /* this thread's own */

/* Around everything that runs oneDNN or OpenMP: a fork waits until all threads have left, and new
 * ones wait for the fork. Must not be entered with a lock held. */
void ndrt_gate_enter(void);
void ndrt_gate_leave(void);
ndrt_status ndrt_fork_prepare(void); /* once in a process and its children */

/* Provided by each file with locks: acquires them before a fork, and releases them after it in both
 * processes; in the child it also forgets threads that do not exist there. */
typedef enum { NDRT_BEFORE_FORK, NDRT_FORK_PARENT, NDRT_FORK_CHILD } ndrt_fork_moment;
/* For files outside of the runtime: their locks are acquired before its own, in the order of
 * registration. Once in a process, while it starts. */
void ndrt_at_fork(void (*handler)(ndrt_fork_moment moment));
void ndrt_engine_at_fork(ndrt_fork_moment moment);
void ndrt_memory_at_fork(ndrt_fork_moment moment);
void ndrt_chunk_at_fork(ndrt_fork_moment moment);
void ndrt_readers_at_fork(ndrt_fork_moment moment);
void ndrt_crowd_at_fork(ndrt_fork_moment moment);

/* Floating-point mode and OpenMP team of native code, entered and left around each call, inside the
 * gate. */
typedef struct {
    unsigned mxcsr;
    int threads;
} ndrt_native_state;
ndrt_status ndrt_enter(ndrt_native_state *state, int nthreads); /* failed: nothing to leave */
void ndrt_leave(const ndrt_native_state *state);
ndrt_status ndrt_use_threads(int threads); /* between the two: from now on this many */
void ndrt_signal_stack_ready(void);        /* in each thread before it runs generated code */
/* Inside the gate, after a region of so many threads: checks whether others use their cores. */
void ndrt_crowd_look(int threads);
void ndrt_crowd_prepare(void); /* once in a process, before the first look */

/* Whether an allocation may succeed; counts for ndrt_memory_fail_after. */
int ndrt_allocation_allowed(void);
void *ndrt_malloc(size_t nbytes);
void *ndrt_calloc(size_t count, size_t nbytes);

/* Detect a lack of memory before oneDNN or OpenMP would meet it. NDRT_NOMEM: nothing was done. They
 * allocate and free so much; this does not count as an allocation. */
ndrt_status ndrt_reserve_space(size_t nbytes, const char *what); /* of addresses: microseconds */
ndrt_status ndrt_reserve_heap(void); /* for the small things of a call: some nanoseconds */
int ndrt_has_space(size_t nbytes);   /* the same of addresses, with nothing done about it */
ndrt_status ndrt_reserve_team(int threads);
/* A reference on an account, NULL for the thread's current one. */
ndrt_account *ndrt_account_take(ndrt_account *account);
void ndrt_account_add(ndrt_account *account, int64_t nbytes);

/* Work below this many elements is done by one thread, as starting a team costs more. A team always
 * has the configured size, never one in between: libgomp ends the threads that a smaller team does
 * not need, and creates them again for the next larger one. */
enum { NDRT_SMALL_WORK = 16384 };

#endif
