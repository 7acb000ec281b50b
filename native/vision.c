/* Kernels on regions of images: ROIAlign, ROIPooling and their gradients, resizing; and the driver
 * of these and of those in boxes.c.
 *
 * Each element is computed by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <math.h>
#include <string.h>

#include "ndrt_vision.h"

/* Inside of [0, n], and 0 for what is no number. */
static inline int64_t bounded(float x, int64_t n) {
    if (!(x > 0)) return 0;
    return x < (float)n ? (int64_t)x : n;
}

/* The image of a region, -1 where there is none such. */
static inline int64_t image_of(float x, int64_t images) {
    return x > -1 && x < (float)images ? (int64_t)x : -1;
}

/* ---- ROIAlign ------------------------------------------------------------------------------- */

enum { TAPS = 512, CHANNELS = 16 };

/* A sample: the bin that it belongs to, and four pixels with their weights. */
typedef struct {
    int64_t bin, at[4];
    float weight[4];
} tap;

typedef struct {
    const ndrt_kernel_call *call;
    float *plane;               /* of outputs, or of their gradients */
    float *image;               /* pixels of an image, or their gradients */
    int64_t channels, from, to; /* of the output; those that are done now */
    int64_t bins, pixels;
    int split; /* each bin has planes of its own */
    int count;
    tap taps[TAPS];
} tap_list;

/* out += pixels, or the other way round, for all taps and channels. */
static void use_taps(tap_list *list, int backward) {
    for (int64_t c = list->from; c < list->to; c++) {
        float *plane = list->plane + c * list->bins;
        for (int i = 0; i < list->count; i++) {
            const tap *t = &list->taps[i];
            float *image = list->image + (list->split ? c * list->bins + t->bin : c) * list->pixels;
            if (backward) {
                float slope = plane[t->bin];
                for (int k = 0; k < 4; k++) image[t->at[k]] += slope * t->weight[k];
            } else {
                float sum = 0;
                for (int k = 0; k < 4; k++) sum += image[t->at[k]] * t->weight[k];
                plane[t->bin] += sum;
            }
        }
    }
    list->count = 0;
}

/* Two pixels of an axis, and the share of the second. */
typedef struct {
    int64_t near, far;
    float part;
} pair;

static inline pair pair_at(float at, int64_t length) {
    if (at < 0) at = 0;
    int64_t near = (int64_t)at;
    if (near >= length - 1) return (pair){length - 1, length - 1, 0};
    return (pair){near, near + 1, at - (float)near};
}

/* Samples along one axis of a region. */
typedef struct {
    float start, step;
    int64_t samples;
} span;

static span span_of(float low, float high, int64_t bins, double ratio) {
    float size = high - low;
    if (!(size > 1)) size = size != size ? size : 1; /* what is no number stays so */
    span made = {low, size / (float)bins, (int64_t)ratio};
    if (!(ratio > 0)) made.samples = bounded(ceilf(made.step), INT32_MAX);
    if (!isfinite(low) || !isfinite(size)) made.samples = 0;
    return made;
}

/* The first sample of a bin that may lie within the axis. */
static inline int64_t first_of(span s, float low) {
    return bounded(floorf((-1 - low) / (s.step / (float)s.samples) - 0.5f) - 1, s.samples);
}

static void region(tap_list *list, const float *roi, int backward) {
    const ndrt_kernel_call *call = list->call;
    int64_t height = call->dims[2], width = call->dims[3];
    int64_t rows = (int64_t)call->scalars[1], columns = (int64_t)call->scalars[2];
    float scale = (float)call->scalars[3];
    span y = span_of(roi[2] * scale, roi[4] * scale, rows, call->scalars[4]);
    span x = span_of(roi[1] * scale, roi[3] * scale, columns, call->scalars[4]);
    if (!(y.samples > 0 && x.samples > 0)) return;
    float share = 1 / ((float)y.samples * (float)x.samples);
    for (int64_t bin = 0; bin < list->bins; bin++) {
        float top = y.start + (float)(bin / columns) * y.step;
        float left = x.start + (float)(bin % columns) * x.step;
        for (int64_t i = first_of(y, top); i < y.samples; i++) {
            float at_y = top + ((float)i + 0.5f) * y.step / (float)y.samples;
            if (at_y > (float)height) break;
            if (at_y < -1) continue;
            pair v = pair_at(at_y, height);
            for (int64_t j = first_of(x, left); j < x.samples; j++) {
                float at_x = left + ((float)j + 0.5f) * x.step / (float)x.samples;
                if (at_x > (float)width) break;
                if (at_x < -1) continue;
                pair h = pair_at(at_x, width);
                tap *t = &list->taps[list->count++];
                *t = (tap){bin,
                           {v.near * width + h.near, v.near * width + h.far, v.far * width + h.near,
                            v.far * width + h.far},
                           {(1 - v.part) * (1 - h.part) * share, (1 - v.part) * h.part * share,
                            v.part * (1 - h.part) * share, v.part * h.part * share}};
                if (list->count == TAPS) use_taps(list, backward);
            }
        }
    }
    use_taps(list, backward);
}

static void roi_align_block(const ndrt_kernel_call *call, int64_t block, int64_t roi,
                            int backward) {
    tap_list list;
    list.call = call;
    list.channels = call->dims[1];
    list.bins = (int64_t)call->scalars[1] * (int64_t)call->scalars[2];
    list.pixels = call->dims[2] * call->dims[3];
    list.split = call->scalars[5] != 0;
    list.count = 0;
    list.from = block * CHANNELS;
    list.to = list.from + CHANNELS < list.channels ? list.from + CHANNELS : list.channels;
    const float *corners = (const float *)call->data[2] + roi * 5;
    float *out = call->data[backward ? 1 : 0], *images = call->data[backward ? 0 : 1];
    int64_t image = image_of(corners[0], (int64_t)call->scalars[0]);
    int64_t planes = list.channels * (list.split ? list.bins : 1);
    list.plane = out + roi * list.channels * list.bins;
    if (!backward)
        memset(list.plane + list.from * list.bins, 0,
               (size_t)((list.to - list.from) * list.bins) * sizeof *out);
    if (image < 0) return;
    list.image = images + image * planes * list.pixels;
    region(&list, corners, backward);
}

static void roi_align(const ndrt_kernel_call *call, int nthreads) {
    int64_t blocks = (call->dims[1] + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < call->dims[0] * blocks; k++)
        roi_align_block(call, k % blocks, k / blocks, 0);
}

static void roi_align_grad(const ndrt_kernel_call *call, int nthreads) {
    int64_t images = (int64_t)call->scalars[0], pixels = call->dims[2] * call->dims[3];
    int64_t own = call->scalars[5] != 0 ? (int64_t)(call->scalars[1] * call->scalars[2]) : 1;
    int64_t channels = call->dims[1], blocks = (channels + CHANNELS - 1) / CHANNELS;
    memset(call->data[0], 0, (size_t)(images * channels * own * pixels) * sizeof(float));
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t roi = 0; roi < call->dims[0]; roi++) roi_align_block(call, block, roi, 1);
}

/* ---- ROIPooling ----------------------------------------------------------------------------- */

/* Where a bin of a region begins and ends on an axis. */
static void bin_bounds(float low, float high, int64_t bin, int64_t bins, int64_t length,
                       int64_t *from, int64_t *to) {
    float size = high - low + 1;
    if (size < 1) size = 1;
    float step = size / (float)bins;
    *from = bounded(floorf((float)bin * step) + low, length);
    *to = bounded(ceilf((float)(bin + 1) * step) + low, length);
}

static void roi_pool(const ndrt_kernel_call *call, int nthreads) {
    int64_t channels = call->dims[1], height = call->dims[2], width = call->dims[3];
    int64_t rows = (int64_t)call->scalars[1], columns = (int64_t)call->scalars[2];
    float scale = (float)call->scalars[3];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < call->dims[0] * channels; k++) {
        const float *roi = (const float *)call->data[3] + k / channels * 5;
        float *out = (float *)call->data[0] + k * rows * columns;
        int32_t *places = (int32_t *)call->data[1] + k * rows * columns;
        int64_t image = image_of(roi[0], (int64_t)call->scalars[0]);
        const float *plane = (const float *)call->data[2] +
                             (image < 0 ? 0 : (image * channels + k % channels) * height * width);
        float left = roundf(roi[1] * scale), top = roundf(roi[2] * scale);
        float right = roundf(roi[3] * scale), bottom = roundf(roi[4] * scale);
        for (int64_t bin = 0; bin < rows * columns; bin++) {
            int64_t y0, y1, x0, x1;
            bin_bounds(top, bottom, bin / columns, rows, height, &y0, &y1);
            bin_bounds(left, right, bin % columns, columns, width, &x0, &x1);
            places[bin] = -1;
            out[bin] = 0;
            if (image < 0 || y1 <= y0 || x1 <= x0) continue;
            float best = -__FLT_MAX__;
            for (int64_t y = y0; y < y1; y++)
                for (int64_t x = x0; x < x1; x++)
                    if (plane[y * width + x] > best) {
                        best = plane[y * width + x];
                        places[bin] = (int32_t)(y * width + x);
                    }
            out[bin] = best;
        }
    }
}

static void roi_pool_grad(const ndrt_kernel_call *call, int nthreads) {
    int64_t channels = call->dims[1], pixels = call->dims[2] * call->dims[3];
    int64_t images = (int64_t)call->scalars[0];
    int64_t bins = (int64_t)call->scalars[1] * (int64_t)call->scalars[2];
    float *grad = call->data[0];
    memset(grad, 0, (size_t)(images * channels * pixels) * sizeof *grad);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t c = 0; c < channels; c++)
        for (int64_t roi = 0; roi < call->dims[0]; roi++) {
            int64_t image = image_of(((const float *)call->data[3])[roi * 5], images);
            if (image < 0) continue;
            const float *in = (const float *)call->data[1] + (roi * channels + c) * bins;
            const int32_t *places = (const int32_t *)call->data[2] + (roi * channels + c) * bins;
            float *plane = grad + (image * channels + c) * pixels;
            for (int64_t bin = 0; bin < bins; bin++)
                if (places[bin] >= 0 && places[bin] < pixels) plane[places[bin]] += in[bin];
        }
}

/* ---- resizing --------------------------------------------------------------------------------
 */

/* Two pixels of an axis and the share of the second, for the pixel `at` of `size`. As in OpenCV, a
 * column has no share in what lies beyond the ends, a row has the end twice. */
static pair resized(int64_t at, double scale, int64_t length, int is_row) {
    float place = (float)(((double)at + 0.5) * scale - 0.5);
    int64_t near = (int64_t)floorf(place);
    float part = place - (float)near;
    int64_t low = near < 0 ? 0 : near < length ? near : length - 1;
    int64_t far = near + 1 < length ? near + 1 : length - 1;
    if (!is_row && (near < 0 || near >= length - 1)) part = 0;
    return (pair){low, far, part};
}

enum { UNIT = 2048 }; /* of the weights for bytes: they are whole numbers */

static inline int weight_of(float part) { return (int)rintf(part * UNIT); }

/* Half the height and width: means of four pixels. */
static void halve_row(const ndrt_kernel_call *call, int64_t row) {
    int64_t depth = call->dims[3], width = call->dims[2] * depth;
    int64_t columns = (int64_t)call->scalars[1], from = row * 2 * width, to = row * columns * depth;
    if (call->scalars[2] == NDRT_U8) {
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
    int64_t height = call->dims[1], width = call->dims[2], depth = call->dims[3];
    int64_t rows = (int64_t)call->scalars[0], columns = (int64_t)call->scalars[1];
    int64_t image = row / rows;
    double step = 1 / ((double)columns / (double)width);
    pair v = resized(row % rows, 1 / ((double)rows / (double)height), height, 1);
    int64_t near = (image * height + v.near) * width * depth;
    int64_t far = (image * height + v.far) * width * depth;
    if (call->scalars[2] == NDRT_U8) {
        const uint8_t *a = (const uint8_t *)call->data[1] + near;
        const uint8_t *b = (const uint8_t *)call->data[1] + far;
        uint8_t *out = (uint8_t *)call->data[0] + row * columns * depth;
        int below = weight_of(v.part), above = weight_of(1 - v.part);
        for (int64_t x = 0; x < columns; x++) {
            pair h = resized(x, step, width, 0);
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
        pair h = resized(x, step, width, 0);
        for (int64_t c = 0; c < depth; c++) {
            float upper = a[h.near * depth + c] * (1 - h.part) + a[h.far * depth + c] * h.part;
            float lower = b[h.near * depth + c] * (1 - h.part) + b[h.far * depth + c] * h.part;
            out[x * depth + c] = upper * (1 - v.part) + lower * v.part;
        }
    }
}

static void resize(const ndrt_kernel_call *call, int nthreads) {
    int halves = (double)call->dims[1] == 2 * call->scalars[0] &&
                 (double)call->dims[2] == 2 * call->scalars[1];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t row = 0; row < call->dims[0] * (int64_t)call->scalars[0]; row++)
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
    [NDRT_KERNEL_ROI_ALIGN - NDRT_KERNEL_ROI_ALIGN] = {"ROIAlign", roi_align, 3, 3},
    [NDRT_KERNEL_ROI_ALIGN_GRAD - NDRT_KERNEL_ROI_ALIGN] = {"ROIAlign gradient", roi_align_grad, 3,
                                                            3},
    [NDRT_KERNEL_ROI_POOL - NDRT_KERNEL_ROI_ALIGN] = {"ROIPooling", roi_pool, 4, 3},
    [NDRT_KERNEL_ROI_POOL_GRAD - NDRT_KERNEL_ROI_ALIGN] = {"ROIPooling gradient", roi_pool_grad, 4,
                                                           3},
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

/* Elements that are computed; 0: nothing is to be done. */
static int64_t work_of(const ndrt_kernel_call *call) {
    const int64_t *d = call->dims;
    const double *s = call->scalars;
    switch (call->kernel) {
    case NDRT_KERNEL_ROI_ALIGN:
    case NDRT_KERNEL_ROI_POOL: return (int64_t)((double)(d[0] * d[1]) * s[1] * s[2]) * 4;
    case NDRT_KERNEL_ROI_ALIGN_GRAD: return (int64_t)(s[0] * (double)d[1] * (double)d[2]) * d[3];
    case NDRT_KERNEL_ROI_POOL_GRAD: return (int64_t)(s[0] * (double)d[1] * (double)d[2]) * d[3];
    case NDRT_KERNEL_RESIZE: return (int64_t)((double)(d[0] * d[3]) * s[0] * s[1]) * 4;
    case NDRT_KERNEL_BOX_NMS: return d[0] * d[1] * d[2] * 4;
    case NDRT_KERNEL_MULTIBOX_PRIOR: return d[0] * d[1];
    case NDRT_KERNEL_MULTIBOX_DETECTION: return d[0] * d[1] * d[2] * 4;
    default: return d[0] * d[1] * d[2];
    }
}

ndrt_status ndrt_vision_check(const ndrt_kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_ROI_ALIGN;
    const char *name = kernels[at].name;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads);
    for (int i = 0; i < 4; i++)
        if (call->dims[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    for (int i = 0; i < kernels[at].nsizes; i++)
        if (!(call->scalars[i] >= 0 && call->scalars[i] < 0x1p31))
            return ndrt_fail(NDRT_INVALID, "%s: a count of %g", name, call->scalars[i]);
    int64_t n = work_of(call);
    for (int i = 0; i < kernels[at].ndata; i++)
        if (n && !call->data[i] && (i == 0 || call->dims[0]))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

int ndrt_vision_threads(const ndrt_kernel_call *call) {
    if (work_of(call) < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

void ndrt_vision_execute(const ndrt_kernel_call *call, int nthreads) {
    if (work_of(call)) kernels[call->kernel - NDRT_KERNEL_ROI_ALIGN].run(call, nthreads);
}
