/* Convolutions that native/depthwise.c and native/few_channels.c compute. */
#ifndef NDRT_WINDOWS_H
#define NDRT_WINDOWS_H

#include "ndrt_avx512.h"
#include "ndrt_internal.h"

typedef struct {
    const float *data, *weights, *bias; /* bias: or NULL */
    float *out;
    int64_t images, channels, height, width; /* of the data */
    int64_t filters, rows, columns;          /* of the result */
    int64_t pad_y, pad_x;
    int window, stride;
    float low, high;
} ndrt_windows;

enum { NDRT_DEPTHWISE_WINDOW = 3 };

void ndrt_depthwise(const ndrt_windows *job, int nthreads);
void ndrt_few_channels(const ndrt_windows *job, int nthreads);

#endif
