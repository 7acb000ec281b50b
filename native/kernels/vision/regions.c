/* Kernels on regions of images: ROIAlign, ROIPooling and their gradients.
 *
 * Each element is computed by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_vision.h"

typedef const ndrt_kernel_call kernel_call;

/* Clamped to [0, n]; NaN gives 0. */
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
    const ndrt_roi_align_args *job; /* the gradient's are of the same form */
    float *plane;                   /* of outputs, or of their gradients */
    float *image;                   /* pixels of an image, or their gradients */
    int64_t from, to;               /* the channels of the output that are computed now */
    int64_t bins, pixels;
    int count;
    tap taps[TAPS];
} tap_list;

/* out += pixels, or the other way round, for all taps and channels. */
static void use_taps(tap_list *list, int backward) {
    for (int64_t c = list->from; c < list->to; c++) {
        float *plane = list->plane + c * list->bins;
        for (int i = 0; i < list->count; i++) {
            const tap *t = &list->taps[i];
            float *image =
                list->image + (list->job->split ? c * list->bins + t->bin : c) * list->pixels;
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

static span span_of(float low, float high, int64_t bins, int64_t samples) {
    float size = high - low;
    if (!(size > 1)) size = size != size ? size : 1; /* NaN stays NaN */
    span made = {low, size / (float)bins, samples};
    if (samples <= 0) made.samples = bounded(ceilf(made.step), INT32_MAX);
    if (!isfinite(low) || !isfinite(size)) made.samples = 0;
    return made;
}

/* The first sample of a bin that may lie within the axis. */
static inline int64_t first_of(span s, float low) {
    return bounded(floorf((-1 - low) / (s.step / (float)s.samples) - 0.5f) - 1, s.samples);
}

static void region(tap_list *list, const float *roi, int backward) {
    const ndrt_roi_align_args *job = list->job;
    int64_t height = job->height, width = job->width, columns = job->columns;
    span y = span_of(roi[2] * job->scale, roi[4] * job->scale, job->rows, job->samples);
    span x = span_of(roi[1] * job->scale, roi[3] * job->scale, columns, job->samples);
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

/* `out` and `images`: of values, or of their gradients. */
static void roi_align_block(const ndrt_roi_align_args *job, float *out, float *images,
                            int64_t block, int64_t roi, int backward) {
    tap_list list;
    list.job = job;
    list.bins = job->rows * job->columns;
    list.pixels = job->height * job->width;
    list.count = 0;
    list.from = block * CHANNELS;
    list.to = list.from + CHANNELS < job->channels ? list.from + CHANNELS : job->channels;
    const float *corners = job->rois + roi * 5;
    int64_t image = image_of(corners[0], job->images);
    int64_t planes = job->channels * (job->split ? list.bins : 1);
    list.plane = out + roi * job->channels * list.bins;
    if (!backward)
        memset(list.plane + list.from * list.bins, 0,
               (size_t)((list.to - list.from) * list.bins) * sizeof *out);
    if (image < 0) return;
    list.image = images + image * planes * list.pixels;
    region(&list, corners, backward);
}

static void roi_align(kernel_call *call, int nthreads) {
    const ndrt_roi_align_args job = ndrt_read_roi_align(call);
    int64_t blocks = (job.channels + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < job.regions * blocks; k++)
        roi_align_block(&job, job.out, (float *)job.data, k % blocks, k / blocks, 0);
}

static void roi_align_grad(kernel_call *call, int nthreads) {
    const ndrt_roi_align_grad_args own = ndrt_read_roi_align_grad(call);
    const ndrt_roi_align_args job = ndrt_read_roi_align(call);
    int64_t pixels = job.height * job.width, bins = job.split ? job.rows * job.columns : 1;
    int64_t blocks = (job.channels + CHANNELS - 1) / CHANNELS;
    memset(own.dx, 0, (size_t)(job.images * job.channels * bins * pixels) * sizeof(float));
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t roi = 0; roi < job.regions; roi++)
            roi_align_block(&job, (float *)own.dy, own.dx, block, roi, 1);
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

static void roi_pool(kernel_call *call, int nthreads) {
    const ndrt_roi_pool_args job = ndrt_read_roi_pool(call);
    int64_t channels = job.channels, height = job.height, width = job.width;
    int64_t rows = job.rows, columns = job.columns;
    float scale = job.scale;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < job.regions * channels; k++) {
        const float *roi = job.rois + k / channels * 5;
        float *out = job.out + k * rows * columns;
        int32_t *places = job.places + k * rows * columns;
        int64_t image = image_of(roi[0], job.images);
        const float *plane =
            job.data + (image < 0 ? 0 : (image * channels + k % channels) * height * width);
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

static void roi_pool_grad(kernel_call *call, int nthreads) {
    const ndrt_roi_pool_grad_args job = ndrt_read_roi_pool_grad(call);
    int64_t channels = job.channels, pixels = job.height * job.width;
    int64_t bins = job.rows * job.columns;
    memset(job.dx, 0, (size_t)(job.images * channels * pixels) * sizeof *job.dx);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t c = 0; c < channels; c++)
        for (int64_t roi = 0; roi < job.regions; roi++) {
            int64_t image = image_of(job.rois[roi * 5], job.images);
            if (image < 0) continue;
            const float *in = job.dy + (roi * channels + c) * bins;
            const int32_t *places = job.places + (roi * channels + c) * bins;
            float *plane = job.dx + (image * channels + c) * pixels;
            for (int64_t bin = 0; bin < bins; bin++)
                if (places[bin] >= 0 && places[bin] < pixels) plane[places[bin]] += in[bin];
        }
}

/* ---- driver -----------------------------------------------------------------------------------
 */

enum { FIRST = NDRT_KERNEL_ROI_ALIGN, NCOUNTS = 7 }; /* which all have at the beginning */

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata;
} kernels[] = {
    [NDRT_KERNEL_ROI_ALIGN - FIRST] = {"ROIAlign", roi_align, 3},
    [NDRT_KERNEL_ROI_ALIGN_GRAD - FIRST] = {"ROIAlign gradient", roi_align_grad, 3},
    [NDRT_KERNEL_ROI_POOL - FIRST] = {"ROIPooling", roi_pool, 4},
    [NDRT_KERNEL_ROI_POOL_GRAD - FIRST] = {"ROIPooling gradient", roi_pool_grad, 4},
};

static int is_gradient(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_ROI_ALIGN_GRAD || call->kernel == NDRT_KERNEL_ROI_POOL_GRAD;
}

static int is_pool(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_ROI_POOL || call->kernel == NDRT_KERNEL_ROI_POOL_GRAD;
}

/* Elements that are computed; 0: nothing to do; -1: they overflow. */
static int64_t work_of(kernel_call *call) {
    const ndrt_roi_align_args job = ndrt_read_roi_align(call); /* of what all have */
    if (is_gradient(call))
        return ndrt_product(ndrt_product(job.images, job.channels, 1), job.height, job.width);
    return ndrt_product(ndrt_product(job.regions, job.channels, 4), job.rows, job.columns);
}

/* Bytes of the images; -1: they overflow. */
static int64_t bytes_of_images(kernel_call *call) {
    const ndrt_roi_align_args job = ndrt_read_roi_align(call);
    int64_t planes = !is_pool(call) && job.split ? ndrt_product(job.rows, job.columns, 1) : 1;
    return ndrt_product(ndrt_product(job.images, job.channels, planes),
                        ndrt_product(job.height, job.width, 1), sizeof(float));
}

static ndrt_status check(kernel_call *call) {
    const char *name = kernels[call->kernel - FIRST].name;
    for (int i = 0; i < NCOUNTS; i++)
        if (call->counts[i] < 0)
            return ndrt_fail(NDRT_INVALID, "%s: a count of %lld", name, (long long)call->counts[i]);
    int64_t n = work_of(call);
    if (n < 0 || (n && bytes_of_images(call) < 0))
        return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (!n) return NDRT_OK;
    const ndrt_roi_align_args job = ndrt_read_roi_align(call);
    if (is_pool(call) && ndrt_product(job.height, job.width, 1) > INT32_MAX)
        return ndrt_fail(NDRT_INVALID, "%s: more pixels than an int32 counts", name);
    if (!is_pool(call) && (!job.height || !job.width))
        return ndrt_fail(NDRT_INVALID, "%s: images of no pixels", name);
    for (int i = 0; i < kernels[call->kernel - FIRST].ndata; i++)
        if (!call->data[i] && (i == 0 || job.regions))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, work_of(call)); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    if (work_of(call)) kernels[call->kernel - FIRST].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_regions = {"regions", check, threads, execute};
