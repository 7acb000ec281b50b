/* How much scratch kernels need, which Python asks before a call. */
#include "kernels/conv/ndrt_direct_conv.h"

int64_t ndrt_topk_candidates(int64_t n, int64_t k) {
    if (k >= n / 2) return n;
    int64_t cap = k + (k > NDRT_TOPK_FEW ? k : NDRT_TOPK_FEW);
    return cap < n ? cap : n;
}

int64_t ndrt_topk_pairs(int64_t n, int64_t k) { return 2 * ndrt_topk_candidates(n, k); }

enum { WINDOW = NDRT_DEPTHWISE_WINDOW, MOST_ROWS = NDRT_DEPTHWISE_ROWS };

/* Sides and channels are less than this: products of two of them are numbers. */
static const int64_t LEAST_REFUSED = (int64_t)1 << 31;

int64_t ndrt_separable_ring(int64_t height, int64_t rows, int64_t stride) {
    const int64_t at_a_time = rows < MOST_ROWS ? rows : MOST_ROWS;
    const int64_t most = (at_a_time - 1) * stride + WINDOW;
    return most < height ? most : height;
}

int64_t ndrt_separable_scratch(int64_t between, const int64_t *data, const int64_t *out,
                               int64_t stride) {
    if (between < 1 || between >= LEAST_REFUSED || stride < 1 || stride > NDRT_SEPARABLE_STRIDE)
        return 0;
    for (int i = 0; i < 2; i++)
        if (data[i] < 1 || data[i] >= LEAST_REFUSED || out[i] < 1 || out[i] >= LEAST_REFUSED)
            return 0;
    const int64_t band = (out[0] < MOST_ROWS ? out[0] : MOST_ROWS) * out[1];
    const int64_t pixels = ndrt_separable_ring(data[0], out[0], stride) * data[1] + band;
    const int64_t numbers = ndrt_product(pixels, between, sizeof(float));
    return numbers < 0 ? 0 : numbers / (int64_t)sizeof(float);
}
