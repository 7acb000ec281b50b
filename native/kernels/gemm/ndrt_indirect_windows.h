/* NDRT_KERNEL_WHOLE_WINDOWS where there is AVX-512 VNNI (indirect_windows_avx512.c). */
#ifndef NDRT_INDIRECT_WINDOWS_H
#define NDRT_INDIRECT_WINDOWS_H

#include "kernels/ndrt_finish_job.h"
#include "ndrt_args.h"

/* `over_blocks`: threads share out blocks of filters, else rows. */
void ndrt_indirect_windows(const ndrt_whole_windows_args *job, const ndrt_finish *finish,
                           int over_blocks, int nthreads);

#endif
