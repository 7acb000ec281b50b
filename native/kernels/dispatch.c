/* From a call of a kernel to the family that computes it, in the form for this CPU.
 *
 * What is computed in one order for each element has the same bits in all forms. Sums are cut into
 * blocks by the shape alone, so the bits do not depend on the number of threads. */
#include <omp.h>

#include "kernels/ndrt_kernel.h"

enum { RANGE_STEP = 64 };

const ndrt_level *ndrt_level_of_cpu(void) {
    return ndrt_cpu_has(NDRT_HAS_AVX512) ? &ndrt_level_avx512 : &ndrt_level_avx2;
}

static const ndrt_family *family_of(const ndrt_level *level, int kernel) {
    return kernel >= 0 && kernel < level->nfamilies ? level->families[kernel] : NULL;
}

ndrt_status ndrt_kernel_check(const ndrt_kernel_call *call) {
    const ndrt_family *family = family_of(ndrt_level_of_cpu(), call->kernel);
    if (family && call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "%s: %d threads", family->name, call->nthreads);
    if (family) return family->check(call);
    family = family_of(&ndrt_level_avx512, call->kernel);
    if (family) return ndrt_fail(NDRT_UNSUPPORTED, "%s: this CPU has no AVX-512", family->name);
    return ndrt_fail(NDRT_INVALID, "kernel %d is none of ndrt_kernel_id", call->kernel);
}

int ndrt_kernel_threads(const ndrt_kernel_call *call) {
    return family_of(ndrt_level_of_cpu(), call->kernel)->threads(call);
}

ndrt_status ndrt_kernel_execute(const ndrt_kernel_call *call, int nthreads) {
    return family_of(ndrt_level_of_cpu(), call->kernel)->execute(call, nthreads);
}

int ndrt_team_for(const ndrt_kernel_call *call, int64_t work) {
    if (work < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

void ndrt_share_out(ndrt_range_kernel range, const ndrt_kernel_call *call, int64_t n,
                    int nthreads) {
    if (nthreads == 1) {
        range(call, 0, n);
        return;
    }
    int64_t steps = (n + RANGE_STEP - 1) / RANGE_STEP;
#pragma omp parallel num_threads(nthreads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t from = steps * me / team * RANGE_STEP, to = steps * (me + 1) / team * RANGE_STEP;
        if (to > n) to = n;
        if (from < to) range(call, from, to);
    }
}

ndrt_status ndrt_need_arrays(const ndrt_kernel_call *call, int count) {
    for (int i = 0; i < count; i++)
        if (!call->data[i])
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes",
                             family_of(ndrt_level_of_cpu(), call->kernel)->name, i);
    return NDRT_OK;
}

ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call) {
    TRY(ndrt_kernel_check(call));
    int nthreads = ndrt_kernel_threads(call);
    ndrt_native_state state;
    TRY(ndrt_enter(&state, nthreads));
    ndrt_status status = ndrt_kernel_execute(call, nthreads);
    ndrt_leave(&state);
    return status;
}
