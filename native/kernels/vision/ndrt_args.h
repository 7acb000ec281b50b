/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_VISION_H
#define NDRT_ARGS_VISION_H

#include "kernels/ndrt_kernel.h"

/* Along an axis from `size` to `made` places, as ndrt_resize_kind says, or with `back` the gradient
 * of that. */
typedef struct {
    float *out; const float *data; int64_t outer; int64_t size; int64_t made; int64_t inner;
    int kind; int back;
} ndrt_resize_axis_args;
static inline ndrt_resize_axis_args ndrt_read_resize_axis(const ndrt_kernel_call *call) {
    return (ndrt_resize_axis_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .size = call->counts[1], .made = call->counts[2], .inner = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]), .back = ndrt_int_of(call->counts[5]),
    };
}

/* Means of bins of regions, of so many samples along each axis (0: by the size); with `split` each
 * bin has planes of its own. */
typedef struct {
    float *out; const float *data; const float *rois; int64_t regions; int64_t channels;
    int64_t height; int64_t width; int64_t images; int64_t rows; int64_t columns; int64_t samples;
    int split; float scale;
} ndrt_roi_align_args;
static inline ndrt_roi_align_args ndrt_read_roi_align(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_roi_align_args){
        .out = call->data[0], .data = call->data[1], .rois = call->data[2],
        .regions = call->counts[0], .channels = call->counts[1], .height = call->counts[2],
        .width = call->counts[3], .images = call->counts[4], .rows = call->counts[5],
        .columns = call->counts[6], .samples = call->counts[7],
        .split = ndrt_int_of(call->counts[8]), .scale = (float)numbers[0],
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const float *rois; int64_t regions; int64_t channels;
    int64_t height; int64_t width; int64_t images; int64_t rows; int64_t columns; int64_t samples;
    int split; float scale;
} ndrt_roi_align_grad_args;
static inline ndrt_roi_align_grad_args ndrt_read_roi_align_grad(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_roi_align_grad_args){
        .dx = call->data[0], .dy = call->data[1], .rois = call->data[2], .regions = call->counts[0],
        .channels = call->counts[1], .height = call->counts[2], .width = call->counts[3],
        .images = call->counts[4], .rows = call->counts[5], .columns = call->counts[6],
        .samples = call->counts[7], .split = ndrt_int_of(call->counts[8]),
        .scale = (float)numbers[0],
    };
}

/* The greatest in each bin of regions, and its place in the plane; -1: none. */
typedef struct {
    float *out; int32_t *places; const float *data; const float *rois; int64_t regions;
    int64_t channels; int64_t height; int64_t width; int64_t images; int64_t rows; int64_t columns;
    float scale;
} ndrt_roi_pool_args;
static inline ndrt_roi_pool_args ndrt_read_roi_pool(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_roi_pool_args){
        .out = call->data[0], .places = call->data[1], .data = call->data[2], .rois = call->data[3],
        .regions = call->counts[0], .channels = call->counts[1], .height = call->counts[2],
        .width = call->counts[3], .images = call->counts[4], .rows = call->counts[5],
        .columns = call->counts[6], .scale = (float)numbers[0],
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const int32_t *places; const float *rois; int64_t regions;
    int64_t channels; int64_t height; int64_t width; int64_t images; int64_t rows; int64_t columns;
} ndrt_roi_pool_grad_args;
static inline ndrt_roi_pool_grad_args ndrt_read_roi_pool_grad(const ndrt_kernel_call *call) {
    return (ndrt_roi_pool_grad_args){
        .dx = call->data[0], .dy = call->data[1], .places = call->data[2], .rois = call->data[3],
        .regions = call->counts[0], .channels = call->counts[1], .height = call->counts[2],
        .width = call->counts[3], .images = call->counts[4], .rows = call->counts[5],
        .columns = call->counts[6],
    };
}

/* Images of another size, as OpenCV makes them; dtype F32 or U8. */
typedef struct {
    void *out; const void *data; int64_t images; int64_t height; int64_t width; int64_t depth;
    int64_t rows; int64_t columns; int dtype;
} ndrt_resize_args;
static inline ndrt_resize_args ndrt_read_resize(const ndrt_kernel_call *call) {
    return (ndrt_resize_args){
        .out = call->data[0], .data = call->data[1], .images = call->counts[0],
        .height = call->counts[1], .width = call->counts[2], .depth = call->counts[3],
        .rows = call->counts[4], .columns = call->counts[5], .dtype = ndrt_int_of(call->counts[6]),
    };
}

/* Boxes that no better one overlaps with by more than `overlap`, best first, and their places; of
 * no kind with `kind` -1, and of all kinds with `force`. `centered`: data has centers and sizes;
 * `to_center`: out has. Scratch is 9 words a box. */
typedef struct {
    float *out; int32_t *record; const float *data; void *scratch; int64_t batches; int64_t boxes;
    int64_t width; int64_t most; int64_t coordinates; int64_t score; int64_t kind; int force;
    int centered; int to_center; float overlap; float valid; float background;
} ndrt_box_nms_args;
static inline ndrt_box_nms_args ndrt_read_box_nms(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_box_nms_args){
        .out = call->data[0], .record = call->data[1], .data = call->data[2],
        .scratch = call->data[3], .batches = call->counts[0], .boxes = call->counts[1],
        .width = call->counts[2], .most = call->counts[3], .coordinates = call->counts[4],
        .score = call->counts[5], .kind = call->counts[6], .force = ndrt_int_of(call->counts[7]),
        .centered = ndrt_int_of(call->counts[8]), .to_center = ndrt_int_of(call->counts[9]),
        .overlap = (float)numbers[0], .valid = (float)numbers[1], .background = (float)numbers[2],
    };
}

/* One of the anchors of each pixel. */
typedef struct {
    float *out; int64_t rows; int64_t columns; int64_t anchors; int64_t which; int clip;
    float half_width; float half_height; float step_y; float step_x; float offset_y; float offset_x;
} ndrt_multibox_prior_args;
static inline ndrt_multibox_prior_args ndrt_read_multibox_prior(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_multibox_prior_args){
        .out = call->data[0], .rows = call->counts[0], .columns = call->counts[1],
        .anchors = call->counts[2], .which = call->counts[3], .clip = ndrt_int_of(call->counts[4]),
        .half_width = (float)numbers[0], .half_height = (float)numbers[1],
        .step_y = (float)numbers[2], .step_x = (float)numbers[3], .offset_y = (float)numbers[4],
        .offset_x = (float)numbers[5],
    };
}

/* Rows of class, probability and box; `most` of them suppress others, 0: all. Scratch is 15 words
 * an anchor. */
typedef struct {
    float *out; const float *classes; const float *shifts; const float *anchors; void *scratch;
    int64_t batches; int64_t kinds; int64_t count; int64_t most; int clip; int force;
    float threshold; float overlap; const double *variances;
} ndrt_multibox_detection_args;
static inline ndrt_multibox_detection_args ndrt_read_multibox_detection(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_multibox_detection_args){
        .out = call->data[0], .classes = call->data[1], .shifts = call->data[2],
        .anchors = call->data[3], .scratch = call->data[4], .batches = call->counts[0],
        .kinds = call->counts[1], .count = call->counts[2], .most = call->counts[3],
        .clip = ndrt_int_of(call->counts[4]), .force = ndrt_int_of(call->counts[5]),
        .threshold = (float)numbers[0], .overlap = (float)numbers[1], .variances = &numbers[2],
    };
}

/* The label of each anchor, -1: is ignored, -2: background. Labels are `most` rows of `width`:
 * class, box; scratch is 2 words an anchor and label. */
typedef struct {
    int32_t *match; void *scratch; const float *anchors; const float *labels; const float *classes;
    int64_t batches; int64_t count; int64_t most; int64_t width; int64_t kinds; float threshold;
    float ratio; float limit;
} ndrt_multibox_match_args;
static inline ndrt_multibox_match_args ndrt_read_multibox_match(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_multibox_match_args){
        .match = call->data[0], .scratch = call->data[1], .anchors = call->data[2],
        .labels = call->data[3], .classes = call->data[4], .batches = call->counts[0],
        .count = call->counts[1], .most = call->counts[2], .width = call->counts[3],
        .kinds = call->counts[4], .threshold = (float)numbers[0], .ratio = (float)numbers[1],
        .limit = (float)numbers[2],
    };
}

/* What is learned by these matches. */
typedef struct {
    float *target; float *mask; float *kind; const float *anchors; const float *labels;
    const int32_t *match; int64_t batches; int64_t count; int64_t most; int64_t width;
    float ignored; const double *variances;
} ndrt_multibox_assign_args;
static inline ndrt_multibox_assign_args ndrt_read_multibox_assign(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_multibox_assign_args){
        .target = call->data[0], .mask = call->data[1], .kind = call->data[2],
        .anchors = call->data[3], .labels = call->data[4], .match = call->data[5],
        .batches = call->counts[0], .count = call->counts[1], .most = call->counts[2],
        .width = call->counts[3], .ignored = (float)numbers[0], .variances = &numbers[1],
    };
}

#endif
