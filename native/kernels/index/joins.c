/* Rows of several arrays one behind the other: channels of channels-last images joined, as they are
 * or normalized on the way.
 *
 * Threads share the rows, as the kernels do that make the parts and read the result. */
#include <omp.h>

#include "ndrt_internal.h"

/* Of each array so many rows of a copy at a time: the result is written about from end to end. What
 * is scaled is read as far as it goes: the result is in a cache, and the arrays mostly in none. */
enum { ROWS_AT_A_TIME = 8 };

/* Where the arrays begin among the data, and their columns among the scalars. */
typedef struct {
    const char *name;
    int arrays, widths, most;
} join_kind;

static join_kind kind_of(const ndrt_kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_JOIN_ROWS)
        return (join_kind){"join rows", 1, 0, NDRT_JOINED_MOST};
    return (join_kind){"join scaled rows", 3, 1, NDRT_SCALED_MOST};
}

static void copy_columns(float *restrict out, const float *restrict in, int64_t rows,
                         int64_t stride, int64_t width) {
    for (int64_t row = 0; row < rows; row++, out += stride, in += width)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) out[c] = in[c];
}

static void scale_columns(float *restrict out, const float *restrict in,
                          const float *restrict scale, const float *restrict shift, int rectify,
                          int64_t rows, int64_t stride, int64_t width) {
    for (int64_t row = 0; row < rows; row++, out += stride, in += width)
        if (rectify)
#pragma omp simd
            for (int64_t c = 0; c < width; c++) {
                const float y = in[c] * scale[c] + shift[c];
                out[c] = y > 0 ? y : 0;
            }
        else
#pragma omp simd
            for (int64_t c = 0; c < width; c++) out[c] = in[c] * scale[c] + shift[c];
}

static void join(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    const join_kind kind = kind_of(call);
    const int is_copy = call->kernel == NDRT_KERNEL_JOIN_ROWS;
    const int64_t stride = call->dims[1], step = is_copy ? ROWS_AT_A_TIME : to - from;
    for (int64_t row = from, end; row < to; row = end) {
        end = row + step < to ? row + step : to;
        float *out = (float *)call->data[0] + row * stride;
        int64_t column = 0;
        for (int64_t i = 0; i < call->dims[2]; i++) {
            const int64_t width = (int64_t)call->scalars[kind.widths + i];
            const float *in = (const float *)call->data[kind.arrays + i] + row * width;
            if (is_copy)
                copy_columns(out + column, in, end - row, stride, width);
            else
                scale_columns(out + column, in, (const float *)call->data[1] + column,
                              (const float *)call->data[2] + column, call->scalars[0] != 0,
                              end - row, stride, width);
            column += width;
        }
    }
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const join_kind kind = kind_of(call);
    const long long rows = call->dims[0], columns = call->dims[1], narrays = call->dims[2];
    if (call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "%s: %d threads", kind.name, call->nthreads);
    if (rows < 0 || narrays < 1 || narrays > kind.most)
        return ndrt_fail(NDRT_INVALID, "%s: %lld rows of %lld arrays", kind.name, rows, narrays);
    double left = (double)columns;
    for (int i = 0; i < narrays; i++) {
        const double width = call->scalars[kind.widths + i];
        if (!(width >= 1 && width <= left) || width != (double)(int64_t)width)
            return ndrt_fail(NDRT_INVALID, "%s: %g columns where %g of %lld are left", kind.name,
                             width, left, columns);
        left -= width;
    }
    if (left != 0 && call->kernel == NDRT_KERNEL_JOIN_ROWS)
        return ndrt_fail(NDRT_INVALID, "%s: %g of %lld columns are nobody's", kind.name, left,
                         columns);
    for (int i = 0; i < kind.arrays + narrays && rows; i++)
        if (!call->data[i])
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", kind.name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    return ndrt_team_for(call, ndrt_product(call->dims[0], call->dims[1], 1));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const int64_t rows = call->dims[0];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) join(call, rows * i / nthreads, rows * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_joins = {"joins", check, threads, execute};
