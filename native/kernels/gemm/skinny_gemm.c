/* Skinny GEMM: a few rows of data times a packed matrix. Reading the matrix takes all the time, so
 * each thread reads its columns sequentially, which suits the hardware prefetcher.
 *
 * The order of the sums depends on the shape alone, so the bits do not depend on the number of
 * threads. */
#include <omp.h>

#include "ndrt_args.h"
#include "ndrt_packed_gemm.h"
#include "ndrt_skinny_gemm.h"
#include "onednn/ndrt_onednn.h"

typedef struct {
    ndrt_rows rows;
    const float *weights, *bias;
    float *out;
    int64_t columns;
    int64_t stride; /* of blocks of the weights */
    float low, high;
} skinny_gemm;

INLINED void block_of(const skinny_gemm *job, int64_t block, int rows, int vectors, int chains) {
    const int64_t first = block * vectors * LANES;
    const float *weights = job->weights + block * job->stride;
    ndrt_lanes inside[MOST_VECTORS];
    ndrt_vector totals[NDRT_SKINNY_GEMM_MOST][MOST_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        inside[v] = ndrt_first_lanes(job->columns - first - v * LANES);
        ndrt_vector bias = ndrt_zeros();
        if (job->bias) bias = ndrt_load_lanes(inside[v], job->bias + first + v * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) totals[r][v] = bias;
    }
    ndrt_add_products(&job->rows, weights, totals, rows, vectors, chains);
    const ndrt_vector low = ndrt_all(job->low), high = ndrt_all(job->high);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            ndrt_store_lanes(job->out + r * job->columns + first + v * LANES, inside[v],
                             ndrt_bounded(totals[r][v], low, high));
}

#define BLOCK(rows, width, chains)                                                                 \
    static void block_##rows##_##width(const skinny_gemm *job, int64_t block) {                    \
        block_of(job, block, rows, width / LANES, chains);                                         \
    }
#ifdef __AVX512F__
BLOCK(1, 64, 2)
BLOCK(2, 64, 2)
BLOCK(3, 64, 1)
BLOCK(4, 64, 1)
BLOCK(1, 16, 8)
BLOCK(2, 16, 4)
BLOCK(3, 16, 4)
BLOCK(4, 16, 2)
#else
BLOCK(1, 24, 4)
BLOCK(2, 24, 2)
BLOCK(3, 24, 1)
BLOCK(4, 24, 1)
BLOCK(1, 16, 4)
BLOCK(2, 16, 2)
BLOCK(3, 16, 2)
BLOCK(4, 16, 1)
#endif

typedef void compute_block(const skinny_gemm *job, int64_t block);
static compute_block *const blocks[][NDRT_SKINNY_GEMM_MOST] = {
    {block_1_16, block_2_16, block_3_16, block_4_16},
#ifdef __AVX512F__
    {block_1_64, block_2_64, block_3_64, block_4_64},
#else
    {block_1_24, block_2_24, block_3_24, block_4_24},
#endif
};

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_skinny_gemm_args k = ndrt_read_skinny_gemm(call);
    if (k.rows < 1 || k.rows > NDRT_SKINNY_GEMM_MOST || k.features < 1 || k.columns < 1 ||
        (k.width != WIDE && k.width != NDRT_SKINNY_GEMM_NARROW))
        return ndrt_fail(
            NDRT_INVALID, "skinny GEMM: %lld rows of %lld, %lld columns in blocks of %lld",
            (long long)k.rows, (long long)k.features, (long long)k.columns, (long long)k.width);
    return ndrt_need_arrays(call, 3);
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_skinny_gemm_args k = ndrt_read_skinny_gemm(call);
    return ndrt_team_for(call, ndrt_product_work(ndrt_product(k.rows, k.features, k.columns),
                                                 ndrt_product(k.features, k.columns, 1)));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_skinny_gemm_args k = ndrt_read_skinny_gemm(call);
    const int64_t nblocks = (k.columns + k.width - 1) / k.width;
    const skinny_gemm job = {.out = k.out,
                             .rows = {k.data, k.features},
                             .weights = k.weights,
                             .bias = k.bias,
                             .columns = k.columns,
                             .stride = ndrt_block_of(k.features, k.width),
                             .low = k.low,
                             .high = k.high};
    compute_block *run = blocks[k.width == WIDE][k.rows - 1];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < nblocks; block++) run(&job, block);
    return NDRT_OK;
}

const ndrt_family ndrt_family_skinny_gemm = {"skinny GEMM", check, threads, execute};
