/* Resizing of images, and the driver of this and of the kernels in regions.c and boxes.c.
 *
 * Each element is computed by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <math.h>
#include <string.h>

#include "ndrt_vision.h"

/* ---- resizing --------------------------------------------------------------------------------
 */

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
static void halve_row(const ndrt_kernel_call *call, int64_t row) {
    int64_t depth = call->counts[3], width = call->counts[2] * depth;
    int64_t columns = (int64_t)call->numbers[1], from = row * 2 * width, to = row * columns * depth;
    if (call->numbers[2] == NDRT_U8) {
        const uint8_t *in = (const uint8_t *)call->data[1] + from;
        uint8_t *out = (uint8_t *)call->data[0] + to;
        for (int64_t x = 0; x < columns; x++, in += 2 * depth)
            for (int64_t c = 0; c < depth; c++)
                *out++ =
                    (uint8_t)((in[c] + in[c + depth] + in[c + width] + in[c + width + depth] + 2) >>
                              2);
        return;
    }
    const float *in = (const float *)call->data[1] + from;
    float *out = (float *)call->data[0] + to;
    for (int64_t x = 0; x < columns; x++, in += 2 * depth)
        for (int64_t c = 0; c < depth; c++)
            *out++ = (in[c] + in[c + depth] + in[c + width] + in[c + width + depth]) / 4;
}

static void resize_row(const ndrt_kernel_call *call, int64_t row) {
    int64_t height = call->counts[1], width = call->counts[2], depth = call->counts[3];
    int64_t rows = (int64_t)call->numbers[0], columns = (int64_t)call->numbers[1];
    int64_t image = row / rows;
    double step = 1 / ((double)columns / (double)width);
    ndrt_neighbours v = resized(row % rows, 1 / ((double)rows / (double)height), height, 1);
    int64_t near = (image * height + v.near) * width * depth;
    int64_t far = (image * height + v.far) * width * depth;
    if (call->numbers[2] == NDRT_U8) {
        const uint8_t *a = (const uint8_t *)call->data[1] + near;
        const uint8_t *b = (const uint8_t *)call->data[1] + far;
        uint8_t *out = (uint8_t *)call->data[0] + row * columns * depth;
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
    const float *a = (const float *)call->data[1] + near;
    const float *b = (const float *)call->data[1] + far;
    float *out = (float *)call->data[0] + row * columns * depth;
    for (int64_t x = 0; x < columns; x++) {
        ndrt_neighbours h = resized(x, step, width, 0);
        for (int64_t c = 0; c < depth; c++) {
            float upper = a[h.near * depth + c] * (1 - h.part) + a[h.far * depth + c] * h.part;
            float lower = b[h.near * depth + c] * (1 - h.part) + b[h.far * depth + c] * h.part;
            out[x * depth + c] = upper * (1 - v.part) + lower * v.part;
        }
    }
}

static void resize(const ndrt_kernel_call *call, int nthreads) {
    int halves = (double)call->counts[1] == 2 * call->numbers[0] &&
                 (double)call->counts[2] == 2 * call->numbers[1];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t row = 0; row < call->counts[0] * (int64_t)call->numbers[0]; row++)
        halves ? halve_row(call, row) : resize_row(call, row);
}

/* ---- driver -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(const ndrt_kernel_call *call, int nthreads);
    int ndata;
    int nsizes; /* so many scalars are counts */
} kernels[] = {
    [NDRT_KERNEL_ROI_ALIGN - NDRT_KERNEL_ROI_ALIGN] = {"ROIAlign", ndrt_roi_align, 3, 3},
    [NDRT_KERNEL_ROI_ALIGN_GRAD - NDRT_KERNEL_ROI_ALIGN] = {"ROIAlign gradient",
                                                            ndrt_roi_align_grad, 3, 3},
    [NDRT_KERNEL_ROI_POOL - NDRT_KERNEL_ROI_ALIGN] = {"ROIPooling", ndrt_roi_pool, 4, 3},
    [NDRT_KERNEL_ROI_POOL_GRAD - NDRT_KERNEL_ROI_ALIGN] = {"ROIPooling gradient",
                                                           ndrt_roi_pool_grad, 4, 3},
    [NDRT_KERNEL_RESIZE - NDRT_KERNEL_ROI_ALIGN] = {"resize", resize, 2, 2},
    [NDRT_KERNEL_BOX_NMS - NDRT_KERNEL_ROI_ALIGN] = {"box_nms", ndrt_box_nms, 4, 0},
    [NDRT_KERNEL_MULTIBOX_PRIOR - NDRT_KERNEL_ROI_ALIGN] = {"MultiBoxPrior", ndrt_multibox_prior, 1,
                                                            0},
    [NDRT_KERNEL_MULTIBOX_DETECTION - NDRT_KERNEL_ROI_ALIGN] = {"MultiBoxDetection",
                                                                ndrt_multibox_detection, 5, 0},
    [NDRT_KERNEL_MULTIBOX_MATCH - NDRT_KERNEL_ROI_ALIGN] = {"MultiBoxTarget's matches",
                                                            ndrt_multibox_match, 5, 1},
    [NDRT_KERNEL_MULTIBOX_ASSIGN - NDRT_KERNEL_ROI_ALIGN] = {"MultiBoxTarget", ndrt_multibox_assign,
                                                             6, 0},
};

/* Elements that are computed; 0: nothing is to be done; -1: more than can be. */
static int64_t work_of(const ndrt_kernel_call *call) {
    const int64_t *d = call->counts;
    int64_t counts[3];
    for (int i = 0; i < 3; i++)
        counts[i] = i < kernels[call->kernel - NDRT_KERNEL_ROI_ALIGN].nsizes
                        ? (int64_t)call->numbers[i]
                        : 1;
    switch (call->kernel) {
    case NDRT_KERNEL_ROI_ALIGN:
    case NDRT_KERNEL_ROI_POOL:
        return ndrt_product(ndrt_product(d[0], d[1], 4), counts[1], counts[2]);
    case NDRT_KERNEL_ROI_ALIGN_GRAD:
    case NDRT_KERNEL_ROI_POOL_GRAD:
        return ndrt_product(ndrt_product(counts[0], d[1], 1), d[2], d[3]);
    case NDRT_KERNEL_RESIZE: return ndrt_product(ndrt_product(d[0], d[3], 4), counts[0], counts[1]);
    case NDRT_KERNEL_MULTIBOX_PRIOR: return ndrt_product(d[0], d[1], 1);
    case NDRT_KERNEL_BOX_NMS:
    case NDRT_KERNEL_MULTIBOX_DETECTION: return ndrt_product(ndrt_product(d[0], d[1], 4), d[2], 1);
    default: return ndrt_product(d[0], d[1], d[2]);
    }
}

/* Bytes of the largest array beside the output, to see whether so much can be. */
static int64_t greatest_of(const ndrt_kernel_call *call) {
    const int64_t *d = call->counts;
    const double *s = call->numbers;
    switch (call->kernel) {
    case NDRT_KERNEL_ROI_ALIGN:
    case NDRT_KERNEL_ROI_ALIGN_GRAD: {
        int64_t bins = s[5] != 0 ? (int64_t)s[1] * (int64_t)s[2] : 1;
        return ndrt_product(ndrt_product((int64_t)s[0], d[1], bins), ndrt_product(d[2], d[3], 1),
                            4);
    }
    case NDRT_KERNEL_ROI_POOL:
    case NDRT_KERNEL_ROI_POOL_GRAD:
        return ndrt_product(ndrt_product((int64_t)s[0], d[1], 4), d[2], d[3]);
    case NDRT_KERNEL_RESIZE: return ndrt_product(ndrt_product(d[0], d[3], 4), d[1], d[2]);
    case NDRT_KERNEL_MULTIBOX_PRIOR: return ndrt_product(d[0], d[1], ndrt_product(d[2], 16, 1));
    case NDRT_KERNEL_BOX_NMS: return ndrt_product(d[0], d[1], 4 * 9);
    case NDRT_KERNEL_MULTIBOX_DETECTION: return ndrt_product(d[0], d[2], 4 * 15);
    default: return ndrt_product(ndrt_product(d[0], d[2], 4), d[3], 1);
    }
}

/* Is `place` a whole number from `low` up that leaves room for `count` elements of a row? */
static int is_within(double place, double low, int64_t width, int64_t count) {
    return place >= low && place <= (double)(width - count) && place == floor(place);
}

/* What is wrong with the sizes of a call that has something to do; NULL: nothing. */
static const char *misfit(const ndrt_kernel_call *call) {
    const int64_t *d = call->counts;
    const double *s = call->numbers;
    switch (call->kernel) {
    case NDRT_KERNEL_ROI_ALIGN:
    case NDRT_KERNEL_ROI_ALIGN_GRAD: return d[2] && d[3] ? NULL : "images of no pixels";
    case NDRT_KERNEL_ROI_POOL:
    case NDRT_KERNEL_ROI_POOL_GRAD:
        return ndrt_product(d[2], d[3], 1) <= INT32_MAX ? NULL : "more pixels than an int32 counts";
    case NDRT_KERNEL_RESIZE:
        if (!d[1] || !d[2]) return "images of no pixels";
        return s[2] == NDRT_F32 || s[2] == NDRT_U8 ? NULL : "pixels are neither f32 nor u8";
    case NDRT_KERNEL_BOX_NMS:
        if (d[1] > INT32_MAX) return "more boxes than an int32 counts";
        return is_within(s[2], 0, d[2], 4) && is_within(s[3], 0, d[2], 1) &&
                       is_within(s[4], -1, d[2], 1)
                   ? NULL
                   : "rows do not have what is read of them";
    case NDRT_KERNEL_MULTIBOX_PRIOR: return d[3] < d[2] ? NULL : "pixels have no such anchor";
    case NDRT_KERNEL_MULTIBOX_DETECTION:
        return d[2] <= INT32_MAX ? NULL : "more anchors than an int32 counts";
    default:
        if (d[1] > INT32_MAX || d[2] > INT32_MAX) return "more boxes than an int32 counts";
        return d[3] >= 5 ? NULL : "labels are not of a class and four coordinates";
    }
}

static ndrt_status check(const ndrt_kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_ROI_ALIGN;
    const char *name = kernels[at].name;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads);
    for (int i = 0; i < 4; i++)
        if (call->counts[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    for (int i = 0; i < kernels[at].nsizes; i++)
        if (!(call->numbers[i] >= 0 && call->numbers[i] < 0x1p31))
            return ndrt_fail(NDRT_INVALID, "%s: a count of %g", name, call->numbers[i]);
    int64_t n = work_of(call);
    if (n < 0 || (n && greatest_of(call) < 0))
        return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    const char *wrong = n ? misfit(call) : NULL;
    if (wrong) return ndrt_fail(NDRT_INVALID, "%s: %s", name, wrong);
    for (int i = 0; i < kernels[at].ndata; i++)
        if (n && !call->data[i] && (i == 0 || call->counts[0]))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) { return ndrt_team_for(call, work_of(call)); }

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    if (work_of(call)) kernels[call->kernel - NDRT_KERNEL_ROI_ALIGN].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_vision = {"vision", check, threads, execute};
