/* Depthwise separable convolutions, with the pointwise expansion before them.
 *
 * Each thread computes some rows of the result, a few at a time. Of the expanded image only the
 * rows that the next windows read exist, in a ring buffer that stays in the thread's cache. Rows at
 * the border between two threads are computed by both.
 *
 * Results have the bits of the three kernels run one after another. */
#include <omp.h>

#include "kernels/gemm/ndrt_packed_gemm.h"
#include "kernels/ndrt_vector.h"
#include "ndrt_args.h"
#include "ndrt_direct_conv.h"
#include "onednn/ndrt_onednn.h"

enum {
    WINDOW = NDRT_DEPTHWISE_WINDOW,
    MOST_ROWS = NDRT_DEPTHWISE_ROWS, /* of the result, at a time */
    MOST_STRIDE = NDRT_SEPARABLE_STRIDE,
    MOST_READ = (MOST_ROWS - 1) * MOST_STRIDE + WINDOW
};

/* Counts and sides are less than this, so that products of two of them do not overflow. */
static const int64_t LEAST_REFUSED = (int64_t)1 << 31;

typedef struct {
    ndrt_packed_gemm expansion, projection;
    ndrt_direct_conv depthwise;
    int is_expanded;
    float *scratch;
    int64_t numbers;   /* of scratch for a thread */
    int64_t ring_rows; /* of the expanded image in it; row r is at r modulo this */
    int slots;
} separable;

static int64_t rows_read(int64_t rows, int64_t stride) { return (rows - 1) * stride + WINDOW; }

static int64_t side(int64_t length, int64_t pad, int64_t stride) {
    const int64_t room = length + 2 * pad - WINDOW;
    return room < 0 ? 0 : room / stride + 1;
}

static separable job_of(const ndrt_kernel_call *call) {
    const ndrt_separable_args k = ndrt_read_separable(call);
    separable job = {.depthwise = {.weights = k.depthwise,
                                   .bias = k.depthwise_bias,
                                   .images = k.images,
                                   .channels = k.between,
                                   .height = k.height,
                                   .width = k.width,
                                   .filters = k.between,
                                   .stride = k.stride,
                                   .pad_y = k.pad_y,
                                   .pad_x = k.pad_x,
                                   .window = WINDOW,
                                   .low = k.depthwise_low,
                                   .high = k.depthwise_high},
                     .is_expanded = k.expansion != NULL,
                     .scratch = k.scratch,
                     .slots = k.slots};
    ndrt_direct_conv *depthwise = &job.depthwise;
    depthwise->rows = side(k.height, k.pad_y, k.stride);
    depthwise->columns = side(k.width, k.pad_x, k.stride);
    job.expansion = (ndrt_packed_gemm){.data = k.data,
                                       .weights = k.expansion,
                                       .bias = k.expansion_bias,
                                       .features = k.channels,
                                       .columns = k.between,
                                       .width = k.expansion_width,
                                       .groups = 1,
                                       .shuffled = 1,
                                       .low = k.expansion_low,
                                       .high = k.expansion_high};
    job.projection = (ndrt_packed_gemm){.out = k.out,
                                        .weights = k.projection,
                                        .bias = k.projection_bias,
                                        .added = k.added,
                                        .features = k.between,
                                        .columns = k.filters,
                                        .width = k.projection_width,
                                        .groups = 1,
                                        .shuffled = 1,
                                        .low = k.low,
                                        .high = k.high};
    const int64_t data[] = {depthwise->height, depthwise->width};
    const int64_t out[] = {depthwise->rows, depthwise->columns};
    job.numbers = ndrt_separable_scratch(depthwise->channels, data, out, depthwise->stride);
    job.ring_rows = ndrt_separable_ring(depthwise->height, depthwise->rows, depthwise->stride);
    return job;
}

/* A thread's state within an image. */
typedef struct {
    const separable *of;
    const float *data; /* the image */
    float *ring, *band;
    int64_t next; /* next row of the expanded image to compute */
} strip;

/* Computes rows of the expanded image up to `end`, into the ring buffer. */
static void expand(strip *s, int64_t end) {
    const separable *job = s->of;
    const int64_t width = job->depthwise.width, count = job->ring_rows;
    while (s->next < end) {
        const int64_t place = s->next % count;
        const int64_t rows = end - s->next < count - place ? end - s->next : count - place;
        ndrt_packed_gemm part = job->expansion;
        part.data = s->data + s->next * width * part.features;
        part.out = s->ring + place * width * part.columns;
        ndrt_packed_gemm_rows(&part, 0, rows * width);
        s->next += rows;
    }
}

/* Computes rows of the result from `row` of an image on, which is row `at` of all images. */
static void compute_rows(strip *s, int64_t row, int rows, int64_t at) {
    const separable *job = s->of;
    const ndrt_direct_conv *depthwise = &job->depthwise;
    const int64_t top = row * depthwise->stride - depthwise->pad_y;
    const int64_t line = depthwise->width * depthwise->channels;
    const int64_t pixels = rows * depthwise->columns;
    const float *read[MOST_READ];
    float *out[MOST_ROWS];
    if (job->is_expanded) {
        int64_t end = top + rows_read(rows, depthwise->stride);
        expand(s, end < depthwise->height ? end : depthwise->height);
    }
    for (int i = 0; i < rows_read(rows, depthwise->stride); i++) {
        const int64_t y = top + i;
        if (y < 0 || y >= depthwise->height)
            read[i] = NULL;
        else
            read[i] = job->is_expanded ? s->ring + y % job->ring_rows * line : s->data + y * line;
    }
    for (int r = 0; r < rows; r++) out[r] = s->band + r * depthwise->columns * depthwise->channels;
    ndrt_depthwise_rows(depthwise, read, out, rows);
    ndrt_packed_gemm part = job->projection;
    part.data = s->band;
    part.out += at * depthwise->columns * part.columns;
    if (part.added) part.added += at * depthwise->columns * part.columns;
    ndrt_packed_gemm_rows(&part, 0, pixels);
}

/* Thread `thread` computes rows [row, end) of the result, numbered through all images. */
static void compute_part(const separable *job, int thread, int64_t row, int64_t end) {
    const ndrt_direct_conv *depthwise = &job->depthwise;
    const int64_t pixels = depthwise->height * depthwise->width;
    float *scratch = job->scratch + thread * job->numbers;
    strip s = {.of = job,
               .ring = scratch,
               .band = scratch + job->ring_rows * depthwise->width * depthwise->channels};
    while (row < end) {
        const int64_t image = row / depthwise->rows, first = row - image * depthwise->rows;
        int64_t last = end - image * depthwise->rows;
        if (last > depthwise->rows) last = depthwise->rows;
        const int64_t top = first * depthwise->stride - depthwise->pad_y;
        s.next = top > 0 ? top : 0;
        s.data = job->expansion.data + image * pixels * job->expansion.features;
        for (int64_t r = first; r < last; r += MOST_ROWS) {
            const int rows = last - r < MOST_ROWS ? (int)(last - r) : MOST_ROWS;
            compute_rows(&s, r, rows, image * depthwise->rows + r);
        }
        row = image * depthwise->rows + last;
    }
}

static int is_count(int64_t value, int64_t least) {
    return value >= least && value < LEAST_REFUSED;
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_separable_args k = ndrt_read_separable(call);
    const int is_expanded = k.expansion != NULL;
    if (!is_count(k.images, 1) || !is_count(k.channels, 1) || !is_count(k.height, 1) ||
        !is_count(k.width, 1) || !is_count(k.between, 1) || !is_count(k.filters, 1) ||
        (k.stride != 1 && k.stride != MOST_STRIDE) || !is_count(k.pad_y, 0) ||
        !is_count(k.pad_x, 0) || !is_count(k.expansion_width, is_expanded ? LANES : 0) ||
        !is_count(k.projection_width, LANES) || k.slots < 1)
        return ndrt_fail(NDRT_INVALID, "separable: a number is out of range");
    const separable job = job_of(call);
    if (k.between % LANES || k.expansion_width % LANES || k.projection_width % LANES ||
        (!is_expanded && k.between != k.channels) || job.depthwise.rows < 1 ||
        job.depthwise.columns < 1 || !job.numbers)
        return ndrt_fail(NDRT_INVALID,
                         "separable: %lld channels widened to %lld in blocks of %lld, images of "
                         "%lld x %lld, %lld filters in blocks of %lld",
                         (long long)k.channels, (long long)k.between, (long long)k.expansion_width,
                         (long long)k.height, (long long)k.width, (long long)k.filters,
                         (long long)k.projection_width);
    return ndrt_need_arrays(call, 5);
}

static int threads(const ndrt_kernel_call *call) {
    const separable job = job_of(call);
    const ndrt_direct_conv *depthwise = &job.depthwise;
    const int64_t pixels = ndrt_product(depthwise->images, depthwise->rows, depthwise->columns);
    const int64_t work = ndrt_product(pixels, depthwise->channels, WINDOW + job.projection.columns);
    const int nthreads = ndrt_team_for(call, ndrt_product_work(work, 0));
    return nthreads < job.slots ? nthreads : job.slots;
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const separable job = job_of(call);
    const int64_t rows = job.depthwise.images * job.depthwise.rows;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++)
        compute_part(&job, i, rows * i / nthreads, rows * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_separable = {"separable convolution", check, threads, execute};
