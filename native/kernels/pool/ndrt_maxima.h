/* What the kernels for max pooling share. */
#ifndef NDRT_MAXIMA_H
#define NDRT_MAXIMA_H

#include <stdint.h>

#include "kernels/ndrt_kernel.h"

enum { NDRT_MAXIMA_AXES = 3 };

/* Arrays are (outer, spatial axes, lanes). */
typedef struct {
    float *out;
    const float *data;
    void *places; /* of maxima in their windows, as oneDNN counts them; or NULL */
    int64_t outer, lanes;
    int64_t side[NDRT_MAXIMA_AXES], count[NDRT_MAXIMA_AXES]; /* of the data and of the windows */
    int64_t kernel[NDRT_MAXIMA_AXES], stride[NDRT_MAXIMA_AXES], pad[NDRT_MAXIMA_AXES];
    float low, high; /* of what is written by MAX_POOL */
    int is_bounded, places_dtype;
} ndrt_maxima;

ndrt_maxima ndrt_maxima_of(const ndrt_kernel_call *call);
int64_t ndrt_maxima_made(const ndrt_maxima *job); /* elements of the result; -1: more than can be */

/* The part of a window that is data, along an axis. */
typedef struct {
    int64_t first, from, to; /* where the window begins; places in it */
} ndrt_span;
static inline ndrt_span ndrt_span_of(const ndrt_maxima *job, int axis, int64_t window) {
    int64_t first = window * job->stride[axis] - job->pad[axis], left = job->side[axis] - first;
    return (ndrt_span){first, first < 0 ? -first : 0,
                       left < job->kernel[axis] ? left : job->kernel[axis]};
}

/* The maximum of the window of the result's element `at`: NaN where there is nothing but that, the
 * lowest finite number where there is no data. `place` becomes the first one that holds it, -1
 * where none does. */
float ndrt_maximum(const ndrt_maxima *job, int64_t at, int64_t *place);
void ndrt_max_pool(const ndrt_maxima *job, int nthreads);

#endif
