/* The engine, streams, and the floating-point mode and thread team of native calls. */
#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "ndrt_internal.h"
#include "oneapi/dnnl/dnnl_debug.h"

enum { FLUSH_BITS = 0x8040 /* FTZ | DAZ of MXCSR */ };

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t stream_key;
static dnnl_engine_t engine;
static _Thread_local dnnl_stream_t stream;

static int flush_setting = 1;

static void stream_destroy(void *p) { dnnl_stream_destroy(p); }

static ndrt_status engine_create(void) {
    const dnnl_version_t *version = dnnl_version();
    if (version->major != 3 || version->minor < 2)
        return ndrt_fail(NDRT_UNSUPPORTED,
                         "oneDNN %d.%d.%d is mapped, 3.2 or a later 3.x is needed", version->major,
                         version->minor, version->patch);
    if (!ndrt_cpu_features()) TRY(ndrt_cpu_choose(""));
    /* oneDNN's own primitive cache is off: the one in Python can count and release primitives. */
    TRY(ndrt_check(dnnl_set_primitive_cache_capacity(0), "dnnl_set_primitive_cache_capacity"));
    ndrt_crowd_prepare();
    if (pthread_key_create(&stream_key, stream_destroy))
        return ndrt_fail(NDRT_INTERNAL, "pthread_key_create failed");
    dnnl_engine_t made;
    ndrt_status status = ndrt_check(dnnl_engine_create(&made, dnnl_cpu, 0), "dnnl_engine_create");
    if (status == NDRT_OK) {
        status = ndrt_fork_prepare();
        if (status != NDRT_OK) dnnl_engine_destroy(made);
    }
    if (status != NDRT_OK) {
        pthread_key_delete(stream_key);
        return status;
    }
    __atomic_store_n(&engine, made, __ATOMIC_RELEASE);
    return NDRT_OK;
}

ndrt_status ndrt_engine_init(void) {
    if (ndrt_engine()) return NDRT_OK;
    pthread_mutex_lock(&init_lock);
    ndrt_status status = ndrt_engine() ? NDRT_OK : engine_create();
    pthread_mutex_unlock(&init_lock);
    return status;
}

dnnl_engine_t ndrt_engine(void) { return __atomic_load_n(&engine, __ATOMIC_ACQUIRE); }

ndrt_status ndrt_stream(dnnl_stream_t *out) {
    if (!stream) {
        TRY(ndrt_engine_init());
        dnnl_stream_t made;
        TRY(ndrt_check(dnnl_stream_create(&made, ndrt_engine(), dnnl_stream_default_flags),
                       "dnnl_stream_create"));
        if (pthread_setspecific(stream_key, made)) {
            dnnl_stream_destroy(made);
            return ndrt_fail(NDRT_NOMEM, "pthread_setspecific failed");
        }
        stream = made;
    }
    *out = stream;
    return NDRT_OK;
}

void ndrt_engine_version(int *version) {
    const dnnl_version_t *mapped = dnnl_version();
    version[0] = mapped->major;
    version[1] = mapped->minor;
    version[2] = mapped->patch;
}

const char *ndrt_engine_isa(void) {
    const char *name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    return strncmp(name, "cpu_isa_", 8) ? name : name + 8;
}

const char *ndrt_engine_library(void) {
    static char path[PATH_MAX];
    Dl_info info;
    pthread_mutex_lock(&init_lock);
    if (!path[0] && dladdr((const void *)(uintptr_t)&dnnl_version, &info) && info.dli_fname &&
        !realpath(info.dli_fname, path))
        snprintf(path, sizeof path, "%s", info.dli_fname);
    pthread_mutex_unlock(&init_lock);
    return path;
}

/* ---- native mode ---------------------------------------------------------------------- */

void ndrt_flush_subnormals_set(int on) {
    __atomic_store_n(&flush_setting, on != 0, __ATOMIC_RELAXED);
}

int ndrt_flush_subnormals_get(void) { return __atomic_load_n(&flush_setting, __ATOMIC_RELAXED); }

/* The team that OpenMP keeps for this thread, and the mode last given to its members. A team of one
 * is the thread itself; a region with one thread leaves a larger team as it is. */
static _Thread_local struct {
    int threads;
    unsigned mode;
    int was_used; /* threads of the last region since the native call began; 0: there was none */
} team;

ndrt_status ndrt_use_threads(int threads) {
    if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
    unsigned mode = _mm_getcsr() & FLUSH_BITS;
    if (threads == 1) return NDRT_OK;
    team.was_used = threads;
    if (team.threads == threads && team.mode == mode) return NDRT_OK;
    /* OpenMP ends the process if it can not create a thread. */
    if (team.threads != threads) TRY(ndrt_reserve_team(threads));
#pragma omp parallel num_threads(threads)
    {
        ndrt_signal_stack_ready();
        _mm_setcsr((_mm_getcsr() & ~(unsigned)FLUSH_BITS) | mode);
    }
    team.threads = threads;
    team.mode = mode;
    return NDRT_OK;
}

ndrt_status ndrt_enter(ndrt_native_state *state, int nthreads) {
    ndrt_gate_enter();
    ndrt_signal_stack_ready();
    state->mxcsr = _mm_getcsr();
    state->threads = omp_get_max_threads();
    unsigned mode = state->mxcsr & ~(unsigned)FLUSH_BITS;
    if (ndrt_flush_subnormals_get()) mode |= FLUSH_BITS;
    if (mode != state->mxcsr) _mm_setcsr(mode);
    ndrt_status status = ndrt_use_threads(nthreads);
    if (status != NDRT_OK) ndrt_leave(state);
    return status;
}

void ndrt_leave(const ndrt_native_state *state) {
    if (team.was_used) ndrt_crowd_look(team.was_used);
    team.was_used = 0;
    _mm_setcsr(state->mxcsr);
    if (omp_get_max_threads() != state->threads) omp_set_num_threads(state->threads);
    ndrt_gate_leave();
}

void ndrt_engine_at_fork(ndrt_fork_moment moment) {
    if (moment == NDRT_BEFORE_FORK) {
        pthread_mutex_lock(&init_lock);
        return;
    }
    team.threads = 0; /* in parent and child: the pool was released before the fork */
    pthread_mutex_unlock(&init_lock);
}
