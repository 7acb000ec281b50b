/* Thread teams on cores that other processes use too.
 *
 * At the end of each parallel region, and before the next one, the threads of a team wait for each
 * other. libgomp lets them spin for some milliseconds before they sleep, which suits short regions
 * on idle cores. If another process runs, the awaited thread may be queued behind a spinning one on
 * the same core, and each region takes milliseconds. libgomp reads its spin time when it is loaded,
 * mostly before this package is; but it shortens spinning while it manages more threads than there
 * are cores. So while others are seen to run, a second, sleeping team is kept to cause that, and
 * regions then wait by sleeping. Results and numbers of threads stay the same. */
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ndrt_internal.h"

/* A look takes some ten microseconds. */
static const int64_t LOOK_NS = 8000000, DOUBT_NS = 2000000;
/* The second team is released if nobody else was seen for so long; that time grows each time it was
 * needed again at once. */
static const int64_t QUIET_NS = 50000000, MOST_QUIET_NS = 3200000000;
/* Threads that share a core with others are preempted a few hundred times a second. */
static const int64_t WINDOW_NS = 25000000, WINDOW_MOST_NS = 200000000, SWITCHES_A_SECOND = 100;
static const int64_t AGAIN_NS = 1000000000; /* a team that can not be had is not asked for sooner */
enum { DOUBTS = 3, SAMPLES = 3, PARKED_MOST = 64 };

static pthread_mutex_t crowd_lock = PTHREAD_MUTEX_INITIALIZER;
static int mode = NDRT_CROWD_LOOK;
static int64_t next_look; /* read without the lock */
static int cores_of_libgomp, cores_of_machine;
static int pretended; /* so many threads run, for tests; 0: as many as the machine says */
static struct {
    int doubts;                /* looks in a row that found others */
    int64_t seen, quiet, left; /* when others were seen; how long until; when the team went */
    int64_t window, switches;  /* when involuntary switches were last read, and how many */
} crowd;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the second team ------------------------------------------------------------------------- */

static struct {
    pthread_t master;
    int threads; /* 0: there is none; read without the lock */
    int ready, leave;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} parked = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int is_parked(void) { return __atomic_load_n(&parked.threads, __ATOMIC_RELAXED); }

static void *wait_to_leave(void *counter) {
    pthread_mutex_lock(&parked.lock);
    ++*(int *)counter;
    pthread_cond_broadcast(&parked.changed);
    while (!parked.leave) pthread_cond_wait(&parked.changed, &parked.lock);
    pthread_mutex_unlock(&parked.lock);
    return NULL;
}

static void *keep_team(void *size) {
    const int threads = *(const int *)size;
    /* its members wait for this thread's next region, which never comes */
#pragma omp parallel num_threads(threads)
    {
        __asm__ volatile("");
    }
    return wait_to_leave(&parked.ready);
}

static int start(pthread_t *thread, void *(*run)(void *), void *with) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* its members have the mask of their creator */
    const int failed = pthread_create(thread, NULL, run, with);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

static void let_leave(void) {
    pthread_mutex_lock(&parked.lock);
    parked.leave = 1;
    pthread_cond_broadcast(&parked.changed);
    pthread_mutex_unlock(&parked.lock);
}

static void wait_until_ready(int count) {
    pthread_mutex_lock(&parked.lock);
    while (parked.ready < count) pthread_cond_wait(&parked.changed, &parked.lock);
    pthread_mutex_unlock(&parked.lock);
}

/* OpenMP ends the process if it can not create a thread, so that is tried beforehand. */
static int can_have(int threads) {
    pthread_t made[PARKED_MOST];
    int n = 0;
    parked.ready = parked.leave = 0;
    while (n < threads && start(&made[n], wait_to_leave, &parked.ready)) n++;
    let_leave();
    for (int i = 0; i < n; i++) pthread_join(made[i], NULL);
    return n == threads;
}

/* Together with a team of so many threads, libgomp then manages more threads than cores. */
static int size_beside(int threads) {
    const int size = cores_of_libgomp - threads + 2;
    return size < 2 ? 2 : size;
}

/* The caller holds the lock. 0: it would take too many threads, or they can not be created. */
static int park(int size) {
    if (size > PARKED_MOST || ndrt_reserve_team(size + 1) != NDRT_OK || !can_have(size)) return 0;
    parked.ready = parked.leave = 0;
    if (!start(&parked.master, keep_team, &size)) return 0;
    wait_until_ready(1);
    __atomic_store_n(&parked.threads, size, __ATOMIC_RELAXED);
    return 1;
}

static void unpark(void) {
    if (!is_parked()) return;
    let_leave();
    pthread_join(parked.master, NULL);
    __atomic_store_n(&parked.threads, 0, __ATOMIC_RELAXED);
}

/* ---- are there others? ------------------------------------------------------------------------
 */

/* Runnable threads of the whole machine; 0: unknown. */
static int running_now(void) {
    int running = 0;
    if (pretended) return pretended;
    FILE *file = fopen("/proc/loadavg", "re");
    if (!file) return 0;
    if (fscanf(file, "%*s %*s %*s %d/", &running) != 1) running = 0;
    fclose(file);
    return running;
}

/* Whether more threads run than there are cores, including the team of the last region. The second
 * team's members sleep some microseconds after the region: the minimum of some samples excludes
 * them. */
static int is_full(int threads) {
    if (!is_parked()) return running_now() > cores_of_machine;
    int least = INT_MAX;
    for (int i = 0; i < SAMPLES; i++) {
        const int running = running_now();
        if (running < least) least = running;
    }
    return least + threads - 1 > cores_of_machine;
}

/* In a control group with cores of its own the machine's numbers say nothing. Involuntary context
 * switches of this process do. */
static int is_pushed(int64_t now) {
    struct rusage used;
    if (pretended || now - crowd.window < WINDOW_NS || getrusage(RUSAGE_SELF, &used)) return 0;
    const int64_t passed = now - crowd.window, switches = used.ru_nivcsw - crowd.switches;
    crowd.window = now;
    crowd.switches = used.ru_nivcsw;
    return passed <= WINDOW_MOST_NS && switches * 1000000000 / passed >= SWITCHES_A_SECOND;
}

/* When to check again. */
static int64_t found_others(int threads, int64_t now) {
    const int size = size_beside(threads);
    crowd.seen = now;
    if (parked.threads >= size) return now + LOOK_NS;
    if (!parked.threads) {
        if (++crowd.doubts < DOUBTS) return now + DOUBT_NS;
        const int64_t longer = 2 * crowd.quiet;
        if (!crowd.quiet || now - crowd.left > 10 * crowd.quiet)
            crowd.quiet = QUIET_NS;
        else
            crowd.quiet = longer < MOST_QUIET_NS ? longer : MOST_QUIET_NS;
    }
    unpark();
    return now + (park(size) ? LOOK_NS : AGAIN_NS);
}

static int64_t found_nobody(int64_t now) {
    crowd.doubts = 0;
    if (parked.threads && now - crowd.seen >= crowd.quiet) {
        unpark();
        crowd.left = now;
    }
    return now + LOOK_NS;
}

static int64_t look(int threads, int64_t now) {
    /* both are evaluated, as the second one updates its window */
    const int full = is_full(threads), pushed = is_pushed(now);
    return full || pushed ? found_others(threads, now) : found_nobody(now);
}

void ndrt_crowd_look(int threads) {
    const int64_t now = now_ns();
    if (now < __atomic_load_n(&next_look, __ATOMIC_RELAXED) || threads > cores_of_libgomp) return;
    if (pthread_mutex_trylock(&crowd_lock)) return;
    int64_t next = now + AGAIN_NS;
    if (mode == NDRT_CROWD_LOOK) next = look(threads, now);
    if (mode == NDRT_CROWD_ALWAYS && parked.threads < size_beside(threads)) {
        unpark();
        park(size_beside(threads));
    }
    __atomic_store_n(&next_look, next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&crowd_lock);
}

void ndrt_crowd_set(int wanted, int running) {
    ndrt_gate_enter(); /* else a fork could find the lock taken */
    pthread_mutex_lock(&crowd_lock);
    if (mode != wanted) {
        unpark();
        memset(&crowd, 0, sizeof crowd);
    }
    mode = wanted;
    pretended = running;
    __atomic_store_n(&next_look, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&crowd_lock);
    ndrt_gate_leave();
}

int ndrt_crowd_seen(void) { return is_parked() != 0; }

void ndrt_crowd_prepare(void) {
    cores_of_libgomp = omp_get_num_procs();
    cores_of_machine = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* At a fork nobody is inside the gate, where alone the lock is taken. The child would have
 * libgomp's count of managed threads, but not the threads. */
void ndrt_crowd_at_fork(ndrt_fork_moment moment) {
    if (moment != NDRT_BEFORE_FORK) return;
    unpark();
    crowd.doubts = 0;
    __atomic_store_n(&next_look, 0, __ATOMIC_RELAXED);
}
