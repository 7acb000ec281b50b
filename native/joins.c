/* Rows of several arrays one behind the other: channels of channels-last images joined.
 *
 * Threads share the rows, as the kernels do that make the parts and read the result. */
#include <omp.h>

#include "ndrt_internal.h"

/* Of each part so many rows at a time: the result is written about from end to end. */
enum { ROWS_AT_A_TIME = 8 };

NDRT_FOR_EACH_CPU static void copy_columns(float *restrict out, const float *restrict in,
                                           int64_t rows, int64_t stride, int64_t width) {
    for (int64_t row = 0; row < rows; row++, out += stride, in += width)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) out[c] = in[c];
}

static void join(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    const int64_t stride = call->dims[1];
    for (int64_t row = from, end; row < to; row = end) {
        end = row + ROWS_AT_A_TIME < to ? row + ROWS_AT_A_TIME : to;
        float *out = (float *)call->data[0] + row * stride;
        for (int64_t i = 0; i < call->dims[2]; i++) {
            const int64_t width = (int64_t)call->scalars[i];
            copy_columns(out, (const float *)call->data[i + 1] + row * width, end - row, stride,
                         width);
            out += width;
        }
    }
}

ndrt_status ndrt_joins_check(const ndrt_kernel_call *call) {
    const long long rows = call->dims[0], columns = call->dims[1], narrays = call->dims[2];
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "join rows: %d threads", call->nthreads);
    if (rows < 0 || narrays < 1 || narrays > NDRT_JOINED_MOST)
        return ndrt_fail(NDRT_INVALID, "join rows: %lld rows of %lld arrays", rows, narrays);
    double left = (double)columns;
    for (int i = 0; i < narrays; i++) {
        const double width = call->scalars[i];
        if (!(width >= 1 && width <= left) || width != (double)(int64_t)width)
            return ndrt_fail(NDRT_INVALID, "join rows: %g columns where %g of %lld are left", width,
                             left, columns);
        left -= width;
    }
    if (left != 0)
        return ndrt_fail(NDRT_INVALID, "join rows: %g of %lld columns are nobody's", left, columns);
    for (int i = 0; i <= narrays && rows; i++)
        if (!call->data[i]) return ndrt_fail(NDRT_INVALID, "join rows: array %d has no bytes", i);
    return NDRT_OK;
}

int ndrt_joins_threads(const ndrt_kernel_call *call) {
    return ndrt_team_for(call, ndrt_product(call->dims[0], call->dims[1], 1));
}

void ndrt_joins_execute(const ndrt_kernel_call *call, int nthreads) {
    const int64_t rows = call->dims[0];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) join(call, rows * i / nthreads, rows * (i + 1) / nthreads);
}
