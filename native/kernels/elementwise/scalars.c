/* Arithmetic and comparisons of a number and an array of another dtype than float32.
 *
 * Whole numbers wrap around; comparisons give 0 and 1. Halves are computed in single precision and
 * rounded once. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { CHUNK = 16384, STRIP = 512 };

typedef void loop(void *to, const void *from, int64_t n, double number);

#define EACH(name, type, convert, expression)                                                      \
    static void name(void *to, const void *from, int64_t n, double number) {                       \
        type *out = to, p = convert(number);                                                       \
        const type *in = from;                                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                      \
            type x = in[i];                                                                        \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }
#define COMMON(suffix, type, sum, convert)                                                         \
    EACH(add_##suffix, type, convert, (sum)x + (sum)p)                                             \
    EACH(sub_##suffix, type, convert, (sum)x - (sum)p)                                             \
    EACH(from_##suffix, type, convert, (sum)p - (sum)x)                                            \
    EACH(mul_##suffix, type, convert, (sum)x *(sum)p)                                              \
    EACH(max_##suffix, type, convert, p >= x || p != p ? p : x)                                    \
    EACH(min_##suffix, type, convert, p <= x || p != p ? p : x)                                    \
    EACH(equal_##suffix, type, convert, x == p)                                                    \
    EACH(not_equal_##suffix, type, convert, x != p)                                                \
    EACH(greater_##suffix, type, convert, x > p)                                                   \
    EACH(greater_equal_##suffix, type, convert, x >= p)                                            \
    EACH(lesser_##suffix, type, convert, x < p)                                                    \
    EACH(lesser_equal_##suffix, type, convert, x <= p)                                             \
    EACH(both_##suffix, type, convert, x != 0 && p != 0)                                           \
    EACH(either_##suffix, type, convert, x != 0 || p != 0)                                         \
    EACH(one_##suffix, type, convert, (x != 0) != (p != 0))
#define COMMON_ROWS(suffix)                                                                        \
    [NDRT_FUNCTION_ADD] = add_##suffix, [NDRT_FUNCTION_SUB] = sub_##suffix,                        \
    [NDRT_FUNCTION_RSUB] = from_##suffix, [NDRT_FUNCTION_MUL] = mul_##suffix,                      \
    [NDRT_FUNCTION_MAX] = max_##suffix, [NDRT_FUNCTION_MIN] = min_##suffix,                        \
    [NDRT_FUNCTION_EQ] = equal_##suffix, [NDRT_FUNCTION_NE] = not_equal_##suffix,                  \
    [NDRT_FUNCTION_GT] = greater_##suffix, [NDRT_FUNCTION_GE] = greater_equal_##suffix,            \
    [NDRT_FUNCTION_LT] = lesser_##suffix, [NDRT_FUNCTION_LE] = lesser_equal_##suffix,              \
    [NDRT_FUNCTION_AND] = both_##suffix, [NDRT_FUNCTION_OR] = either_##suffix,                     \
    [NDRT_FUNCTION_XOR] = one_##suffix

/* What x86 makes of a double that an integer does not hold. */
static int32_t to_s32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
static int64_t to_s64(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }
static int8_t to_s8(double x) { return (int8_t)to_s32(x); }
static uint8_t to_u8(double x) { return (uint8_t)to_s32(x); }

static double modulo(double x, double y) {
    double rest = fmod(x, y);
    if (y == 0) return 0;
    return rest == 0 ? copysign(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
}

COMMON(f64, double, double, )
EACH(div_f64, double, , x / p)
EACH(over_x_f64, double, , p / x)
EACH(power_f64, double, , pow(x, p))
EACH(power_from_f64, double, , pow(p, x))
EACH(mod_f64, double, , modulo(x, p))
EACH(mod_from_f64, double, , modulo(p, x))
EACH(hypot_f64, double, , hypot(x, p))
COMMON(s64, int64_t, uint64_t, to_s64)
COMMON(s32, int32_t, uint32_t, to_s32)
COMMON(s8, int8_t, uint32_t, to_s8)
COMMON(u8, uint8_t, uint32_t, to_u8)

static loop *const of_f64[] = {
    COMMON_ROWS(f64),
    [NDRT_FUNCTION_DIV] = div_f64,
    [NDRT_FUNCTION_RDIV] = over_x_f64,
    [NDRT_FUNCTION_POWER] = power_f64,
    [NDRT_FUNCTION_POWER_FROM] = power_from_f64,
    [NDRT_FUNCTION_MOD] = mod_f64,
    [NDRT_FUNCTION_RMOD] = mod_from_f64,
    [NDRT_FUNCTION_HYPOT] = hypot_f64,
};
static loop *const of_s64[NDRT_FUNCTION_HYPOT + 1] = {COMMON_ROWS(s64)};
static loop *const of_s32[NDRT_FUNCTION_HYPOT + 1] = {COMMON_ROWS(s32)};
static loop *const of_s8[NDRT_FUNCTION_HYPOT + 1] = {COMMON_ROWS(s8)};
static loop *const of_u8[NDRT_FUNCTION_HYPOT + 1] = {COMMON_ROWS(u8)};

/* The half next to a number, as a float. What is rounded to single first keeps in its last bit
 * that it was rounded, so that it is not rounded to half from the middle. */
static float nearest_half(double x) {
    union {
        float value;
        uint32_t bits;
    } made = {.value = (float)x};
    if ((double)made.value != x && fabs(x) < 0x1p20) {
        if (fabs((double)made.value) > fabs(x)) made.bits--;
        made.bits |= 1;
    }
    return _cvtsh_ss(_cvtss_sh(made.value, _MM_FROUND_TO_NEAREST_INT));
}

static void halves(int which, uint16_t *out, const uint16_t *in, int64_t n, float p) {
    float strip[STRIP];
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t width = n - at < STRIP ? n - at : STRIP;
        int64_t i = 0;
        for (; i + 8 <= width; i += 8)
            _mm256_storeu_ps(strip + i,
                             _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + at + i))));
        for (; i < width; i++) strip[i] = _cvtsh_ss(in[at + i]);
        ndrt_function_of(which, strip, strip, width, p);
        for (i = 0; i + 8 <= width; i += 8)
            _mm_storeu_si128((__m128i *)(out + at + i), _mm256_cvtps_ph(_mm256_loadu_ps(strip + i),
                                                                        _MM_FROUND_TO_NEAREST_INT));
        for (; i < width; i++) out[at + i] = _cvtss_sh(strip[i], _MM_FROUND_TO_NEAREST_INT);
    }
}

/* NULL: there is none. */
static loop *loop_of(int kind, int which) {
    switch (kind) {
    case NDRT_F64: return of_f64[which];
    case NDRT_S32: return of_s32[which];
    case NDRT_S8: return of_s8[which];
    case NDRT_U8: return of_u8[which];
    case NDRT_INDEX_S64: return of_s64[which];
    default: return NULL;
    }
}

static size_t size_of(int kind) {
    switch (kind) {
    case NDRT_F64:
    case NDRT_INDEX_S64: return 8;
    case NDRT_S32: return 4;
    case NDRT_F16: return 2;
    default: return 1;
    }
}

static ndrt_status check(kernel_call *call) {
    const ndrt_scalar_args k = ndrt_read_scalar(call);
    int known = k.which >= 0 && k.which <= NDRT_FUNCTION_HYPOT;
    /* halves have what doubles have */
    if (!known || !loop_of(k.kind == NDRT_F16 ? NDRT_F64 : k.kind, k.which))
        return ndrt_fail(NDRT_INVALID, "no function %d of a number and an array of kind %d",
                         k.which, k.kind);
    if (k.n < 0)
        return ndrt_fail(NDRT_INVALID, "function %d of a number: a count below 0", k.which);
    return k.n ? ndrt_need_arrays(call, 2) : NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, ndrt_read_scalar(call).n); }

static void run(const ndrt_scalar_args *k, int64_t at, int64_t n) {
    const size_t offset = (size_t)at * size_of(k->kind);
    char *out = (char *)k->out + offset;
    const char *in = (const char *)k->x + offset;
    if (k->kind == NDRT_F16)
        halves(k->which, (uint16_t *)out, (const uint16_t *)in, n, nearest_half(k->p));
    else
        loop_of(k->kind, k->which)(out, in, n, k->p);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_scalar_args k = ndrt_read_scalar(call);
    const int64_t chunks = (k.n + CHUNK - 1) / CHUNK;
    if (nthreads == 1) {
        run(&k, 0, k.n);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++)
        run(&k, i * CHUNK, k.n - i * CHUNK < CHUNK ? k.n - i * CHUNK : CHUNK);
    return NDRT_OK;
}

const ndrt_family ndrt_family_scalars = {"scalars", check, threads, execute};
