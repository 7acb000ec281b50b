/* Concatenates the rows of several arrays, which are the channels of channels-last images,
 * unchanged or normalized on the way.
 *
 * Threads share the rows, as do the kernels that make the parts and read the result. */
#include <omp.h>

#include "ndrt_args.h"

/* Of each array so many rows of a copy at a time: the result is written about from end to end. What
 * is scaled is read as far as it goes: the result is in a cache, and the arrays mostly in none. */
enum { ROWS_AT_A_TIME = 8 };

/* What both kernels are given; a copy has no factors. */
typedef struct {
    const char *name;
    int most, narrays, rectify;
    int64_t rows, columns;
    const int64_t *widths;
    float *out;
    const float *factors, *shifts;
    const float *const *parts;
} join_job;

static join_job job_of(const ndrt_kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_CONCAT_CHANNELS) {
        const ndrt_concat_channels_args k = ndrt_read_concat_channels(call);
        return (join_job){.name = "concat channels",
                          .most = NDRT_JOINED_MOST,
                          .narrays = k.nparts,
                          .rows = k.rows,
                          .columns = k.columns,
                          .widths = k.widths,
                          .out = k.out,
                          .parts = k.parts};
    }
    const ndrt_concat_scaled_args k = ndrt_read_concat_scaled(call);
    return (join_job){.name = "concat scaled channels",
                      .most = NDRT_SCALED_MOST,
                      .narrays = k.nparts,
                      .rectify = k.rectify,
                      .rows = k.rows,
                      .columns = k.columns,
                      .widths = k.widths,
                      .out = k.out,
                      .factors = k.factors,
                      .shifts = k.shifts,
                      .parts = k.parts};
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

static void join(const join_job *job, int64_t from, int64_t to) {
    const int is_copy = !job->factors;
    const int64_t stride = job->columns, step = is_copy ? ROWS_AT_A_TIME : to - from;
    for (int64_t row = from, end; row < to; row = end) {
        end = row + step < to ? row + step : to;
        float *out = job->out + row * stride;
        int64_t column = 0;
        for (int i = 0; i < job->narrays; i++) {
            const int64_t width = job->widths[i];
            const float *in = job->parts[i] + row * width;
            if (is_copy)
                copy_columns(out + column, in, end - row, stride, width);
            else
                scale_columns(out + column, in, job->factors + column, job->shifts + column,
                              job->rectify, end - row, stride, width);
            column += width;
        }
    }
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const join_job job = job_of(call);
    if (job.rows < 0 || job.narrays < 1 || job.narrays > job.most)
        return ndrt_fail(NDRT_INVALID, "%s: %lld rows of %d arrays", job.name, (long long)job.rows,
                         job.narrays);
    int64_t left = job.columns;
    for (int i = 0; i < job.narrays; i++) {
        const int64_t width = job.widths[i];
        if (width < 1 || width > left)
            return ndrt_fail(NDRT_INVALID, "%s: %lld columns where %lld of %lld are left", job.name,
                             (long long)width, (long long)left, (long long)job.columns);
        left -= width;
    }
    const int is_copy = call->kernel == NDRT_KERNEL_CONCAT_CHANNELS;
    if (left != 0 && is_copy)
        return ndrt_fail(NDRT_INVALID, "%s: %lld of %lld columns are nobody's", job.name,
                         (long long)left, (long long)job.columns);
    return job.rows ? ndrt_need_arrays(call, (is_copy ? 1 : 3) + job.narrays) : NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    const join_job job = job_of(call);
    return ndrt_team_for(call, ndrt_product(job.rows, job.columns, 1));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const join_job job = job_of(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++)
        join(&job, job.rows * i / nthreads, job.rows * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_concat = {"concat", check, threads, execute};
