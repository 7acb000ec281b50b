/* Kernels on images and boxes: what native/vision.c and native/boxes.c share. */
#ifndef NDRT_VISION_H
#define NDRT_VISION_H

#include "ndrt_internal.h"

void ndrt_box_nms(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_prior(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_detection(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_match(const ndrt_kernel_call *call, int nthreads);
void ndrt_multibox_assign(const ndrt_kernel_call *call, int nthreads);

#endif
