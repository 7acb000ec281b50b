/* What native/runtime/ offers to all files in native/ and nobody else sees. */
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

/* Keeps the text for ndrt_last_error() and gives `status` back. */
__attribute__((format(printf, 2, 3))) ndrt_status ndrt_fail(ndrt_status status, const char *format,
                                                            ...);
/* NDRT_OK, or the failure of an oneDNN call named by `what`. */
ndrt_status ndrt_check(dnnl_status_t status, const char *what);

int ndrt_cpu_has(ndrt_cpu_feature feature);

dnnl_engine_t ndrt_engine(void);
ndrt_status ndrt_stream(dnnl_stream_t *out); /* this thread's own */

/* Around everything that runs oneDNN or OpenMP: a fork waits until all have left, and new ones wait
 * for the fork. Nobody enters with a lock held. */
void ndrt_gate_enter(void);
void ndrt_gate_leave(void);
ndrt_status ndrt_fork_prepare(void); /* once in a process and its children */

/* What each file that has locks does: takes them before a fork, and gives them back after it on
 * both sides; in the child it also forgets the threads that are not there. */
typedef enum { NDRT_BEFORE_FORK, NDRT_FORK_PARENT, NDRT_FORK_CHILD } ndrt_fork_moment;
/* For files that the runtime does not know: theirs are taken before its own, in the order in which
 * they are told. Once in a process, while it starts. */
void ndrt_at_fork(void (*handler)(ndrt_fork_moment moment));
void ndrt_engine_at_fork(ndrt_fork_moment moment);
void ndrt_memory_at_fork(ndrt_fork_moment moment);
void ndrt_chunk_at_fork(ndrt_fork_moment moment);
void ndrt_readers_at_fork(ndrt_fork_moment moment);
void ndrt_crowd_at_fork(ndrt_fork_moment moment);

/* Floating-point mode and OpenMP team of native code, entered and left around each call, inside of
 * the gate. */
typedef struct {
    unsigned mxcsr;
    int threads;
} ndrt_native_state;
ndrt_status ndrt_enter(ndrt_native_state *state, int nthreads); /* failed: nothing to leave */
void ndrt_leave(const ndrt_native_state *state);
ndrt_status ndrt_use_threads(int threads); /* between the two: from now on this many */
void ndrt_signal_stack_ready(void);        /* in each thread before it runs generated code */
/* Inside of the gate, behind a region of so many threads: are there others on their cores? */
void ndrt_crowd_look(int threads);
void ndrt_crowd_prepare(void); /* once in a process, before the first look */

/* May an allocation go on? Counts for ndrt_memory_fail_after. */
int ndrt_allocation_allowed(void);
void *ndrt_malloc(size_t nbytes);
void *ndrt_calloc(size_t count, size_t nbytes);

/* A lack of memory is found before oneDNN or OpenMP would meet it. NDRT_NOMEM: nothing was done.
 * These look whether so much is to be had, and give it back; none counts as an allocation. */
ndrt_status ndrt_reserve_space(size_t nbytes, const char *what); /* of addresses: microseconds */
ndrt_status ndrt_reserve_heap(void); /* for the small things of a call: some nanoseconds */
int ndrt_has_space(size_t nbytes);   /* the same of addresses, with nothing done about it */
ndrt_status ndrt_reserve_team(int threads);
/* A reference on an account, NULL for the thread's current one. */
ndrt_account *ndrt_account_take(ndrt_account *account);
void ndrt_account_add(ndrt_account *account, int64_t nbytes);

/* Work below this many elements is done by one thread: a fork and join costs more. A team is as
 * large as the setting says, never something in between: libgomp ends the threads that a smaller
 * one leaves over, and makes them anew for the next larger one. */
enum { NDRT_SMALL_WORK = 16384 };

#endif
