/* Windows of 8-bit numbers, a filter for each channel, by AVX-512 VNNI, which adds four products to
 * int32 at once: those of four places. What they meet is read where it is, or from a line that
 * stands for the padding. */
#include <immintrin.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "kernels/ndrt_vnni.h"
#include "ndrt_whole_depthwise.h"

typedef ndrt_whole_depthwise_args windows;

/* USUAL: quads of a window of 3x3 places. AT_ONCE: outputs for which the weights are read once. */
enum {
    CHANNELS = NDRT_QUAD_CHANNELS,
    QUAD = NDRT_QUAD_PLACES,
    VECTORS = 4,
    LANES = 16,
    USUAL = 3,
    AT_ONCE = 8,
    ABREAST = CHANNELS / LANES,            /* outputs in a vector, at most */
    MOST = (NDRT_WHOLE_PLACES + 7) / 8 * 8 /* pointers are made 8 at a time */
};

/* What threads share. */
typedef struct {
    const windows *job;
    const ndrt_finish *finish;
    const uint8_t *packed, *padding;
    int64_t offsets[MOST]; /* of the places of a window from its first one */
    int places, quads;
} convolution;

/* Numbers of four places of 64 channels side by side: the vectors of it have in their lanes of 128
 * bits 4 channels of each 16. */
typedef struct {
    __m512i vectors[VECTORS];
} quad;

INLINED quad quad_of(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab = _mm512_unpacklo_epi8(a, b), more_ab = _mm512_unpackhi_epi8(a, b);
    const __m512i cd = _mm512_unpacklo_epi8(c, d), more_cd = _mm512_unpackhi_epi8(c, d);
    return (quad){{_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd),
                   _mm512_unpacklo_epi16(more_ab, more_cd),
                   _mm512_unpackhi_epi16(more_ab, more_cd)}};
}

/* Sums of such channels, and back: vectors of 16 channels one behind the other. */
INLINED void reorder(__m512i sums[VECTORS]) {
    const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(sums[0], sums[1], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(sums[2], sums[3], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xdd);
    sums[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    sums[1] = _mm512_shuffle_i32x4(b, d, 0x88);
    sums[2] = _mm512_shuffle_i32x4(a, c, 0xdd);
    sums[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

/* Channels of a block from `at` on, in as many as a vector has for one output or for 2 or 4: of so
 * many outputs a vector holds the numbers side by side. */
INLINED int width_from(const windows *job, int64_t at) {
    const int64_t left = job->channels - at;
    return left > CHANNELS / 2 ? CHANNELS : left > LANES ? CHANNELS / 2 : LANES;
}

/* Those that there are. */
INLINED __mmask64 channels_from(const windows *job, int64_t at) {
    const int64_t left = job->channels - at;
    return left >= CHANNELS ? ~0ULL : (1ULL << left) - 1;
}

/* `width` channels of each output, from `at` on; it is a constant where this is inlined. */
INLINED __m512i numbers_of(const uint8_t *const *data, int64_t stride, int64_t at, __mmask64 some,
                           const int width) {
    if (width == CHANNELS) return _mm512_maskz_loadu_epi8(some, data[0] + at);
    if (width == CHANNELS / 2) {
        const __m256i a = _mm256_maskz_loadu_epi8((__mmask32)some, data[0] + at);
        const __m256i b = _mm256_maskz_loadu_epi8((__mmask32)some, data[stride] + at);
        return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    }
    __m128i few[CHANNELS / LANES];
#pragma GCC unroll 4
    for (int n = 0; n < CHANNELS / LANES; n++)
        few[n] = _mm_maskz_loadu_epi8((__mmask16)some, data[n * stride] + at);
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(few[0]), few[1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(few[2]), few[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* ---- weights -------------------------------------------------------------------------------- */

/* Of each block: what its sums begin with, where what stands for 0 is taken off, and its quads. */
static void pack(const windows *job, uint8_t *packed) {
    const int places = (int)(job->window[0] * job->window[1]);
    const int zero = (int)job->zero - (job->is_signed ? INT8_MIN : 0);
    for (int64_t at = 0; at < job->channels; at += CHANNELS) {
        const __mmask64 some = channels_from(job, at);
        const int width = width_from(job, at);
        __m512i sums[VECTORS];
        uint8_t *start = packed;
        for (int v = 0; v < VECTORS; v++) sums[v] = _mm512_setzero_si512();
        packed += CHANNELS * sizeof(int32_t);
        for (int k = 0; k < places; k += QUAD) {
            __m512i w[QUAD];
            for (int i = 0; i < QUAD; i++) {
                const uint8_t *from = (const uint8_t *)job->weights + (k + i) * job->channels;
                const uint8_t *outputs[1] = {from};
                w[i] = k + i >= places         ? _mm512_setzero_si512()
                       : width == CHANNELS     ? numbers_of(outputs, 0, at, some, CHANNELS)
                       : width == CHANNELS / 2 ? numbers_of(outputs, 0, at, some, CHANNELS / 2)
                                               : numbers_of(outputs, 0, at, some, LANES);
            }
            const quad q = quad_of(w[0], w[1], w[2], w[3]);
            for (int v = 0; v < VECTORS; v++, packed += sizeof(__m512i)) {
                _mm512_storeu_si512(packed, q.vectors[v]);
                sums[v] = ndrt_plus_quads(sums[v], _mm512_set1_epi8(1), q.vectors[v]);
            }
        }
        for (int v = 0; v < VECTORS; v++)
            _mm512_storeu_si512(start + v * (int)sizeof(__m512i),
                                _mm512_mullo_epi32(sums[v], _mm512_set1_epi32(-zero)));
    }
}

/* ---- outputs -------------------------------------------------------------------------------- */

typedef const uint8_t *places[MOST];

/* A block of outputs one behind the other, from `at` on; the numbers of quads and channels are
 * constants where this is inlined, and so is much of what is done with the sums. */
INLINED void compute_block(const convolution *c, const ndrt_finish *f, const places *data,
                           int count, int64_t block, int64_t at, const int quads, const int width) {
    const windows *job = c->job;
    const int64_t first = block * CHANNELS;
    const int abreast = CHANNELS / width;
    const __mmask64 some = channels_from(job, first);
    const __m512i turn = _mm512_set1_epi8(job->is_signed ? INT8_MIN : 0);
    const uint8_t *packed = c->packed + block * ndrt_depthwise_block(c->places);
    ndrt_finish_of_columns of[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < width / LANES; v++)
        of[v] = ndrt_finish_columns(f, first + v * LANES, (__mmask16)(some >> v * LANES));
    for (int n = 0; n < count; n += abreast, at += abreast * job->channels) {
        __m512i sums[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sums[v] = _mm512_loadu_si512(packed + v * (int)sizeof(__m512i));
        const uint8_t *w = packed + VECTORS * (int)sizeof(__m512i);
#pragma GCC unroll 3
        for (int k = 0; k < quads; k++) {
            __m512i x[QUAD];
#pragma GCC unroll 4
            for (int i = 0; i < QUAD; i++)
                x[i] = _mm512_xor_si512(
                    numbers_of(&data[n][k * QUAD + i], MOST, first, some, width), turn);
            const quad q = quad_of(x[0], x[1], x[2], x[3]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++, w += sizeof(__m512i))
                sums[v] = ndrt_plus_quads(sums[v], q.vectors[v], _mm512_loadu_si512(w));
        }
        reorder(sums);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            const int output = v * LANES / width, channel = v * LANES % width;
            const __mmask16 few = (__mmask16)(some >> channel);
            if (few && n + output < count)
                ndrt_finish_sum(f, &of[channel / LANES], sums[v],
                                at + output * job->channels + first + channel, few);
        }
    }
}

INLINED void compute_width(const convolution *c, const ndrt_finish *f, const places *data,
                           int count, int64_t block, int64_t at, const int width) {
    if (c->quads == USUAL)
        compute_block(c, f, data, count, block, at, USUAL, width);
    else
        compute_block(c, f, data, count, block, at, c->quads, width);
}

INLINED void compute_all(const convolution *c, const ndrt_finish *f, const places *data, int count,
                         int64_t at) {
    for (int64_t block = 0; block < ndrt_depthwise_blocks(c->job->channels); block++) {
        const int width = width_from(c->job, block * CHANNELS);
        if (width == CHANNELS)
            compute_width(c, f, data, count, block, at, CHANNELS);
        else if (width == CHANNELS / 2)
            compute_width(c, f, data, count, block, at, CHANNELS / 2);
        else
            compute_width(c, f, data, count, block, at, LANES);
    }
}

static void compute_outputs(const convolution *c, const places *data, int count, int64_t output) {
    const int64_t at = output * c->job->channels;
    const int kind = c->finish->added ? -1 : ndrt_usual_kind(c->finish);
    if (kind == NDRT_U8) {
        const ndrt_finish f = ndrt_usual(c->finish, NDRT_U8, 0);
        compute_all(c, &f, data, count, at);
    } else if (kind == NDRT_S8) {
        const ndrt_finish f = ndrt_usual(c->finish, NDRT_S8, 0);
        compute_all(c, &f, data, count, at);
    } else {
        compute_all(c, c->finish, data, count, at);
    }
}

/* What the places of the window of an output meet. Behind the last ones of a quad weights are 0. */
static void point_to(const convolution *c, int64_t image, int64_t y, int64_t x,
                     const uint8_t **to) {
    const windows *job = c->job;
    const int64_t bottom = y + (job->window[0] - 1) * job->dilate[0];
    const int64_t right = x + (job->window[1] - 1) * job->dilate[1];
    const int64_t first = ((image * job->height + y) * job->width + x) * job->channels;
    const uint8_t *data = job->data;
    if (y >= 0 && x >= 0 && bottom < job->height && right < job->width) {
        const __m512i start = _mm512_set1_epi64((int64_t)(data + first));
        for (int k = 0; k < c->places; k += 8)
            _mm512_storeu_si512(to + k,
                                _mm512_add_epi64(start, _mm512_loadu_si512(c->offsets + k)));
    } else {
        for (int64_t j = 0, k = 0; j < job->window[0]; j++) {
            const int64_t row = y + j * job->dilate[0];
            for (int64_t i = 0; i < job->window[1]; i++, k++) {
                const int64_t column = x + i * job->dilate[1];
                const int is_inside =
                    row >= 0 && row < job->height && column >= 0 && column < job->width;
                to[k] = is_inside ? data + first + c->offsets[k] : c->padding;
            }
        }
    }
    for (int k = c->places; k < c->quads * QUAD; k++) to[k] = c->padding;
}

/* `line`: one of images' rows of outputs. */
static void compute_line(const convolution *c, int64_t line) {
    const windows *job = c->job;
    places data[AT_ONCE];
    const int64_t image = line / job->rows;
    const int64_t y = line % job->rows * job->stride[0] - job->pad[0];
    for (int64_t column = 0; column < job->columns; column += AT_ONCE) {
        const int64_t left = job->columns - column;
        const int count = left < AT_ONCE ? (int)left : AT_ONCE;
        for (int n = 0; n < count; n++)
            point_to(c, image, y, (column + n) * job->stride[1] - job->pad[1], data[n]);
        /* what is computed beside the last ones */
        for (int n = count; n % ABREAST; n++)
            for (int k = 0; k < c->quads * QUAD; k++) data[n][k] = c->padding;
        compute_outputs(c, data, count, line * job->columns + column);
    }
}

void ndrt_indirect_depthwise(const windows *job, const ndrt_finish *finish, int nthreads) {
    const int places = (int)(job->window[0] * job->window[1]);
    const int64_t lines = job->images * job->rows;
    uint8_t *packed = job->scratch;
    uint8_t *padding = packed + ndrt_depthwise_blocks(job->channels) * ndrt_depthwise_block(places);
    convolution c = {.job = job,
                     .finish = finish,
                     .packed = packed,
                     .padding = padding,
                     .places = places,
                     .quads = (places + QUAD - 1) / QUAD};
    for (int k = 0; k < places; k++) {
        const int64_t row = k / job->window[1] * job->dilate[0];
        c.offsets[k] = (row * job->width + k % job->window[1] * job->dilate[1]) * job->channels;
    }
    pack(job, packed);
    memset(padding, (int)job->zero, (size_t)job->channels);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t line = 0; line < lines; line++) compute_line(&c, line);
}
