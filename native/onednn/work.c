/* Estimates the work of a primitive before it is made, to decide whether a team of threads pays. */
#include <limits.h>

#include "ndrt_onednn.h"

/* The unit of work is an element of an elementwise operator. In its time a thread does
 * MULTIPLICATIONS of a small product, or reads READ elements of weights; an element of local
 * response normalization takes LRN times as long, for its powers. */
enum { MULTIPLICATIONS = 16, READ = 4, LRN = 8 };
/* A time step of a recurrent layer is a few parallel regions: a product or two, and the gates.
 * Gradients of filters and batch normalization synchronize the team many times within one region,
 * by oneDNN's own barriers, which spin without a limit. */
enum { REGIONS = 4, MEETINGS_OF_FILTERS = 16, MEETINGS_OF_NORM = 8 };

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Saturates: products of the user's sizes may overflow. */
static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t ndrt_product_work(int64_t multiplications, int64_t elements) {
    return larger(multiplications / MULTIPLICATIONS, elements / READ);
}

static int64_t nelems(const ndrt_desc *desc) { return desc ? ndrt_desc_read(desc)->nelems : 0; }

static const ndrt_desc *either(const ndrt_desc *desc, const ndrt_desc *diff) {
    return desc ? desc : diff;
}

int64_t ndrt_biggest_of(const ndrt_spec *spec) {
    int64_t biggest = larger(nelems(spec->src), nelems(spec->weights));
    biggest = larger(biggest, nelems(spec->dst));
    biggest = larger(biggest, larger(nelems(spec->diff_src), nelems(spec->diff_dst)));
    int64_t sources = 0;
    for (int i = 0; i < spec->nsrcs; i++) sources += nelems(spec->srcs[i]);
    return larger(biggest, sources);
}

/* Each pixel at the centre of a window is multiplied by all weights. */
static int64_t of_windows(const ndrt_spec *spec, const ndrt_desc *centres) {
    const ndrt_desc *weights = either(spec->weights, spec->diff_weights);
    if (!centres || !weights || ndrt_desc_read(centres)->ndims < 2) return INT64_MAX;
    const int64_t channels = ndrt_desc_read(centres)->dims[1];
    const int64_t pixels = channels ? nelems(centres) / channels : 0;
    const int64_t elements = larger(ndrt_biggest_of(spec), nelems(weights));
    const int64_t work = ndrt_product_work(times(pixels, nelems(weights)), elements);
    return spec->direction == NDRT_BACKWARD_WEIGHTS ? work / MEETINGS_OF_FILTERS : work;
}

/* Each sample is multiplied by each row of the weights. */
static int64_t of_inner_product(const ndrt_spec *spec) {
    const ndrt_desc *weights = either(spec->weights, spec->diff_weights);
    const ndrt_desc *out = either(spec->dst, spec->diff_dst);
    if (!weights || !out) return INT64_MAX;
    const int64_t elements = larger(ndrt_biggest_of(spec), nelems(weights));
    return ndrt_product_work(times(ndrt_desc_read(out)->dims[0], nelems(weights)), elements);
}

static int64_t of_matmul(const ndrt_spec *spec) {
    const ndrt_desc_info *src = spec->src ? ndrt_desc_read(spec->src) : NULL;
    if (!src || !spec->dst || src->ndims < 1) return INT64_MAX;
    return ndrt_product_work(times(nelems(spec->dst), src->dims[src->ndims - 1]),
                             ndrt_biggest_of(spec));
}

static int64_t of_pooling(const ndrt_spec *spec) {
    int64_t window = 1;
    for (int i = 0; i < spec->nspatial && i < NDRT_MAX_SPATIAL; i++)
        window = times(window, spec->kernel[i]);
    const int64_t read = times(nelems(either(spec->dst, spec->diff_dst)), window);
    return larger(ndrt_biggest_of(spec), read);
}

/* The work of a time step between two synchronizations. Weights have dims[0] layers and dims[1]
 * directions, which run one after the other. */
static int64_t of_recurrent(const ndrt_spec *spec) {
    const ndrt_desc_info *src = spec->src ? ndrt_desc_read(spec->src) : NULL;
    const ndrt_desc_info *weights = spec->weights ? ndrt_desc_read(spec->weights) : NULL;
    if (!src || !weights || src->ndims < 2 || weights->ndims < 2) return INT64_MAX;
    const int64_t all =
        weights->nelems + nelems(spec->weights_iter) + nelems(spec->weights_projection);
    const int64_t cells = larger(1, times(weights->dims[0], weights->dims[1]));
    const int passes = ndrt_is_forward(spec->direction) ? 1 : 2;
    const int64_t each = all / cells * passes / REGIONS;
    return ndrt_product_work(times(src->dims[1], each), each);
}

static int64_t of_batch_norm(const ndrt_spec *spec) {
    const int meets = spec->direction != NDRT_FORWARD_INFERENCE;
    return ndrt_biggest_of(spec) / (meets ? MEETINGS_OF_NORM : 1);
}

int64_t ndrt_spec_work(const ndrt_spec *spec) {
    switch (spec->kind) {
    case NDRT_CONVOLUTION: return of_windows(spec, either(spec->dst, spec->diff_dst));
    case NDRT_DECONVOLUTION: return of_windows(spec, either(spec->src, spec->diff_src));
    case NDRT_INNER_PRODUCT: return of_inner_product(spec);
    case NDRT_MATMUL: return of_matmul(spec);
    case NDRT_POOLING: return of_pooling(spec);
    case NDRT_BATCH_NORM: return of_batch_norm(spec);
    case NDRT_LRN: return times(LRN, ndrt_biggest_of(spec));
    case NDRT_VANILLA_RNN:
    case NDRT_LSTM:
    case NDRT_LBR_GRU: return of_recurrent(spec);
    default: return ndrt_biggest_of(spec);
    }
}
