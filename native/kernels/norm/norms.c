/* Normalizations that oneDNN has no kernel for: of groups and instances, along an axis that is not
 * the last one, and by the length of a vector; with their gradients.
 *
 * Sums are cut into blocks by the shape alone and each block is summed by one thread in one order,
 * so the bits do not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { MAX_BLOCKS = 256, LEAST_BLOCK = 4096, STRIP = 64 };

/* What a gradient of rows is made of: dx = a (dy - m) - k (x - mean). */
typedef struct {
    float sum, sum_normal; /* of dy, of dy times the normalized x */
    float a, m, k, mean;
} row_slope;

/* ---- rows of contiguous elements ------------------------------------------------------------- */

typedef struct {
    int64_t width; /* of a block; the last one may be shorter */
    int64_t count;
} blocks;

static blocks blocks_of(int64_t width) {
    int64_t one = (width + MAX_BLOCKS - 1) / MAX_BLOCKS;
    if (one < LEAST_BLOCK) one = LEAST_BLOCK;
    return (blocks){one, width ? (width + one - 1) / one : 0};
}

static inline int64_t block_end(blocks cut, int64_t b, int64_t width) {
    return (b + 1) * cut.width < width ? (b + 1) * cut.width : width;
}

static float sum_of(const float *x, int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum) simdlen(64)
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static float squares_of(const float *x, float mean, int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum) simdlen(64)
    for (int64_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

static void products_of(const float *dy, const float *x, float mean, int64_t n, float *sums) {
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t i = 0; i < n; i++) {
        sum += dy[i];
        product += dy[i] * (x[i] - mean);
    }
    sums[0] = sum;
    sums[1] = product;
}

static void straight(float *out, const float *x, float mean, float slope, float shift, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * slope + shift;
}

static void sloped(float *out, const float *dy, const float *x, row_slope s, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = s.a * (dy[i] - s.m) - s.k * (x[i] - s.mean);
}

/* A row's sums, block by block; with few rows the team shares the blocks. Rows of one block enter
 * no parallel region, which costs as much as hundreds of elements even with one thread. */
static double row_sum(const float *x, int64_t width, blocks cut, int nthreads) {
    if (cut.count == 1) return (double)sum_of(x, width);
    float partial[MAX_BLOCKS];
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t b = 0; b < cut.count; b++)
        partial[b] = sum_of(x + b * cut.width, block_end(cut, b, width) - b * cut.width);
    for (int64_t b = 0; b < cut.count; b++) sum += (double)partial[b];
    return sum;
}

static double row_squares(const float *x, float mean, int64_t width, blocks cut, int nthreads) {
    if (cut.count == 1) return (double)squares_of(x, mean, width);
    float partial[MAX_BLOCKS];
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t b = 0; b < cut.count; b++)
        partial[b] = squares_of(x + b * cut.width, mean, block_end(cut, b, width) - b * cut.width);
    for (int64_t b = 0; b < cut.count; b++) sum += (double)partial[b];
    return sum;
}

static void normalize_row(kernel_call *call, int64_t row, int nthreads) {
    const ndrt_norm_rows_args job = ndrt_read_norm_rows(call);
    int64_t width = job.width, vector = row % job.vectors;
    const float *x = job.data + row * width;
    float *out = job.out + row * width;
    blocks cut = blocks_of(width);
    float mean = (float)(row_sum(x, width, cut, nthreads) / (double)width);
    double var = row_squares(x, mean, width, cut, nthreads) / (double)width;
    float std = (float)sqrt(var + job.epsilon);
    float slope = (job.gamma)[vector] / std;
    float shift = (job.beta)[vector];
    (job.mean)[row] = mean;
    (job.std)[row] = std;
    if (cut.count == 1) {
        straight(out, x, mean, slope, shift, width);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t b = 0; b < cut.count; b++)
        straight(out + b * cut.width, x + b * cut.width, mean, slope, shift,
                 block_end(cut, b, width) - b * cut.width);
}

static void slope_of_row(kernel_call *call, int64_t row, int nthreads) {
    const ndrt_row_slopes_args job = ndrt_read_row_slopes(call);
    int64_t width = job.width;
    const float *dy = job.dy + row * width;
    const float *x = job.data + row * width;
    float gamma = (job.gamma)[row % job.vectors];
    float mean = (job.mean)[row], std = (job.std)[row];
    float partial[MAX_BLOCKS][2];
    double sum = 0, product = 0;
    blocks cut = blocks_of(width);
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t b = 0; b < cut.count; b++)
        products_of(dy + b * cut.width, x + b * cut.width, mean,
                    block_end(cut, b, width) - b * cut.width, partial[b]);
    for (int64_t b = 0; b < cut.count; b++) {
        sum += (double)partial[b][0];
        product += (double)partial[b][1];
    }
    row_slope *made = (row_slope *)job.slopes + row;
    made->sum = (float)sum;
    made->sum_normal = (float)(product / (double)std);
    made->a = gamma / std;
    made->m = (float)(sum / (double)width);
    made->k = (float)((double)made->a * product / ((double)width * (double)std * (double)std));
    made->mean = mean;
}

static void gradient_of_row(kernel_call *call, int64_t row, int nthreads) {
    const ndrt_norm_rows_grad_args job = ndrt_read_norm_rows_grad(call);
    int64_t width = job.width;
    const float *dy = job.dy + row * width;
    const float *x = job.data + row * width;
    float *dx = job.dx + row * width;
    row_slope slope = ((const row_slope *)job.slopes)[row];
    blocks cut = blocks_of(width);
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t b = 0; b < cut.count; b++)
        sloped(dx + b * cut.width, dy + b * cut.width, x + b * cut.width, slope,
               block_end(cut, b, width) - b * cut.width);
}

/* Gradients of gamma and beta: the sums of all rows that they belong to. */
static void sum_slopes(kernel_call *call, int nthreads) {
    const ndrt_sum_slopes_args job = ndrt_read_sum_slopes(call);
    (void)nthreads;
    int64_t rows = job.rows, vectors = job.vectors;
    const row_slope *slopes = job.slopes;
    for (int64_t v = 0; v < vectors; v++) {
        double gamma = 0, beta = 0;
        for (int64_t row = v; row < rows; row += vectors) {
            gamma += (double)slopes[row].sum_normal;
            beta += (double)slopes[row].sum;
        }
        (job.dgamma)[v] = (float)gamma;
        (job.dbeta)[v] = (float)beta;
    }
}

static void by_rows(kernel_call *call, int64_t rows, int nthreads,
                    void (*one)(kernel_call *call, int64_t row, int nthreads)) {
    if (rows < nthreads || nthreads == 1) {
        for (int64_t row = 0; row < rows; row++) one(call, row, nthreads);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t row = 0; row < rows; row++) one(call, row, 1);
}

static void norm_rows(kernel_call *call, int nthreads) {
    by_rows(call, ndrt_read_norm_rows(call).rows, nthreads, normalize_row);
}
static void row_slopes(kernel_call *call, int nthreads) {
    by_rows(call, ndrt_read_row_slopes(call).rows, nthreads, slope_of_row);
}
static void norm_rows_grad(kernel_call *call, int nthreads) {
    by_rows(call, ndrt_read_norm_rows_grad(call).rows, nthreads, gradient_of_row);
}

/* ---- columns: along an axis with others behind it ---------------------------------------------
 */

static void norm_strip(kernel_call *call, int64_t outer, int64_t from, int64_t n) {
    const ndrt_norm_axis_args job = ndrt_read_norm_axis(call);
    int64_t length = job.length, inner = job.inner;
    const float *x = job.data + outer * length * inner + from;
    float *out = job.out + outer * length * inner + from;
    const float *gamma = job.gamma, *beta = job.beta;
    float mean[STRIP] = {0}, var[STRIP] = {0}, inverse[STRIP];
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) mean[i] += x[l * inner + i];
    for (int64_t i = 0; i < n; i++) mean[i] /= (float)length;
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float d = x[l * inner + i] - mean[i];
            var[i] += d * d;
        }
    for (int64_t i = 0; i < n; i++) {
        float std = sqrtf(var[i] / (float)length + job.epsilon);
        (job.mean)[outer * inner + from + i] = mean[i];
        (job.std)[outer * inner + from + i] = std;
        inverse[i] = 1 / std;
    }
    for (int64_t l = 0; l < length; l++) {
        float scale = gamma[l], shift = beta[l];
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            out[l * inner + i] = (x[l * inner + i] - mean[i]) * inverse[i] * scale + shift;
    }
}

static void norm_strip_grad(kernel_call *call, int64_t outer, int64_t from, int64_t n) {
    const ndrt_norm_axis_grad_args job = ndrt_read_norm_axis_grad(call);
    int64_t length = job.length, inner = job.inner, at = outer * length * inner + from;
    float *dx = job.dx + at;
    const float *dy = job.dy + at, *x = job.data + at;
    const float *gamma = job.gamma;
    const float *mean = job.mean + outer * inner + from;
    const float *std = job.std + outer * inner + from;
    float sum[STRIP] = {0}, product[STRIP] = {0}, inverse[STRIP];
    for (int64_t l = 0; l < length; l++) {
        float scale = gamma[l];
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float d = dy[l * inner + i] * scale;
            sum[i] += d;
            product[i] += d * (x[l * inner + i] - mean[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = 1 / std[i];
        sum[i] /= (float)length;
        product[i] *= inverse[i] * inverse[i] / (float)length;
    }
    for (int64_t l = 0; l < length; l++) {
        float scale = gamma[l];
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dx[l * inner + i] =
                (dy[l * inner + i] * scale - sum[i] - (x[l * inner + i] - mean[i]) * product[i]) *
                inverse[i];
    }
}

static void by_strips(kernel_call *call, int64_t outer, int64_t inner, int nthreads,
                      void (*one)(kernel_call *call, int64_t outer, int64_t from, int64_t n)) {
    const int64_t strips = (inner + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * strips; k++) {
        int64_t from = k % strips * STRIP;
        one(call, k / strips, from, inner - from < STRIP ? inner - from : STRIP);
    }
}

static void norm_axis(kernel_call *call, int nthreads) {
    const ndrt_norm_axis_args job = ndrt_read_norm_axis(call);
    by_strips(call, job.outer, job.inner, nthreads, norm_strip);
}

static void norm_axis_grad(kernel_call *call, int nthreads) {
    const ndrt_norm_axis_grad_args job = ndrt_read_norm_axis_grad(call);
    by_strips(call, job.outer, job.inner, nthreads, norm_strip_grad);
}

static void vector_sums(kernel_call *call, int64_t outer, int64_t l, double *sums) {
    const ndrt_norm_axis_vectors_args job = ndrt_read_norm_axis_vectors(call);
    int64_t length = job.length, inner = job.inner, at = (outer * length + l) * inner;
    const float *dy = job.dy + at, *x = job.data + at;
    const float *mean = job.mean + outer * inner;
    const float *std = job.std + outer * inner;
    for (int64_t from = 0; from < inner; from += LEAST_BLOCK) {
        int64_t to = from + LEAST_BLOCK < inner ? from + LEAST_BLOCK : inner;
        float gamma = 0, beta = 0;
#pragma omp simd reduction(+ : gamma, beta)
        for (int64_t i = from; i < to; i++) {
            gamma += dy[i] * ((x[i] - mean[i]) / std[i]);
            beta += dy[i];
        }
        sums[0] += (double)gamma;
        sums[1] += (double)beta;
    }
}

static void norm_axis_vectors(kernel_call *call, int nthreads) {
    const ndrt_norm_axis_vectors_args job = ndrt_read_norm_axis_vectors(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t l = 0; l < job.length; l++) {
        double sums[2] = {0, 0};
        for (int64_t outer = 0; outer < job.outer; outer++) vector_sums(call, outer, l, sums);
        (job.dgamma)[l] = (float)sums[0];
        (job.dbeta)[l] = (float)sums[1];
    }
}

/* ---- by the length of a vector ----------------------------------------------------------------
 */

static void scaled(float *out, const float *x, float factor, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = x[i] * factor;
}

static void l2_row(kernel_call *call, int64_t row, int nthreads) {
    const ndrt_l2_args job = ndrt_read_l2(call);
    int64_t width = job.length;
    const float *x = job.data + row * width;
    blocks cut = blocks_of(width);
    float norm = (float)sqrt(row_squares(x, 0, width, cut, nthreads) + job.epsilon);
    scaled(job.out + row * width, x, 1 / norm, width);
    (job.norm)[row] = norm;
}

/* dx = (dy - y (y . dy)) / norm */
static void l2_row_grad(kernel_call *call, int64_t row, int nthreads) {
    const ndrt_l2_grad_args job = ndrt_read_l2_grad(call);
    (void)nthreads;
    int64_t width = job.length;
    const float *dy = job.dy + row * width;
    const float *y = job.out + row * width;
    float norm = (job.norm)[row], part[2];
    double product = 0;
    blocks cut = blocks_of(width);
    for (int64_t b = 0; b < cut.count; b++) {
        products_of(dy + b * cut.width, y + b * cut.width, 0,
                    block_end(cut, b, width) - b * cut.width, part);
        product += (double)part[1];
    }
    row_slope slope = {.a = 1 / norm, .k = (float)product / norm};
    sloped(job.dx + row * width, dy, y, slope, width);
}

static void l2_strip(kernel_call *call, int64_t outer, int64_t from, int64_t n) {
    const ndrt_l2_args job = ndrt_read_l2(call);
    int64_t length = job.length, inner = job.inner, at = outer * length * inner + from;
    const float *x = job.data + at;
    float *out = job.out + at, sum[STRIP] = {0}, inverse[STRIP];
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) sum[i] += x[l * inner + i] * x[l * inner + i];
    for (int64_t i = 0; i < n; i++) {
        float norm = sqrtf(sum[i] + (float)job.epsilon);
        (job.norm)[outer * inner + from + i] = norm;
        inverse[i] = 1 / norm;
    }
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[l * inner + i] = x[l * inner + i] * inverse[i];
}

static void l2_strip_grad(kernel_call *call, int64_t outer, int64_t from, int64_t n) {
    const ndrt_l2_grad_args job = ndrt_read_l2_grad(call);
    int64_t length = job.length, inner = job.inner, at = outer * length * inner + from;
    const float *dy = job.dy + at, *y = job.out + at;
    const float *norm = job.norm + outer * inner + from;
    float *dx = job.dx + at, sum[STRIP] = {0};
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) sum[i] += y[l * inner + i] * dy[l * inner + i];
    for (int64_t l = 0; l < length; l++)
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            dx[l * inner + i] = (dy[l * inner + i] - y[l * inner + i] * sum[i]) / norm[i];
}

static void l2(kernel_call *call, int nthreads) {
    const ndrt_l2_args job = ndrt_read_l2(call);
    if (job.inner == 1)
        by_rows(call, job.outer, nthreads, l2_row);
    else
        by_strips(call, job.outer, job.inner, nthreads, l2_strip);
}

static void l2_grad(kernel_call *call, int nthreads) {
    const ndrt_l2_grad_args job = ndrt_read_l2_grad(call);
    if (job.inner == 1)
        by_rows(call, job.outer, nthreads, l2_row_grad);
    else
        by_strips(call, job.outer, job.inner, nthreads, l2_strip_grad);
}

/* ---- driver -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata;
} kernels[] = {
    [NDRT_KERNEL_NORM_ROWS - NDRT_KERNEL_NORM_ROWS] = {"normalized rows", norm_rows, 6},
    [NDRT_KERNEL_ROW_SLOPES - NDRT_KERNEL_NORM_ROWS] = {"slopes of rows", row_slopes, 6},
    [NDRT_KERNEL_NORM_ROWS_GRAD - NDRT_KERNEL_NORM_ROWS] = {"gradient of normalized rows",
                                                            norm_rows_grad, 4},
    [NDRT_KERNEL_SUM_SLOPES - NDRT_KERNEL_NORM_ROWS] = {"sums of slopes", sum_slopes, 3},
    [NDRT_KERNEL_NORM_AXIS - NDRT_KERNEL_NORM_ROWS] = {"normalized axis", norm_axis, 6},
    [NDRT_KERNEL_NORM_AXIS_GRAD - NDRT_KERNEL_NORM_ROWS] = {"gradient of a normalized axis",
                                                            norm_axis_grad, 6},
    [NDRT_KERNEL_NORM_AXIS_VECTORS - NDRT_KERNEL_NORM_ROWS] = {"gradient of its vectors",
                                                               norm_axis_vectors, 6},
    [NDRT_KERNEL_L2 - NDRT_KERNEL_NORM_ROWS] = {"vectors of length 1", l2, 3},
    [NDRT_KERNEL_L2_GRAD - NDRT_KERNEL_NORM_ROWS] = {"gradient of vectors of length 1", l2_grad, 4},
};

static int is_of_rows(int kernel) { return kernel <= NDRT_KERNEL_SUM_SLOPES; }

/* Elements of the data, or -1 if they overflow. */
static int64_t elements(kernel_call *call) {
    const int64_t *d = call->counts;
    return ndrt_product(d[0], d[1], is_of_rows(call->kernel) ? 1 : d[2]);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_NORM_ROWS;
    const char *name = kernels[at].name;
    for (int i = 0; i < 3; i++)
        if (call->counts[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    if (is_of_rows(call->kernel) && call->counts[2] < 1)
        return ndrt_fail(NDRT_INVALID, "%s: vectors of length %lld", name,
                         (long long)call->counts[2]);
    int64_t n = elements(call);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    for (int i = 0; i < kernels[at].ndata; i++)
        if (n && !call->data[i])
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    return ndrt_team_for(call, call->kernel == NDRT_KERNEL_SUM_SLOPES ? 0 : elements(call));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    if (elements(call)) kernels[call->kernel - NDRT_KERNEL_NORM_ROWS].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_norms = {"norms", check, threads, execute};
