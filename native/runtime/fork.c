/* fork: while a process forks, nobody is inside oneDNN or OpenMP, and no thread that the child
 * lacks holds a lock. */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "ndrt_internal.h"

/* Threads in native code are counted between ndrt_gate_enter and ndrt_gate_leave. A fork closes the
 * gate and waits until nobody is inside, so that the locks of oneDNN and OpenMP are free. There are
 * several counters, and a thread uses one of them: a single one would be a cache line that every
 * core writes to at every call. */
enum { NSHARDS = 64 };
static struct {
    _Alignas(64) int64_t inside;
} shards[NSHARDS];
static int closed;
static unsigned next_shard;
static _Thread_local int64_t *own_shard;

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

static int64_t *shard(void) {
    if (!own_shard)
        own_shard = &shards[__atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED) % NSHARDS].inside;
    return own_shard;
}

static int is_closed(void) { return __atomic_load_n(&closed, __ATOMIC_SEQ_CST); }

static __attribute__((noinline)) void tell_that_one_left(void) {
    pthread_mutex_lock(&gate_lock);
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&gate_lock);
}

static __attribute__((noinline)) void wait_until_open(void) {
    pthread_mutex_lock(&gate_lock);
    pthread_cond_broadcast(&left);
    while (is_closed()) pthread_cond_wait(&opened, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

/* First counts, then checks `closed`; a fork does the reverse. So at least one of the two sees the
 * other. */
void ndrt_gate_enter(void) {
    int64_t *inside = shard();
    for (;;) {
        __atomic_add_fetch(inside, 1, __ATOMIC_SEQ_CST);
        if (!is_closed()) return;
        __atomic_sub_fetch(inside, 1, __ATOMIC_SEQ_CST);
        wait_until_open();
    }
}

void ndrt_gate_leave(void) {
    __atomic_sub_fetch(shard(), 1, __ATOMIC_SEQ_CST);
    if (is_closed()) tell_that_one_left();
}

static int anybody_inside(void) {
    for (int i = 0; i < NSHARDS; i++)
        if (__atomic_load_n(&shards[i].inside, __ATOMIC_SEQ_CST)) return 1;
    return 0;
}

typedef void (*handler)(ndrt_fork_moment);
static const handler own[] = {ndrt_engine_at_fork, ndrt_memory_at_fork, ndrt_chunk_at_fork,
                              ndrt_readers_at_fork, ndrt_crowd_at_fork};
enum { NOWN = sizeof own / sizeof *own, NABOVE = 4 };
static handler above[NABOVE];
static int nabove;

void ndrt_at_fork(handler one) {
    if (nabove == NABOVE) abort(); /* NABOVE is enough for all files with locks */
    above[nabove++] = one;
}

/* Acquired in the same order as elsewhere, released in reverse. */
static void take_all(void) {
    for (int i = 0; i < nabove; i++) above[i](NDRT_BEFORE_FORK);
    for (int i = 0; i < NOWN; i++) own[i](NDRT_BEFORE_FORK);
}

static void give_back_all(ndrt_fork_moment moment) {
    for (int i = NOWN; i-- > 0;) own[i](moment);
    for (int i = nabove; i-- > 0;) above[i](moment);
}

static void before(void) {
    pthread_mutex_lock(&gate_lock);
    for (;;) {
        /* another thread's fork may have opened the gate while this one waited */
        __atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
        if (!anybody_inside()) break;
        pthread_cond_wait(&left, &gate_lock);
    }
    take_all();
    /* The child would wait for ever for threads of this thread's team, which do not exist there.
     * Teams of other threads do not exist in the child, as their masters do not. */
    omp_pause_resource_all(omp_pause_soft);
}

static void in_parent(void) {
    give_back_all(NDRT_FORK_PARENT);
    __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&gate_lock);
}

static void in_child(void) {
    give_back_all(NDRT_FORK_CHILD);
    /* conditions contain sleepers that the child does not have */
    opened = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    gate_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST);
}

ndrt_status ndrt_fork_prepare(void) {
    if (pthread_atfork(before, in_parent, in_child))
        return ndrt_fail(NDRT_NOMEM, "pthread_atfork failed");
    return NDRT_OK;
}
