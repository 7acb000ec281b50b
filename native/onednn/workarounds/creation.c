/* Checks for memory before oneDNN needs it. Running out of it inside oneDNN crashes, or leaves a
 * permanent failure: in the thread (its code generator never clears its first error) and in the
 * process (the code of gemm is generated at its first use, once, even if that fails). */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "onednn/ndrt_onednn.h"

/* Measured: a creation takes up to 6 MiB (code of a convolution or a recurrent layer), the stack of
 * a thread 8 more, and the code of gemm 18. A run of gemm allocates blocks that ndrt_reserve_heap
 * provides for, or in large products up to 17 MiB. */
enum { SPACE = 32 << 20, LEFT = 4 << 20 };

/* ---- a thread without a past ------------------------------------------------------------------
 */

typedef struct {
    void (*work)(void *with);
    void *with;
    int threads;
} errand;

static void *run_errand(void *p) {
    const errand *e = p;
    omp_set_num_threads(
        e->threads); /* a new thread has the process's thread count, not its creator's */
    e->work(e->with);
    return NULL;
}

/* Runs the work in a thread of its own, and joins it. 0: no thread could be made. */
static int do_elsewhere(void (*work)(void *), void *with, int threads) {
    errand e = {work, with, threads};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals go to the threads that expect them */
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run_errand, &e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return 0;
    pthread_join(thread, NULL);
    return 1;
}

/* ---- creation; the creation lock is held ------------------------------------------------------
 */

typedef struct {
    dnnl_primitive_t *out;
    const_dnnl_primitive_desc_t pd;
    dnnl_status_t status;
} creation;

/* oneDNN's code generator has failed in this thread, and would refuse to run again. */
static _Thread_local int spoiled;

static void create(void *p) {
    creation *c = p;
    c->status = dnnl_primitive_create(c->out, c->pd);
}

static int is_spoiling(dnnl_status_t status) {
    return status == dnnl_out_of_memory || status == dnnl_runtime_error;
}

ndrt_status ndrt_primitive_create(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd) {
    creation c = {.out = out, .pd = pd};
    if (!spoiled) {
        create(&c);
        spoiled = is_spoiling(c.status);
    }
    if (spoiled && !do_elsewhere(create, &c, omp_get_max_threads()))
        return ndrt_fail(NDRT_NOMEM, "no memory for a thread to create a primitive in");
    if (c.status != dnnl_success) {
        *out = NULL;
        return ndrt_check(c.status, "dnnl_primitive_create");
    }
    /* Another thread may have taken the memory meanwhile, and not every implementation checks
     * that all of its code was generated. */
    if (ndrt_has_space(LEFT)) return NDRT_OK;
    dnnl_primitive_destroy(*out);
    *out = NULL;
    spoiled = 1;
    return ndrt_fail(NDRT_NOMEM, "no memory for a primitive of oneDNN: it ran short meanwhile");
}

/* ---- gemm --------------------------------------------------------------------------------------
 */

/* Small products that go through every path of gemm; one path is for one transposition only. */
static void multiply_all(void *p) {
    enum { N = 3 };
    dnnl_status_t *status = p;
    const float a[N * N] = {0}, b[N * N] = {0};
    float c[N * N];
    *status = dnnl_success;
    for (int i = 0; i < 4 && *status == dnnl_success; i++)
        *status = dnnl_sgemm(i & 1 ? 'T' : 'N', i & 2 ? 'T' : 'N', N, N, N, 1, a, N, b, N, 0, c, N);
}

static int uses_gemm(const ndrt_spec *spec, const char *impl) {
    if (ndrt_is_recurrent(spec->kind)) return strncmp(impl, "brgemm", 6) != 0;
    return strstr(impl, "gemm:jit") || strstr(impl, "rnn");
}

static ndrt_status gemm_ready(void) {
    static enum { UNTRIED, READY, BROKEN } gemm;
    if (gemm == UNTRIED) {
        TRY(ndrt_reserve_space(2 * (size_t)SPACE, "the code of oneDNN's gemm"));
        dnnl_status_t status = dnnl_success;
        if (!do_elsewhere(multiply_all, &status, 1))
            return ndrt_fail(NDRT_NOMEM, "no memory for a thread to make the code of gemm in");
        gemm = status == dnnl_success ? READY : BROKEN;
    }
    if (gemm == READY) return NDRT_OK;
    return ndrt_fail(NDRT_UNSUPPORTED, "oneDNN's gemm got no memory for its code when it was made");
}

ndrt_status ndrt_gemm_ready(const ndrt_spec *spec, const char *impl) {
    return uses_gemm(spec, impl) ? gemm_ready() : NDRT_OK;
}

size_t ndrt_reserve_of(const ndrt_spec *spec, const char *impl, int64_t nelems) {
    enum { LARGE = 1 << 20 }; /* from here on a run takes a hundred times as long as the check */
    int is_long = ndrt_is_recurrent(spec->kind) || nelems >= LARGE;
    return is_long && uses_gemm(spec, impl) ? SPACE : 0;
}

ndrt_status ndrt_reserve_creation(const ndrt_spec *spec) {
    TRY(ndrt_reserve_space(SPACE, "a primitive of oneDNN"));
    TRY(ndrt_reserve_heap());
    /* A recurrent layer's descriptor asks gemm for sizes, for which gemm generates its code. */
    return spoiled && ndrt_is_recurrent(spec->kind) ? gemm_ready() : NDRT_OK;
}
