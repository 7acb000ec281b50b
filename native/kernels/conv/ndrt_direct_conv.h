/* Direct convolutions: native/kernels/conv/depthwise.c and native/kernels/conv/few_channels.c. */
#ifndef NDRT_DIRECT_CONV_H
#define NDRT_DIRECT_CONV_H

#include "kernels/ndrt_kernel.h"

typedef struct {
    const float *data, *weights, *bias; /* bias: or NULL */
    float *out;
    int64_t images, channels, height, width; /* of the data */
    int64_t filters, rows, columns;          /* of the result */
    int64_t pad_y, pad_x;
    int window, stride;
    float low, high;
} ndrt_direct_conv;

enum { NDRT_PACKED_CHANNELS = 16 }; /* of a block of the weights, which fill whole blocks */
enum { NDRT_DEPTHWISE_WINDOW = 3, NDRT_DEPTHWISE_ROWS = 4, NDRT_SEPARABLE_STRIDE = 2 };
/* Rows of the expanded image that a separable convolution needs at a time for so many of its own.
 */
int64_t ndrt_separable_ring(int64_t height, int64_t rows, int64_t stride);

/* Up to NDRT_DEPTHWISE_ROWS rows of the result, all channels, by this thread. `read`: the rows that
 * they read, NULL for padding; `out`: where each goes. */
void ndrt_depthwise_rows(const ndrt_direct_conv *job, const float *const *read, float *const *out,
                         int rows);
void ndrt_depthwise(const ndrt_direct_conv *job, int nthreads);
void ndrt_few_channels(const ndrt_direct_conv *job, int nthreads);

#endif
