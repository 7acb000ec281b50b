/* Between numbers of 8 bits, int32 sums and floats, element by element. */
#include <float.h>
#include <limits.h>

#include "kernels/ndrt_bytes.h"
#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

#define TO_BYTES(name, from, to, rounded)                                                          \
    static void name(to *out, const from *in, int64_t n, float scale) {                            \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) out[i] =                               \
            rounded((float)in[i] * scale);                                                         \
    }
TO_BYTES(s8_of_f32, float, int8_t, ndrt_to_s8)
TO_BYTES(u8_of_f32, float, uint8_t, ndrt_to_u8)
TO_BYTES(s8_of_s32, int32_t, int8_t, ndrt_to_s8)
TO_BYTES(u8_of_s32, int32_t, uint8_t, ndrt_to_u8)
TO_BYTES(s8_of_s8, int8_t, int8_t, ndrt_to_s8)
TO_BYTES(u8_of_s8, int8_t, uint8_t, ndrt_to_u8)
TO_BYTES(s8_of_u8, uint8_t, int8_t, ndrt_to_s8)
TO_BYTES(u8_of_u8, uint8_t, uint8_t, ndrt_to_u8)

static void to_bytes(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_to_bytes_args job = ndrt_read_to_bytes(call);
    const float scale = job.scale ? *job.scale : job.factor;
    const int64_t n = to - from;
    int8_t *s8 = (int8_t *)job.out + from;
    uint8_t *u8 = (uint8_t *)job.out + from;
#define FROM(name, type)                                                                           \
    {                                                                                              \
        const type *in = (const type *)job.data + from;                                            \
        if (job.is_signed)                                                                         \
            s8_of_##name(s8, in, n, scale);                                                        \
        else                                                                                       \
            u8_of_##name(u8, in, n, scale);                                                        \
        return;                                                                                    \
    }
    switch (job.kind) {
    case NDRT_F32: FROM(f32, float)
    case NDRT_S32: FROM(s32, int32_t)
    case NDRT_S8: FROM(s8, int8_t)
    default: FROM(u8, uint8_t)
    }
#undef FROM
}

static void join_bytes(kernel_call *call, int nthreads) {
    const ndrt_join_bytes_args job = ndrt_read_join_bytes(call);
    const float scale = *job.scale;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t r = 0; r < job.rows; r++) {
        const int64_t at = r * job.width, to = r * job.columns + job.first;
        const int8_t *s8 = (const int8_t *)job.data + at;
        const uint8_t *u8 = (const uint8_t *)job.data + at;
        if (job.is_signed && job.is_data_signed)
            s8_of_s8((int8_t *)job.out + to, s8, job.width, scale);
        else if (job.is_signed)
            s8_of_u8((int8_t *)job.out + to, u8, job.width, scale);
        else if (job.is_data_signed)
            u8_of_s8((uint8_t *)job.out + to, s8, job.width, scale);
        else
            u8_of_u8((uint8_t *)job.out + to, u8, job.width, scale);
    }
}

/* Of uint8 what int8 makes of the same range. */
INLINED float signed_of_u8(uint8_t x) { return ndrt_to_s8((float)x * (127.5f / 255.5f)); }

/* `count` numbers of one channel each, or where `is_one` all of one. */
INLINED void norm_row(int8_t *out, const void *data, int64_t at, int64_t count,
                      const float *factors, const float *shifts, const int is_one,
                      const int is_signed) {
    const int8_t *s8 = (const int8_t *)data + at;
    const uint8_t *u8 = (const uint8_t *)data + at;
    const float factor = *factors, shift = *shifts;
    out += at;
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        const float x = is_signed ? s8[i] : signed_of_u8(u8[i]);
        out[i] = ndrt_to_s8(x * (is_one ? factor : factors[i]) + (is_one ? shift : shifts[i]));
    }
}

static void norm_bytes(kernel_call *call, int nthreads) {
    const ndrt_norm_bytes_args job = ndrt_read_norm_bytes(call);
    const int is_last = job.inner == 1;
    const int64_t rows = is_last ? job.outer : job.outer * job.channels;
    const int64_t width = is_last ? job.channels : job.inner;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t c = is_last ? 0 : r % job.channels;
        const float *factors = job.factors + c, *shifts = job.shifts + c;
        if (is_last && job.is_signed)
            norm_row(job.out, job.data, r * width, width, factors, shifts, 0, 1);
        else if (is_last)
            norm_row(job.out, job.data, r * width, width, factors, shifts, 0, 0);
        else if (job.is_signed)
            norm_row(job.out, job.data, r * width, width, factors, shifts, 1, 1);
        else
            norm_row(job.out, job.data, r * width, width, factors, shifts, 1, 0);
    }
}

static void from_bytes(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_from_bytes_args job = ndrt_read_from_bytes(call);
    const int8_t *s8 = job.data;
    const uint8_t *u8 = job.data;
    float *out = job.out, step = *job.step;
    if (job.is_signed) {
#pragma omp simd
        for (int64_t i = from; i < to; i++) out[i] = s8[i] * step;
    } else {
#pragma omp simd
        for (int64_t i = from; i < to; i++) out[i] = u8[i] * step;
    }
}

INLINED int8_t s8_again(float sum, float scale) {
    return ndrt_to_s8((float)ndrt_to_s32(sum) * scale);
}
INLINED int8_t relu_again(float sum, float scale) {
    const int8_t whole = s8_again(sum, scale);
    return whole > 0 ? whole : 0;
}
INLINED uint8_t u8_again(float sum, float scale) {
    return ndrt_to_u8((float)ndrt_to_s32(sum) * scale);
}

/* Terms and sums of so many elements at a time: there is one loop for each kind of term, and one
 * for each of the sum. */
enum { TERMS = 512 };

static void scaled_term(float *out, const void *data, int64_t from, int n, int is_signed,
                        float scale) {
    const int8_t *s8 = (const int8_t *)data + from;
    const uint8_t *u8 = (const uint8_t *)data + from;
    if (is_signed) {
#pragma omp simd
        for (int i = 0; i < n; i++) out[i] = s8[i] * scale;
    } else {
#pragma omp simd
        for (int i = 0; i < n; i++) out[i] = u8[i] * scale;
    }
}

#define SUM(name, to, rounded)                                                                     \
    static void name(void *result, const float *x, const float *y, int n, float scale) {           \
        to *out = result;                                                                          \
        (void)scale;                                                                               \
        _Pragma("omp simd") for (int i = 0; i < n; i++) {                                          \
            const float sum = x[i] + y[i];                                                         \
            out[i] = rounded;                                                                      \
        }                                                                                          \
    }
SUM(sum_s8, int8_t, ndrt_to_s8(sum))
SUM(sum_u8, uint8_t, ndrt_to_u8(sum))
SUM(sum_s32, int32_t, ndrt_to_s32(sum))
SUM(sum_s8_again, int8_t, s8_again(sum, scale))
SUM(sum_relu_again, int8_t, relu_again(sum, scale))
SUM(sum_u8_again, uint8_t, u8_again(sum, scale))

typedef void sum_terms(void *result, const float *x, const float *y, int n, float scale);

static sum_terms *form_of(const ndrt_sum_bytes_args *job) {
    if (!job->scale)
        return job->kind == NDRT_S32 ? sum_s32 : job->kind == NDRT_S8 ? sum_s8 : sum_u8;
    if (job->kind == NDRT_U8) return sum_u8_again;
    return job->rectify ? sum_relu_again : sum_s8_again;
}

static void sum_bytes(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_sum_bytes_args job = ndrt_read_sum_bytes(call);
    sum_terms *sum = form_of(&job);
    const float scale = job.scale ? *job.scale : 1.0f;
    const int64_t size = job.kind == NDRT_S32 ? (int64_t)sizeof(int32_t) : 1;
    float x[TERMS], y[TERMS];
    for (int64_t at = from; at < to; at += TERMS) {
        const int n = to - at < TERMS ? (int)(to - at) : TERMS;
        scaled_term(x, job.left, at, n, job.left_signed, *job.left_scale);
        scaled_term(y, job.right, at, n, job.right_signed, *job.right_scale);
        sum((char *)job.out + at * size, x, y, n, scale);
    }
}

static void multiply_bytes(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_multiply_bytes_args job = ndrt_read_multiply_bytes(call);
    const int8_t *x = job.left, *y = job.right;
    if (job.kind == NDRT_S32) {
        int32_t *out = job.out;
#pragma omp simd
        for (int64_t i = from; i < to; i++) out[i] = x[i] * y[i];
        return;
    }
    const float scale = *job.scale;
    if (job.kind == NDRT_F32) {
        float *out = job.out;
#pragma omp simd
        for (int64_t i = from; i < to; i++) out[i] = (float)(x[i] * y[i]) * scale;
    } else {
        int8_t *out = job.out;
#pragma omp simd
        for (int64_t i = from; i < to; i++)
            out[i] = ndrt_to_s8(truncf((float)(x[i] * y[i]) * scale));
    }
}

static void relu_bytes(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_relu_bytes_args job = ndrt_read_relu_bytes(call);
    int8_t *out = job.out;
    const int8_t *in = job.data;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = in[i] > 0 ? in[i] : 0;
}

/* ---- the least and the greatest ---------------------------------------------------------------
 */

enum { STRIP = 4096, LANES = 64 };

typedef struct {
    float least, greatest;
} ends;

static ends taken_in(ends a, ends b) {
    return (ends){b.least < a.least ? b.least : a.least,
                  b.greatest > a.greatest ? b.greatest : a.greatest};
}

/* A comparison with NaN is false: what was found stays. */
static ends extent_of_floats(const float *in, int64_t n, ends found) {
    float least[LANES], greatest[LANES];
    for (int j = 0; j < LANES; j++) {
        least[j] = found.least;
        greatest[j] = found.greatest;
    }
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (int j = 0; j < LANES; j++) {
            least[j] = in[i + j] < least[j] ? in[i + j] : least[j];
            greatest[j] = in[i + j] > greatest[j] ? in[i + j] : greatest[j];
        }
    }
    for (int j = 0; j < LANES; j++) found = taken_in(found, (ends){least[j], greatest[j]});
    for (; i < n; i++) found = taken_in(found, (ends){in[i], in[i]});
    return found;
}

/* Rounding to float keeps the order. */
static ends extent_of_sums(const int32_t *in, int64_t n, ends found) {
    int32_t least = INT32_MAX, greatest = INT32_MIN;
#pragma omp simd reduction(min : least) reduction(max : greatest)
    for (int64_t i = 0; i < n; i++) {
        least = in[i] < least ? in[i] : least;
        greatest = in[i] > greatest ? in[i] : greatest;
    }
    return taken_in(found, (ends){(float)least, (float)greatest});
}

static void extent(kernel_call *call, int nthreads) {
    const ndrt_extent_args job = ndrt_read_extent(call);
    const int is_float = job.kind == NDRT_F32;
    const ends none = is_float ? (ends){FLT_MAX, -FLT_MAX} : (ends){0.0f, 0.0f};
    const int64_t strips = (job.n + STRIP - 1) / STRIP;
    float least = none.least, greatest = none.greatest;
#pragma omp parallel for schedule(static) num_threads(nthreads) reduction(min : least)             \
    reduction(max : greatest)
    for (int64_t s = 0; s < strips; s++) {
        const int64_t from = s * STRIP, left = job.n - from, n = left < STRIP ? left : STRIP;
        const ends found = is_float ? extent_of_floats((const float *)job.data + from, n, none)
                                    : extent_of_sums((const int32_t *)job.data + from, n, none);
        least = found.least < least ? found.least : least;
        greatest = found.greatest > greatest ? found.greatest : greatest;
    }
    *job.least = least;
    *job.greatest = greatest;
}

/* ---- the family -------------------------------------------------------------------------------
 */

typedef struct {
    int64_t n;
    int arrays, is_known; /* is_known: the kinds are */
} demands;

static int is_byte(int kind) { return kind == NDRT_S8 || kind == NDRT_U8; }

static demands demands_of(kernel_call *call) {
    switch (call->kernel) {
    case NDRT_KERNEL_TO_BYTES: {
        const ndrt_to_bytes_args job = ndrt_read_to_bytes(call);
        const int is_known = job.kind == NDRT_F32 || job.kind == NDRT_S32 || is_byte(job.kind);
        return (demands){job.n, 2, is_known};
    }
    case NDRT_KERNEL_JOIN_BYTES: {
        const ndrt_join_bytes_args job = ndrt_read_join_bytes(call);
        const int64_t sizes[] = {job.width, job.first, job.columns - job.first - job.width};
        for (int i = 0; i < 3; i++)
            if (sizes[i] < 0) return (demands){-1, 3, 1};
        const int64_t room = ndrt_product(job.rows, job.columns, 1);
        return (demands){room < 0 ? -1 : job.rows * job.width, 3, 1};
    }
    case NDRT_KERNEL_NORM_BYTES: {
        const ndrt_norm_bytes_args job = ndrt_read_norm_bytes(call);
        return (demands){ndrt_product(job.outer, job.channels, job.inner), 4, 1};
    }
    case NDRT_KERNEL_FROM_BYTES: return (demands){ndrt_read_from_bytes(call).n, 3, 1};
    case NDRT_KERNEL_SUM_BYTES: {
        const ndrt_sum_bytes_args job = ndrt_read_sum_bytes(call);
        return (demands){job.n, 5, is_byte(job.kind) || (job.kind == NDRT_S32 && !job.scale)};
    }
    case NDRT_KERNEL_MULTIPLY_BYTES: {
        const ndrt_multiply_bytes_args job = ndrt_read_multiply_bytes(call);
        const int is_known = job.kind == NDRT_S32 || job.kind == NDRT_F32 || job.kind == NDRT_S8;
        return (demands){job.n, job.kind == NDRT_S32 ? 3 : 4, is_known};
    }
    case NDRT_KERNEL_RELU_BYTES: return (demands){ndrt_read_relu_bytes(call).n, 2, 1};
    default: {
        const ndrt_extent_args job = ndrt_read_extent(call);
        return (demands){job.n, job.n ? 3 : 2, job.kind == NDRT_F32 || job.kind == NDRT_S32};
    }
    }
}

static ndrt_status check(kernel_call *call) {
    const demands d = demands_of(call);
    if (call->nthreads < 0 || d.n < 0)
        return ndrt_fail(NDRT_INVALID, "bytes: %lld elements, %d threads", (long long)d.n,
                         call->nthreads);
    if (!d.is_known) return ndrt_fail(NDRT_INVALID, "bytes: a kind that there is no form for");
    return d.n || call->kernel == NDRT_KERNEL_EXTENT ? ndrt_need_arrays(call, d.arrays) : NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, demands_of(call).n); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    const int64_t n = demands_of(call).n;
    switch (call->kernel) {
    case NDRT_KERNEL_TO_BYTES: ndrt_share_out(to_bytes, call, n, nthreads); break;
    case NDRT_KERNEL_JOIN_BYTES: join_bytes(call, nthreads); break;
    case NDRT_KERNEL_NORM_BYTES: norm_bytes(call, nthreads); break;
    case NDRT_KERNEL_FROM_BYTES: ndrt_share_out(from_bytes, call, n, nthreads); break;
    case NDRT_KERNEL_SUM_BYTES: ndrt_share_out(sum_bytes, call, n, nthreads); break;
    case NDRT_KERNEL_MULTIPLY_BYTES: ndrt_share_out(multiply_bytes, call, n, nthreads); break;
    case NDRT_KERNEL_RELU_BYTES: ndrt_share_out(relu_bytes, call, n, nthreads); break;
    default: extent(call, nthreads);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_bytes = {"bytes", check, threads, execute};
