/* Resizing of images, as OpenCV does it.
 *
 * Each element is computed by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_vision.h"

/* Two pixels of an axis and the share of the second, for the pixel `at` of `size`. As in OpenCV, a
 * column has no share in what lies beyond the ends, a row has the end twice. */
static ndrt_neighbours resized(int64_t at, double scale, int64_t length, int is_row) {
    float place = (float)(((double)at + 0.5) * scale - 0.5);
    int64_t near = (int64_t)floorf(place);
    float part = place - (float)near;
    int64_t low = near < 0 ? 0 : near < length ? near : length - 1;
    int64_t far = near + 1 < length ? near + 1 : length - 1;
    if (!is_row && (near < 0 || near >= length - 1)) part = 0;
    return (ndrt_neighbours){low, far, part};
}

enum { UNIT = 2048 }; /* of the weights for bytes: they are whole numbers */

static inline int weight_of(float part) { return (int)rintf(part * UNIT); }

/* Half the height and width: means of four pixels. */
static void halve_row(const ndrt_resize_args *job, int64_t row) {
    int64_t depth = job->depth, width = job->width * depth;
    int64_t columns = job->columns, from = row * 2 * width, to = row * columns * depth;
    if (job->dtype == NDRT_U8) {
        const uint8_t *in = (const uint8_t *)job->data + from;
        uint8_t *out = (uint8_t *)job->out + to;
        for (int64_t x = 0; x < columns; x++, in += 2 * depth)
            for (int64_t c = 0; c < depth; c++)
                *out++ =
                    (uint8_t)((in[c] + in[c + depth] + in[c + width] + in[c + width + depth] + 2) >>
                              2);
        return;
    }
    const float *in = (const float *)job->data + from;
    float *out = (float *)job->out + to;
    for (int64_t x = 0; x < columns; x++, in += 2 * depth)
        for (int64_t c = 0; c < depth; c++)
            *out++ = (in[c] + in[c + depth] + in[c + width] + in[c + width + depth]) / 4;
}

static void resize_row(const ndrt_resize_args *job, int64_t row) {
    int64_t height = job->height, width = job->width, depth = job->depth;
    int64_t rows = job->rows, columns = job->columns;
    int64_t image = row / rows;
    double step = 1 / ((double)columns / (double)width);
    ndrt_neighbours v = resized(row % rows, 1 / ((double)rows / (double)height), height, 1);
    int64_t near = (image * height + v.near) * width * depth;
    int64_t far = (image * height + v.far) * width * depth;
    if (job->dtype == NDRT_U8) {
        const uint8_t *a = (const uint8_t *)job->data + near;
        const uint8_t *b = (const uint8_t *)job->data + far;
        uint8_t *out = (uint8_t *)job->out + row * columns * depth;
        int below = weight_of(v.part), above = weight_of(1 - v.part);
        for (int64_t x = 0; x < columns; x++) {
            ndrt_neighbours h = resized(x, step, width, 0);
            int right = weight_of(h.part), left = weight_of(1 - h.part);
            for (int64_t c = 0; c < depth; c++) {
                int upper = a[h.near * depth + c] * left + a[h.far * depth + c] * right;
                int lower = b[h.near * depth + c] * left + b[h.far * depth + c] * right;
                out[x * depth + c] = (uint8_t)((((above * (upper >> 4)) >> 16) +
                                                ((below * (lower >> 4)) >> 16) + 2) >>
                                               2);
            }
        }
        return;
    }
    const float *a = (const float *)job->data + near;
    const float *b = (const float *)job->data + far;
    float *out = (float *)job->out + row * columns * depth;
    for (int64_t x = 0; x < columns; x++) {
        ndrt_neighbours h = resized(x, step, width, 0);
        for (int64_t c = 0; c < depth; c++) {
            float upper = a[h.near * depth + c] * (1 - h.part) + a[h.far * depth + c] * h.part;
            float lower = b[h.near * depth + c] * (1 - h.part) + b[h.far * depth + c] * h.part;
            out[x * depth + c] = upper * (1 - v.part) + lower * v.part;
        }
    }
}

static int64_t work_of(const ndrt_resize_args *job) {
    return ndrt_product(ndrt_product(job->images, job->depth, 4), job->rows, job->columns);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_resize_args job = ndrt_read_resize(call);
    if (job.images < 0 || job.height < 0 || job.width < 0 || job.depth < 0 || job.rows < 0 ||
        job.columns < 0)
        return ndrt_fail(NDRT_INVALID, "resize: a count below 0");
    int64_t to = work_of(&job);
    int64_t from = ndrt_product(ndrt_product(job.images, job.depth, 4), job.height, job.width);
    if (to < 0 || (to && from < 0))
        return ndrt_fail(NDRT_INVALID, "resize: more elements than can be");
    if (!to) return NDRT_OK;
    if (!from) return ndrt_fail(NDRT_INVALID, "resize: images of no pixels");
    if (job.dtype != NDRT_F32 && job.dtype != NDRT_U8)
        return ndrt_fail(NDRT_INVALID, "resize: pixels are neither f32 nor u8");
    return ndrt_need_arrays(call, 2);
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_resize_args job = ndrt_read_resize(call);
    return ndrt_team_for(call, work_of(&job));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_resize_args job = ndrt_read_resize(call);
    if (!work_of(&job)) return NDRT_OK;
    int halves = job.height == 2 * job.rows && job.width == 2 * job.columns;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t row = 0; row < job.images * job.rows; row++)
        halves ? halve_row(&job, row) : resize_row(&job, row);
    return NDRT_OK;
}

const ndrt_family ndrt_family_images = {"resize", check, threads, execute};
