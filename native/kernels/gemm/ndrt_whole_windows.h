/* NDRT_KERNEL_WHOLE_WINDOWS: what its forms share, and the one for AVX-512 VNNI. */
#ifndef NDRT_WHOLE_WINDOWS_H
#define NDRT_WHOLE_WINDOWS_H

#include "kernels/ndrt_finish_job.h"
#include "ndrt_args.h"

/* An output. */
typedef struct {
    int64_t image, row, column;
} ndrt_output_at;

static inline ndrt_output_at ndrt_output_of(const ndrt_whole_windows_args *job, int64_t place) {
    return (ndrt_output_at){.image = place / job->columns / job->rows,
                            .row = place / job->columns % job->rows,
                            .column = place % job->columns};
}

static inline void ndrt_step_on(const ndrt_whole_windows_args *job, ndrt_output_at *at) {
    if (++at->column < job->columns) return;
    at->column = 0;
    if (++at->row < job->rows) return;
    at->row = 0;
    at->image++;
}

/* In indirect_windows_avx512.c. `over_blocks`: threads share out blocks of filters, else rows. */
void ndrt_indirect_windows(const ndrt_whole_windows_args *job, const ndrt_finish *finish,
                           int over_blocks, int nthreads);

#endif
