/* Kernels on images and boxes: what native/kernels/vision/vision.c, regions.c and boxes.c share. */
#ifndef NDRT_VISION_H
#define NDRT_VISION_H

#include "ndrt_internal.h"

/* Two pixels of an axis, and the share of the second. */
typedef struct {
    int64_t near, far;
    float part;
} ndrt_neighbours;

void ndrt_roi_align(const ndrt_kernel_call *call, int nthreads);
void ndrt_roi_align_grad(const ndrt_kernel_call *call, int nthreads);
void ndrt_roi_pool(const ndrt_kernel_call *call, int nthreads);
void ndrt_roi_pool_grad(const ndrt_kernel_call *call, int nthreads);

void ndrt_box_nms(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_prior(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_detection(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_match(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_assign(const ndrt_kernel_call *call, int nthreads);

#endif
