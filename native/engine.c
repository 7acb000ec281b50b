/* The engine, streams, thread counts, and the floating-point mode of native calls. */
#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "ndrt_internal.h"
#include "oneapi/dnnl/dnnl_debug.h"

enum { MAX_THREADS = 1024, FLUSH_BITS = 0x8040 /* FTZ | DAZ of MXCSR */ };

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t stream_key;
static dnnl_engine_t engine;
static _Thread_local dnnl_stream_t stream;

static int threads_setting; /* 0: not asked for yet */
static int flush_setting = 1;

static void stream_destroy(void *p) { dnnl_stream_destroy(p); }

static ndrt_status engine_create(void) {
    const dnnl_version_t *version = dnnl_version();
    if (version->major != 3 || version->minor < 2)
        return ndrt_fail(NDRT_UNSUPPORTED,
                         "oneDNN %d.%d.%d is mapped, 3.2 or a later 3.x is needed", version->major,
                         version->minor, version->patch);
    /* One store of primitives only: ours, in Python, which can count and release them. */
    TRY(ndrt_check(dnnl_set_primitive_cache_capacity(0), "dnnl_set_primitive_cache_capacity"));
    if (pthread_key_create(&stream_key, stream_destroy))
        return ndrt_fail(NDRT_INTERNAL, "pthread_key_create failed");
    dnnl_engine_t made;
    ndrt_status status = ndrt_check(dnnl_engine_create(&made, dnnl_cpu, 0), "dnnl_engine_create");
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

/* ---- thread counts ------------------------------------------------------------------ */

static int from_environment(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    char *end;
    long n = strtol(text, &end, 10);
    /* "4,2" gives the counts of nested levels: the first is ours. */
    return end != text && (*end == '\0' || *end == ',') && n >= 1 && n <= MAX_THREADS ? (int)n : 0;
}

static int from_affinity(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static int read_numbers(const char *path, const char *format, long long *a, long long *b) {
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int got = b ? fscanf(file, format, a, b) : fscanf(file, format, a);
    fclose(file);
    return got == (b ? 2 : 1);
}

/* CPUs that the container's quota pays for, rounded up; 0: no quota. */
static int from_quota(void) {
    long long quota = -1, period = 0;
    if (!read_numbers("/sys/fs/cgroup/cpu.max", "%lld %lld", &quota, &period)) {
        if (!read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "%lld", &quota, NULL) ||
            !read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "%lld", &period, NULL))
            return 0;
    }
    if (quota <= 0 || period <= 0) return 0;
    long long cpus = (quota + period - 1) / period;
    return cpus < MAX_THREADS ? (int)cpus : MAX_THREADS;
}

int ndrt_threads_default(void) {
    int asked = from_environment();
    if (asked) return asked;
    int cpus = from_affinity(), quota = from_quota();
    if (cpus < 1) cpus = 1;
    if (cpus > MAX_THREADS) cpus = MAX_THREADS;
    return quota && quota < cpus ? quota : cpus;
}

int ndrt_threads_get(void) {
    int threads = __atomic_load_n(&threads_setting, __ATOMIC_RELAXED);
    if (!threads) {
        threads = ndrt_threads_default();
        __atomic_store_n(&threads_setting, threads, __ATOMIC_RELAXED);
    }
    return threads;
}

ndrt_status ndrt_threads_set(int threads) {
    if (threads < 1 || threads > MAX_THREADS)
        return ndrt_fail(NDRT_INVALID, "%d threads: expected 1 to %d", threads, MAX_THREADS);
    __atomic_store_n(&threads_setting, threads, __ATOMIC_RELAXED);
    return NDRT_OK;
}

/* ---- native mode ---------------------------------------------------------------------- */

void ndrt_flush_subnormals_set(int on) {
    __atomic_store_n(&flush_setting, on != 0, __ATOMIC_RELAXED);
}

int ndrt_flush_subnormals_get(void) { return __atomic_load_n(&flush_setting, __ATOMIC_RELAXED); }

/* The team that OpenMP keeps for this thread, and the mode its members were last given. A team
 * of one is this thread itself, and asking for one leaves a bigger team as it is. */
static _Thread_local struct {
    int threads;
    unsigned mode;
} team;

void ndrt_use_threads(int threads) {
    if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
    unsigned mode = _mm_getcsr() & FLUSH_BITS;
    if (threads == 1 || (team.threads == threads && team.mode == mode)) return;
#pragma omp parallel num_threads(threads)
    _mm_setcsr((_mm_getcsr() & ~(unsigned)FLUSH_BITS) | mode);
    team.threads = threads;
    team.mode = mode;
}

void ndrt_enter(ndrt_native_state *state, int nthreads) {
    state->mxcsr = _mm_getcsr();
    state->threads = omp_get_max_threads();
    unsigned mode = state->mxcsr & ~(unsigned)FLUSH_BITS;
    if (ndrt_flush_subnormals_get()) mode |= FLUSH_BITS;
    if (mode != state->mxcsr) _mm_setcsr(mode);
    ndrt_use_threads(nthreads);
}

void ndrt_leave(const ndrt_native_state *state) {
    _mm_setcsr(state->mxcsr);
    if (omp_get_max_threads() != state->threads) omp_set_num_threads(state->threads);
}
