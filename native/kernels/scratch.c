/* How much scratch kernels need, which Python asks before a call. */
#include "kernels/conv/ndrt_direct_conv.h"
#include "kernels/conv/ndrt_whole_depthwise.h"
#include "kernels/gemm/ndrt_blocked_gemm.h"
#include "kernels/gemm/ndrt_byte_products.h"
#include "kernels/gemm/ndrt_whole_layout.h"
#include "kernels/ndrt_levels.h"
#include "kernels/rnn/ndrt_byte_lstm.h"

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

int64_t ndrt_whole_packed(const int64_t *window, int64_t channels, int64_t filters,
                          int64_t groups) {
    if (!ndrt_are_counts(window, 1) || !ndrt_is_count(channels, 1) || !ndrt_is_count(filters, 1) ||
        !ndrt_is_count(groups, 1) || filters % groups ||
        !ndrt_whole_layout_fits(window, channels, filters, groups))
        return 0;
    const ndrt_whole_layout l = ndrt_whole_layout_of(window, channels, filters / groups, groups);
    return ndrt_whole_bytes(&l);
}

int64_t ndrt_whole_scratch(const int64_t *window, int64_t channels) {
    if (!ndrt_are_counts(window, 1) || !ndrt_is_count(channels, 1) ||
        !ndrt_whole_layout_fits(window, channels, 1, 1))
        return 0;
    const ndrt_whole_layout l = ndrt_whole_layout_of(window, channels, 1, 1);
    if (ndrt_cpu_has(NDRT_HAS_AVX512_VNNI)) return ndrt_indirect_scratch(window, channels, &l);
    /* two chunks are copied at a time */
    const int64_t chunks = ndrt_whole_padded(l.chunks, 2);
    const int64_t rows = ndrt_whole_panel(chunks), tiles = rows / NDRT_WHOLE_TILE;
    return (NDRT_WHOLE_MOST_TILE * (chunks + 2) + rows * chunks) * NDRT_WHOLE_CHUNK +
           tiles * chunks * NDRT_WHOLE_BOUNDS * (int64_t)sizeof(int32_t) +
           tiles * l.pairs * 2 * (int64_t)sizeof(int16_t);
}

int64_t ndrt_whole_depthwise_scratch(int64_t channels, int64_t places) {
    if (!ndrt_is_count(channels, 1) || places < 1 || places > NDRT_WHOLE_PLACES) return 0;
    if (ndrt_cpu_has(NDRT_HAS_AVX512_VNNI))
        return ndrt_depthwise_blocks(channels) * ndrt_depthwise_block(places) + channels;
    const int64_t padded = ndrt_whole_padded(channels, NDRT_WHOLE_BLOCK), pairs = (places + 1) / 2;
    return padded * ((int64_t)sizeof(int32_t) + pairs * 2 * (int64_t)sizeof(int16_t)) + channels;
}

int64_t ndrt_blocked_scratch(int64_t rows, int64_t depth, int64_t columns, int64_t slots) {
    const int64_t most = INT64_MAX / 1024;
    if (rows < 1 || depth < 1 || columns < 1 || slots < 1 || rows > most || depth > most ||
        columns > most)
        return 0;
    const int64_t all = ndrt_product(ndrt_blocked_numbers(rows, depth, columns, slots), slots, 1);
    return all < 0 ? 0 : all;
}

int64_t ndrt_byte_products_scratch(int64_t columns, int64_t depth) {
    return ndrt_byte_room(columns, depth) * (int64_t)sizeof(int16_t);
}

int64_t ndrt_byte_lstm_packed(int64_t size) {
    return ndrt_lstm_packed(size, ndrt_level_of_cpu()->lanes);
}

int64_t ndrt_byte_lstm_scratch(int64_t size, int64_t batch) {
    return ndrt_lstm_scratch(size, batch);
}
