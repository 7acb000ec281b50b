/* Kernels on regions of images: ROIAlign, ROIPooling and their gradients. The driver is in
 * vision.c.
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

static inline ndrt_neighbours neighbours_of(float at, int64_t length) {
    if (at < 0) at = 0;
    int64_t near = (int64_t)at;
    if (near >= length - 1) return (ndrt_neighbours){length - 1, length - 1, 0};
    return (ndrt_neighbours){near, near + 1, at - (float)near};
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
    int64_t height = call->counts[2], width = call->counts[3];
    int64_t rows = (int64_t)call->numbers[1], columns = (int64_t)call->numbers[2];
    float scale = (float)call->numbers[3];
    span y = span_of(roi[2] * scale, roi[4] * scale, rows, call->numbers[4]);
    span x = span_of(roi[1] * scale, roi[3] * scale, columns, call->numbers[4]);
    if (!(y.samples > 0 && x.samples > 0)) return;
    float share = 1 / ((float)y.samples * (float)x.samples);
    for (int64_t bin = 0; bin < list->bins; bin++) {
        float top = y.start + (float)(bin / columns) * y.step;
        float left = x.start + (float)(bin % columns) * x.step;
        for (int64_t i = first_of(y, top); i < y.samples; i++) {
            float at_y = top + ((float)i + 0.5f) * y.step / (float)y.samples;
            if (at_y > (float)height) break;
            if (at_y < -1) continue;
            ndrt_neighbours v = neighbours_of(at_y, height);
            for (int64_t j = first_of(x, left); j < x.samples; j++) {
                float at_x = left + ((float)j + 0.5f) * x.step / (float)x.samples;
                if (at_x > (float)width) break;
                if (at_x < -1) continue;
                ndrt_neighbours h = neighbours_of(at_x, width);
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
    list.channels = call->counts[1];
    list.bins = (int64_t)call->numbers[1] * (int64_t)call->numbers[2];
    list.pixels = call->counts[2] * call->counts[3];
    list.split = call->numbers[5] != 0;
    list.count = 0;
    list.from = block * CHANNELS;
    list.to = list.from + CHANNELS < list.channels ? list.from + CHANNELS : list.channels;
    const float *corners = (const float *)call->data[2] + roi * 5;
    float *out = call->data[backward ? 1 : 0], *images = call->data[backward ? 0 : 1];
    int64_t image = image_of(corners[0], (int64_t)call->numbers[0]);
    int64_t planes = list.channels * (list.split ? list.bins : 1);
    list.plane = out + roi * list.channels * list.bins;
    if (!backward)
        memset(list.plane + list.from * list.bins, 0,
               (size_t)((list.to - list.from) * list.bins) * sizeof *out);
    if (image < 0) return;
    list.image = images + image * planes * list.pixels;
    region(&list, corners, backward);
}

void ndrt_roi_align(const ndrt_kernel_call *call, int nthreads) {
    int64_t blocks = (call->counts[1] + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < call->counts[0] * blocks; k++)
        roi_align_block(call, k % blocks, k / blocks, 0);
}

void ndrt_roi_align_grad(const ndrt_kernel_call *call, int nthreads) {
    int64_t images = (int64_t)call->numbers[0], pixels = call->counts[2] * call->counts[3];
    int64_t own = call->numbers[5] != 0 ? (int64_t)(call->numbers[1] * call->numbers[2]) : 1;
    int64_t channels = call->counts[1], blocks = (channels + CHANNELS - 1) / CHANNELS;
    memset(call->data[0], 0, (size_t)(images * channels * own * pixels) * sizeof(float));
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t roi = 0; roi < call->counts[0]; roi++) roi_align_block(call, block, roi, 1);
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

void ndrt_roi_pool(const ndrt_kernel_call *call, int nthreads) {
    int64_t channels = call->counts[1], height = call->counts[2], width = call->counts[3];
    int64_t rows = (int64_t)call->numbers[1], columns = (int64_t)call->numbers[2];
    float scale = (float)call->numbers[3];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < call->counts[0] * channels; k++) {
        const float *roi = (const float *)call->data[3] + k / channels * 5;
        float *out = (float *)call->data[0] + k * rows * columns;
        int32_t *places = (int32_t *)call->data[1] + k * rows * columns;
        int64_t image = image_of(roi[0], (int64_t)call->numbers[0]);
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

void ndrt_roi_pool_grad(const ndrt_kernel_call *call, int nthreads) {
    int64_t channels = call->counts[1], pixels = call->counts[2] * call->counts[3];
    int64_t images = (int64_t)call->numbers[0];
    int64_t bins = (int64_t)call->numbers[1] * (int64_t)call->numbers[2];
    float *grad = call->data[0];
    memset(grad, 0, (size_t)(images * channels * pixels) * sizeof *grad);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t c = 0; c < channels; c++)
        for (int64_t roi = 0; roi < call->counts[0]; roi++) {
            int64_t image = image_of(((const float *)call->data[3])[roi * 5], images);
            if (image < 0) continue;
            const float *in = (const float *)call->data[1] + (roi * channels + c) * bins;
            const int32_t *places = (const int32_t *)call->data[2] + (roi * channels + c) * bins;
            float *plane = grad + (image * channels + c) * pixels;
            for (int64_t bin = 0; bin < bins; bin++)
                if (places[bin] >= 0 && places[bin] < pixels) plane[places[bin]] += in[bin];
        }
}
