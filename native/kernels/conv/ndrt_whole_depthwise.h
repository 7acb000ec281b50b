/* NDRT_KERNEL_WHOLE_DEPTHWISE: its scratch, and the form of it for AVX-512 VNNI
 * (indirect_depthwise_avx512.c). */
#ifndef NDRT_WHOLE_DEPTHWISE_H
#define NDRT_WHOLE_DEPTHWISE_H

#include "kernels/ndrt_finish_job.h"
#include "ndrt_args.h"

/* CHANNELS: of a block, whose quads are those of 4 places. */
enum { NDRT_QUAD_CHANNELS = 64, NDRT_QUAD_PLACES = 4 };

static inline int64_t ndrt_depthwise_blocks(int64_t channels) {
    return (channels + NDRT_QUAD_CHANNELS - 1) / NDRT_QUAD_CHANNELS;
}

/* Bytes of a block of packed weights: what its sums begin with, and quads. */
static inline int64_t ndrt_depthwise_block(int64_t places) {
    const int64_t quads = (places + NDRT_QUAD_PLACES - 1) / NDRT_QUAD_PLACES;
    return NDRT_QUAD_CHANNELS * ((int64_t)sizeof(int32_t) + quads * NDRT_QUAD_PLACES);
}

void ndrt_indirect_depthwise(const ndrt_whole_depthwise_args *job, const ndrt_finish *finish,
                             int nthreads);

#endif
