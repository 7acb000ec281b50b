/* Functions of floats, element by element, that oneDNN lacks or gives other results for NaN; and
 * their slopes times a gradient.
 *
 * An element's result depends neither on its neighbours nor on the number of threads. */
#include <math.h>
#include <string.h>

#include "kernels/ndrt_exp.h"
#include "ndrt_args.h"
#include "ndrt_error_function.h"

typedef const ndrt_kernel_call kernel_call;

enum { CHUNK = 16384, STRIP = 256 };

/* ---- logarithm -------------------------------------------------------------------------------
 */

/* log(2**k m) = k log(2) + 2 atanh((m - 1) / (m + 1)), m near 1: a short series in double. */
static inline __attribute__((always_inline)) double log_of_positive(double x) {
    union {
        double value;
        uint64_t bits;
    } whole = {.value = x}, part, power;
    /* from sqrt(1/2) on; AVX2 can neither shift a sign nor make doubles of integers of 64 bits, so
     * k has 2048 added, and then is the low bits of 2**52 */
    uint64_t k = (whole.bits + ((uint64_t)2048 << 52) - 0x3fe6a09e667f3bcd) >> 52;
    part.bits = whole.bits - ((k - 2048) << 52);
    power.bits = k | 0x4330000000000000;
    double s = (part.value - 1) / (part.value + 1), z = s * s;
    double series = 1.0 / 13;
    series = series * z + 1.0 / 11;
    series = series * z + 1.0 / 9;
    series = series * z + 1.0 / 7;
    series = series * z + 1.0 / 5;
    series = series * z + 1.0 / 3;
    return (power.value - (0x1p52 + 2048)) * 0x1.62e42fefa39efp-1 + 2 * (s + s * z * series);
}

/* Denormals are read from their bits: the CPU may be set to treat them as zero. */
static inline __attribute__((always_inline)) float log_of(float x) {
    union {
        float value;
        int32_t bits;
    } given = {.value = x};
    int32_t size = given.bits & 0x7fffffff;
    double wide = size < 0x00800000 ? (double)size * 0x1p-149 : (double)x;
    float made = (float)log_of_positive(wide);
    made = given.bits < 0 ? NAN : made;
    made = size == 0 ? -INFINITY : made;
    return size > 0x7f800000 || given.bits == 0x7f800000 ? x : made;
}

static inline __attribute__((always_inline)) float log1p_of_x(float x) {
    double wide = x, small = wide * (1 - wide * (0.5 - wide * (1.0 / 3)));
    float made = (float)(fabsf(x) < 1e-4f ? small : log_of_positive(1 + wide));
    made = x < -1 ? NAN : made;
    made = x == -1 ? -INFINITY : made;
    return x < INFINITY ? made : x; /* NaN is not less than anything */
}

/* ---- powers ------------------------------------------------------------------------------------
 */

/* exp(x), x within +-1000: 2**n times a series in double. Nothing needs a conversion to whole
 * numbers, which AVX2 lacks: n is what is left in the low bits of a sum with a large number. */
static inline __attribute__((always_inline)) double wide_exp_of(double x) {
    union {
        double value;
        uint64_t bits;
    } n = {.value = x * 0x1.71547652b82fep+0 + 0x1.8p52}, scale;
    double r = x - (n.value - 0x1.8p52) * 0x1.62e42fefa39efp-1;
    double series = 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 0.5;
    series = series * r + 1;
    series = series * r + 1;
    scale.bits = (n.bits + 1023) << 52;
    return series * scale.value;
}

/* The power of the size of x, where both are finite and it is not 0. */
static inline __attribute__((always_inline)) float power_of_positive(float x, float y) {
    union {
        float value;
        int32_t bits;
    } given = {.value = x};
    int32_t size = given.bits & 0x7fffffff;
    double wide = size < 0x00800000 ? (double)size * 0x1p-149 : (double)fabsf(x);
    double t = log_of_positive(wide) * (double)y;
    t = t < -200 ? -200 : t;
    t = t > 200 ? 200 : t;
    return (float)wide_exp_of(t);
}

/* |x|, with denormals rounded up to the least normal number: the CPU may treat them as 0. */
static inline __attribute__((always_inline)) float size_of(float x) {
    union {
        float value;
        int32_t bits;
    } size = {.value = x};
    size.bits &= 0x7fffffff;
    size.bits = size.bits != 0 && size.bits < 0x00800000 ? 0x00800000 : size.bits;
    return size.value;
}

/* What a power of a base of this size and sign is, if `made` is that of a finite one above 0. */
static inline __attribute__((always_inline)) float settled_power(float size, float sign, float y,
                                                                 float made) {
    float nothing = y > 0 ? 0 : INFINITY, all = y > 0 ? INFINITY : 0, half = 0.5f * y;
    made = size == 0 ? nothing : made;
    made = size == INFINITY ? all : made;
    float turned = truncf(half) == half ? made : sign * made; /* an odd power keeps the sign */
    float broken = sign < 0 && size > 0 && size < INFINITY ? NAN : made;
    made = truncf(y) == y ? turned : broken;
    made = size == 1 && fabsf(y) == INFINITY ? 1 : made;
    made = y == y ? made : y;
    made = size == size ? made : size;
    made = size == 1 && sign > 0 ? 1 : made;
    return y == 0 ? 1 : made;
}

/* x modulo y with the sign of y; 0 where y is. */
static inline __attribute__((always_inline)) float modulo(float x, float y) {
    float rest = fmodf(x, y);
    rest = rest == 0 ? copysignf(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
    return y == 0 ? 0 : rest;
}

static inline __attribute__((always_inline)) float root_of_squares(float x, float y) {
    float root = (float)sqrt((double)x * x + (double)y * y);
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : root;
}

/* A part of a root of a sum of squares; 0 where that is 0, the least of slopes. */
static inline __attribute__((always_inline)) float share_of(float x, float root) {
    return root == 0 ? 0 : x / root;
}

/* ---- the table ---------------------------------------------------------------------------------
 */

typedef void function(float *out, const float *in, const float *dy, int64_t n, float p, float q);

#define VALUE(name, expression)                                                                    \
    static void name(float *out, const float *in, const float *dy, int64_t n, float p, float q) {  \
        (void)dy, (void)p, (void)q;                                                                \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                      \
            float x = in[i];                                                                       \
            out[i] = (float)(expression);                                                          \
        }                                                                                          \
    }
#define SLOPE(name, expression)                                                                    \
    static void name(float *out, const float *in, const float *dy, int64_t n, float p, float q) {  \
        (void)p, (void)q;                                                                          \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                      \
            float x = in[i];                                                                       \
            out[i] = dy[i] * (float)(expression);                                                  \
        }                                                                                          \
    }

static inline __attribute__((always_inline)) float half_away(float x) {
    float whole = truncf(x);
    return whole + copysignf(fabsf(x - whole) >= 0.5f ? 1.0f : 0.0f, x);
}

static inline __attribute__((always_inline)) float within_unit(float x) {
    float above = x < 0 ? 0 : x;
    return above > 1 ? 1 : above;
}

/* the upper bound wins if the bounds are swapped */
static inline __attribute__((always_inline)) float within(float x, float low, float high) {
    float above = x < low ? low : x;
    return x > high ? high : above;
}

static void power_from(float *out, const float *in, const float *dy, int64_t n, float p, float q) {
    (void)dy, (void)q;
    float size = fabsf(p), sign = signbit(p) ? -1 : 1;
    double log_of_size = size == size ? log_of_positive(size) : NAN;
    float made[STRIP];
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t width = n - at < STRIP ? n - at : STRIP;
        const float *y = in + at;
#pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            double t = log_of_size * (double)y[i];
            t = t < -200 ? -200 : t;
            t = t > 200 ? 200 : t;
            made[i] = (float)wide_exp_of(t);
        }
#pragma omp simd
        for (int64_t i = 0; i < width; i++) out[at + i] = settled_power(size, sign, y[i], made[i]);
    }
}

/* Two loops, so that each is vectorized: one in double, one in float with comparisons. */
static void power(float *out, const float *in, const float *dy, int64_t n, float p, float q) {
    (void)dy, (void)q;
    float made[STRIP], half = 0.5f * p;
    int whole = truncf(p) == p, odd = whole && truncf(half) != half;
    /* of 0 and infinity; what a sign makes of them, of other numbers and of 1 */
    float nothing = p > 0 ? 0 : INFINITY, all = p > 0 ? INFINITY : 0, turn_edge = odd ? -1 : 1;
    float turn = whole ? turn_edge : NAN, turn_one = fabsf(p) == INFINITY ? 1 : turn;
    nothing = p == p ? nothing : p;
    all = p == p ? all : p;
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t width = n - at < STRIP ? n - at : STRIP;
        const float *x = in + at;
#pragma omp simd
        for (int64_t i = 0; i < width; i++) made[i] = power_of_positive(x[i], p);
#pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            float base = x[i], size = size_of(base), m = made[i], sign = copysignf(1, base),
                  t = turn;
            m = size == 0 ? nothing : m;
            m = size == INFINITY ? all : m;
            m = size == 1 ? 1 : m;
            m = size == size ? m : size;
            t = size == 0 ? turn_edge : t;
            t = size == INFINITY ? turn_edge : t;
            t = size == 1 ? turn_one : t;
            m = sign < 0 ? t * m : m;
            out[at + i] = p == 0 ? 1 : m;
        }
    }
}

static inline __attribute__((always_inline)) float silu_slope_of(float x) {
    float y = ndrt_sigmoid_of(x);
    return y * (1 + x * (1 - y));
}

#define SIGN ((x > 0) - (x < 0))
VALUE(sign, SIGN)
VALUE(no, x == 0)
VALUE(floor_of, floorf(x))
VALUE(ceil_of, ceilf(x))
VALUE(trunc_of, truncf(x))
VALUE(round_of, half_away(x))
VALUE(rint_of, x - floorf(x) <= ceilf(x) - x ? floorf(x) : ceilf(x))
VALUE(softsign, x / (1 + fabsf(x)))
VALUE(rsqrt, 1 / sqrtf(x))
VALUE(natural_log, log_of(x))
VALUE(erfinv, erfinv_of(x))
VALUE(equal, x == p)
VALUE(not_equal, x != p)
VALUE(greater, x > p)
VALUE(greater_equal, x >= p)
VALUE(lesser, x < p)
VALUE(lesser_equal, x <= p)
VALUE(both, x != 0 && p != 0)
VALUE(either, x != 0 || p != 0)
VALUE(one, (x != 0) != (p != 0))
VALUE(hard_sigmoid, within_unit(p *x + q))
VALUE(smooth_l1, fabsf(x) > q ? fabsf(x) - 0.5f * q : 0.5f * x * x * p)
VALUE(log1p_of, log1p_of_x(x))
VALUE(plus, x + p)
VALUE(minus, x - p)
VALUE(minus_from, p - x)
VALUE(times, x *p)
VALUE(over_x, p / x)
VALUE(greater_of, p > x || p != p ? p : x)
VALUE(lesser_of, p < x || p != p ? p : x)
VALUE(leaky, x > 0 ? x : x * p)
VALUE(clip, within(x, p, q))
VALUE(over, x / p)
VALUE(modulo_p, modulo(x, p))
VALUE(modulo_x, modulo(p, x))
VALUE(hypot_of, root_of_squares(x, p))
VALUE(elu, x > 0 ? q * x : ndrt_expm1_of(x > 0 ? 0 : x) * p)
VALUE(silu, x *ndrt_sigmoid_of(x))
VALUE(tanh_of, ndrt_tanh_of(x))
/* (1 + tanh(u)) / 2 is the sigmoid of 2 u */
VALUE(gelu_tanh, x *ndrt_sigmoid_of(x * (0x1.988454p+0f + 0x1.2444f2p-4f * x * x)))
VALUE(erf_of_x, erf_of(x))
/* of -0 it is -0 */
VALUE(expm1_of, copysignf(x > 1 ? ndrt_exp_of(x) - 1 : ndrt_expm1_of(x > 1 ? 0 : x), x))
SLOPE(leaky_slope, x > 0 ? 1.0f : p)
SLOPE(softsign_slope, 1 / ((1 + fabsf(x)) * (1 + fabsf(x))))
SLOPE(rsqrt_slope, -0.5f / (sqrtf(x) * x))
SLOPE(erfinv_slope, 0x1.c5bf8ap-1f * ndrt_exp_of(x * x))
SLOPE(erf_slope, 0x1.20dd76p+0f * ndrt_exp_of(-x * x))
SLOPE(maximum_slope, x >= p)
SLOPE(minimum_slope, x <= p)
SLOPE(hard_sigmoid_slope, p *x + q > 0 && p * x + q < 1 ? p : 0)
SLOPE(smooth_l1_slope, fabsf(x) > q ? (float)SIGN : p * x)
SLOPE(log1p_slope, 1 / (1 + x))
SLOPE(expm1_slope, ndrt_exp_of(x))
SLOPE(reciprocal_slope, -1 / (x * x))
SLOPE(over_x_slope, -p / (x * x))
static void power_slope(float *out, const float *in, const float *dy, int64_t n, float p, float q) {
    float made[STRIP];
    for (int64_t at = 0; at < n; at += STRIP) {
        int64_t width = n - at < STRIP ? n - at : STRIP;
        power(made, in + at, dy, width, p - 1, q);
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            out[at + i] = p == 0 ? 0 * dy[at + i] : dy[at + i] * (p * made[i]);
    }
}
/* x is the power */
SLOPE(power_from_slope, p == 0 && fabsf(x) < INFINITY ? 0 : x * log_of(p))
SLOPE(modulo_x_slope, -floorf(p / x))
SLOPE(hypot_slope, share_of(x, root_of_squares(x, p)))
SLOPE(elu_slope, x > 0 ? 1 : p * ndrt_exp_of(x > 0 ? 0 : x))
SLOPE(silu_slope, silu_slope_of(x))

static function *const functions[] = {
    [NDRT_FUNCTION_SIGN] = sign,
    [NDRT_FUNCTION_NOT] = no,
    [NDRT_FUNCTION_FLOOR] = floor_of,
    [NDRT_FUNCTION_CEIL] = ceil_of,
    [NDRT_FUNCTION_TRUNC] = trunc_of,
    [NDRT_FUNCTION_ROUND] = round_of,
    [NDRT_FUNCTION_RINT] = rint_of,
    [NDRT_FUNCTION_SOFTSIGN] = softsign,
    [NDRT_FUNCTION_RSQRT] = rsqrt,
    [NDRT_FUNCTION_LOG] = natural_log,
    [NDRT_FUNCTION_ERFINV] = erfinv,
    [NDRT_FUNCTION_EQ] = equal,
    [NDRT_FUNCTION_NE] = not_equal,
    [NDRT_FUNCTION_GT] = greater,
    [NDRT_FUNCTION_GE] = greater_equal,
    [NDRT_FUNCTION_LT] = lesser,
    [NDRT_FUNCTION_LE] = lesser_equal,
    [NDRT_FUNCTION_AND] = both,
    [NDRT_FUNCTION_OR] = either,
    [NDRT_FUNCTION_XOR] = one,
    [NDRT_FUNCTION_HARD_SIGMOID] = hard_sigmoid,
    [NDRT_FUNCTION_SMOOTH_L1] = smooth_l1,
    [NDRT_FUNCTION_LOG1P] = log1p_of,
    [NDRT_FUNCTION_ADD] = plus,
    [NDRT_FUNCTION_SUB] = minus,
    [NDRT_FUNCTION_RSUB] = minus_from,
    [NDRT_FUNCTION_MUL] = times,
    [NDRT_FUNCTION_OVER] = times,
    [NDRT_FUNCTION_NEG_OVER] = times,
    [NDRT_FUNCTION_RDIV] = over_x,
    [NDRT_FUNCTION_MAX] = greater_of,
    [NDRT_FUNCTION_MIN] = lesser_of,
    [NDRT_FUNCTION_LEAKY] = leaky,
    [NDRT_FUNCTION_CLIP] = clip,
    [NDRT_FUNCTION_DIV] = over,
    [NDRT_FUNCTION_POWER] = power,
    [NDRT_FUNCTION_POWER_FROM] = power_from,
    [NDRT_FUNCTION_MOD] = modulo_p,
    [NDRT_FUNCTION_RMOD] = modulo_x,
    [NDRT_FUNCTION_HYPOT] = hypot_of,
    [NDRT_FUNCTION_ELU] = elu,
    [NDRT_FUNCTION_SILU] = silu,
    [NDRT_FUNCTION_TANH] = tanh_of,
    [NDRT_FUNCTION_GELU_TANH] = gelu_tanh,
    [NDRT_FUNCTION_EXPM1] = expm1_of,
    [NDRT_FUNCTION_ERF] = erf_of_x,
    [NDRT_FUNCTION_SOFTSIGN_SLOPE] = softsign_slope,
    [NDRT_FUNCTION_RSQRT_SLOPE] = rsqrt_slope,
    [NDRT_FUNCTION_ERFINV_SLOPE] = erfinv_slope,
    [NDRT_FUNCTION_ERF_SLOPE] = erf_slope,
    [NDRT_FUNCTION_MAXIMUM_SLOPE] = maximum_slope,
    [NDRT_FUNCTION_MINIMUM_SLOPE] = minimum_slope,
    [NDRT_FUNCTION_HARD_SIGMOID_SLOPE] = hard_sigmoid_slope,
    [NDRT_FUNCTION_SMOOTH_L1_SLOPE] = smooth_l1_slope,
    [NDRT_FUNCTION_LOG1P_SLOPE] = log1p_slope,
    [NDRT_FUNCTION_EXPM1_SLOPE] = expm1_slope,
    [NDRT_FUNCTION_RECIPROCAL_SLOPE] = reciprocal_slope,
    [NDRT_FUNCTION_LEAKY_SLOPE] = leaky_slope,
    [NDRT_FUNCTION_RDIV_SLOPE] = over_x_slope,
    [NDRT_FUNCTION_POWER_SLOPE] = power_slope,
    [NDRT_FUNCTION_POWER_FROM_SLOPE] = power_from_slope,
    [NDRT_FUNCTION_RMOD_SLOPE] = modulo_x_slope,
    [NDRT_FUNCTION_HYPOT_SLOPE] = hypot_slope,
    [NDRT_FUNCTION_ELU_SLOPE] = elu_slope,
    [NDRT_FUNCTION_SILU_SLOPE] = silu_slope,
};
enum { NFUNCTIONS = sizeof functions / sizeof functions[0] };

static ndrt_status check(kernel_call *call) {
    const ndrt_function_args k = ndrt_read_function(call);
    if (k.which < 0 || k.which >= NFUNCTIONS)
        return ndrt_fail(NDRT_INVALID, "function %d is none of ndrt_function_id", k.which);
    if (k.n < 0) return ndrt_fail(NDRT_INVALID, "function %d: a count below 0", k.which);
    return k.n ? ndrt_need_arrays(call, k.which >= NDRT_FUNCTION_FIRST_SLOPE ? 3 : 2) : NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, ndrt_read_function(call).n); }

/* The two numbers as the function takes them. */
static void read_numbers(const ndrt_function_args *k, float *p, float *q) {
    *p = (float)k->p;
    *q = (float)k->q;
    switch (k->which) {
    case NDRT_FUNCTION_OVER: *p = (float)(1 / k->p); break;
    case NDRT_FUNCTION_NEG_OVER: *p = (float)(-1 / k->p); break;
    case NDRT_FUNCTION_SMOOTH_L1:
    case NDRT_FUNCTION_SMOOTH_L1_SLOPE:
        *p *= *p;
        *q = 1 / *p;
        break;
    default: break;
    }
}

void ndrt_function_of(int which, float *out, const float *in, int64_t n, float p) {
    functions[which](out, in, NULL, n, p, 0);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_function_args k = ndrt_read_function(call);
    const int64_t chunks = (k.n + CHUNK - 1) / CHUNK;
    function *run = functions[k.which];
    float p, q;
    read_numbers(&k, &p, &q);
    if (nthreads == 1) { /* entering a parallel region costs as much as hundreds of elements */
        run(k.out, k.x, k.dy, k.n, p, q);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t at = i * CHUNK, width = k.n - at < CHUNK ? k.n - at : CHUNK;
        run(k.out + at, k.x + at, k.dy ? k.dy + at : NULL, width, p, q);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_functions = {"functions", check, threads, execute};
