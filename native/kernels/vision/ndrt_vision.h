/* What native/kernels/vision/images.c and regions.c share. */
#ifndef NDRT_VISION_H
#define NDRT_VISION_H

#include <stdint.h>

/* Two pixels of an axis, and the share of the second. */
typedef struct {
    int64_t near, far;
    float part;
} ndrt_neighbours;

#endif
