/* Maxima and averages of windows over numbers of 8 bits, lanes side by side. */
#include <immintrin.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_pool_bytes_args pooling;

enum { AXES = 3, STRIP = 128 };
static const int64_t LEAST_REFUSED = (int64_t)1 << 31;       /* products of two sides are numbers */
static const int64_t LEAST_WINDOW_REFUSED = INT32_MAX / 255; /* sums of windows are int32 */

/* The part of a window that is data, along an axis: places of the data. */
typedef struct {
    int64_t from, to;
} span;

static span met(const pooling *job, int axis, int64_t window) {
    const int64_t first = window * job->stride[axis] - job->pad[axis];
    const int64_t end = first + job->kernel[axis], side = job->sides[axis];
    const span s = {first < 0 ? 0 : first, end < side ? end : side};
    return s.from < s.to ? s : (span){0, 0};
}

typedef struct {
    const uint8_t *data; /* of an image */
    span z, y, x;
    float size; /* what a sum is divided by */
} window;

#ifdef __AVX512BW__
typedef __m512i vector;
INLINED vector all_8(int x) { return _mm512_set1_epi8((char)x); }
INLINED vector load(const void *at) { return _mm512_loadu_si512(at); }
INLINED void store(void *at, vector x) { _mm512_storeu_si512(at, x); }
INLINED vector greater(vector a, vector b, const int is_signed) {
    return is_signed ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
}
#else
typedef __m256i vector;
INLINED vector all_8(int x) { return _mm256_set1_epi8((char)x); }
INLINED vector load(const void *at) { return _mm256_loadu_si256((const __m256i *)at); }
INLINED void store(void *at, vector x) { _mm256_storeu_si256((__m256i *)at, x); }
INLINED vector greater(vector a, vector b, const int is_signed) {
    return is_signed ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b);
}
#endif
enum { VECTOR = sizeof(vector) };

/* Vectors of lanes from `lane` on; how many, and `is_signed`, are constants where this is inlined.
 */
INLINED void whole_maxima(const pooling *job, const window *w, int64_t lane, const int count,
                          uint8_t *out, const int is_signed) {
    vector best[STRIP / VECTOR];
#pragma GCC unroll 4
    for (int v = 0; v < count; v++) best[v] = all_8(is_signed ? SCHAR_MIN : 0);
    for (int64_t z = w->z.from; z < w->z.to; z++)
        for (int64_t y = w->y.from; y < w->y.to; y++) {
            const uint8_t *in =
                w->data + ((z * job->sides[1] + y) * job->sides[2] + w->x.from) * job->lanes + lane;
            for (int64_t x = w->x.from; x < w->x.to; x++, in += job->lanes)
#pragma GCC unroll 4
                for (int v = 0; v < count; v++)
                    best[v] = greater(best[v], load(in + v * VECTOR), is_signed);
        }
#pragma GCC unroll 4
    for (int v = 0; v < count; v++) store(out + v * VECTOR, best[v]);
}

/* `n` lanes from `lane` on, fewer than a vector has. */
INLINED void few_maxima(const pooling *job, const window *w, int64_t lane, int n, uint8_t *out,
                        const int is_signed) {
    uint8_t best[VECTOR];
    memset(best, is_signed ? SCHAR_MIN : 0, (size_t)n);
    for (int64_t z = w->z.from; z < w->z.to; z++)
        for (int64_t y = w->y.from; y < w->y.to; y++)
            for (int64_t x = w->x.from; x < w->x.to; x++) {
                const uint8_t *in =
                    w->data + ((z * job->sides[1] + y) * job->sides[2] + x) * job->lanes + lane;
                if (is_signed) {
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const int8_t a = (int8_t)in[i], b = (int8_t)best[i];
                        best[i] = (uint8_t)(a > b ? a : b);
                    }
                } else {
#pragma omp simd
                    for (int i = 0; i < n; i++) best[i] = in[i] > best[i] ? in[i] : best[i];
                }
            }
    memcpy(out, best, (size_t)n);
}

/* `n` lanes from `lane` on, up to STRIP; the last vector overlaps the one before it. */
INLINED void maxima(const pooling *job, const window *w, int64_t lane, int n, uint8_t *out,
                    const int is_signed) {
    const int over = n % VECTOR, rest = over ? n - VECTOR : 0;
    if (n == STRIP)
        whole_maxima(job, w, lane, STRIP / VECTOR, out, is_signed);
    else if (n < VECTOR)
        few_maxima(job, w, lane, n, out, is_signed);
    else {
        for (int at = 0; at + VECTOR <= n; at += VECTOR)
            whole_maxima(job, w, lane + at, 1, out + at, is_signed);
        if (over) whole_maxima(job, w, lane + rest, 1, out + rest, is_signed);
    }
}

INLINED void averages(const pooling *job, const window *w, int64_t lane, int n, uint8_t *out,
                      const int is_signed) {
    int32_t sums[STRIP];
    memset(sums, 0, sizeof sums);
    for (int64_t z = w->z.from; z < w->z.to; z++)
        for (int64_t y = w->y.from; y < w->y.to; y++)
            for (int64_t x = w->x.from; x < w->x.to; x++) {
                const uint8_t *in =
                    w->data + ((z * job->sides[1] + y) * job->sides[2] + x) * job->lanes + lane;
#pragma omp simd
                for (int i = 0; i < n; i++) sums[i] += is_signed ? (int8_t)in[i] : in[i];
            }
#pragma omp simd
    for (int i = 0; i < n; i++) out[i] = (uint8_t)(int32_t)rintf((float)sums[i] / w->size);
}

static void pool_window(const pooling *job, const window *w, uint8_t *out) {
    for (int64_t lane = 0; lane < job->lanes; lane += STRIP) {
        const int64_t left = job->lanes - lane;
        const int n = left < STRIP ? (int)left : STRIP;
        if (job->is_max && job->is_signed)
            maxima(job, w, lane, n, out + lane, 1);
        else if (job->is_max)
            maxima(job, w, lane, n, out + lane, 0);
        else if (job->is_signed)
            averages(job, w, lane, n, out + lane, 1);
        else
            averages(job, w, lane, n, out + lane, 0);
    }
}

/* Lines of the result, counted through. */
static void pool_lines(const pooling *job, int64_t from, int64_t to) {
    const int64_t *count = job->windows;
    const int64_t image = job->sides[0] * job->sides[1] * job->sides[2] * job->lanes;
    const float whole = (float)(job->kernel[0] * job->kernel[1] * job->kernel[2]);
    for (int64_t i = from; i < to; i++) {
        window w = {.data = (const uint8_t *)job->data + i / count[1] / count[0] * image,
                    .z = met(job, 0, i / count[1] % count[0]),
                    .y = met(job, 1, i % count[1]),
                    .size = whole};
        uint8_t *out = (uint8_t *)job->out + i * count[2] * job->lanes;
        for (int64_t x = 0; x < count[2]; x++, out += job->lanes) {
            w.x = met(job, 2, x);
            if (!job->includes_pad) {
                const int64_t size =
                    (w.z.to - w.z.from) * (w.y.to - w.y.from) * (w.x.to - w.x.from);
                w.size = size ? (float)size : 1.0f;
            }
            pool_window(job, &w, out);
        }
    }
}

/* ---- the family -------------------------------------------------------------------------------
 */

static int64_t product_of(const int64_t *n, int64_t times) {
    return ndrt_product(ndrt_product(n[0], n[1], n[2]), times, 1);
}

static int64_t made(const pooling *job) {
    return product_of(job->windows, ndrt_product(job->outer, job->lanes, 1));
}

static int is_sound(const pooling *job) {
    for (int i = 0; i < AXES; i++) {
        const int64_t lengths[] = {job->sides[i], job->windows[i], job->pad[i], job->kernel[i] - 1,
                                   job->stride[i] - 1};
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++)
            if (lengths[j] < 0 || lengths[j] >= LEAST_REFUSED - 1) return 0;
    }
    const int64_t kernel = product_of(job->kernel, 1);
    return kernel > 0 && kernel < LEAST_WINDOW_REFUSED && made(job) >= 0 &&
           product_of(job->sides, ndrt_product(job->outer, job->lanes, 1)) >= 0;
}

static ndrt_status check(kernel_call *call) {
    const pooling job = ndrt_read_pool_bytes(call);
    if (call->nthreads < 0 || !is_sound(&job))
        return ndrt_fail(NDRT_INVALID, "byte pool: a number is out of range");
    return made(&job) ? ndrt_need_arrays(call, 2) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const pooling job = ndrt_read_pool_bytes(call);
    return ndrt_team_for(call, ndrt_product(made(&job), product_of(job.kernel, 1), 1));
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const pooling job = ndrt_read_pool_bytes(call);
    const int64_t n = made(&job) ? job.outer * job.windows[0] * job.windows[1] : 0;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) pool_lines(&job, n * i / nthreads, n * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_byte_pool = {"byte pool", check, threads, execute};
