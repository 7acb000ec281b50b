/* More steps of optimizers, element by element, and what they need of a whole array.
 *
 * data: out, weight, gradient, states. dims: elements; flags; where the numbers come from that are
 * arrays' (NUMBERS_...); the position in data of the array they are in. With HALF_GRADIENT the
 * gradient has 16 bits; with HALF_OUT the weight is a master copy, which changes, and `out` takes
 * it in 16 bits; with KEEP_MASTER the copy stays. Sums are cut into blocks by the length alone, so
 * that the bits do not depend on the number of threads. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

enum { HALF_GRADIENT = 1, HALF_OUT = 2, KEEP_MASTER = 4 };
enum { NUMBERS_OF_CALL = 0, NUMBERS_RESCALE = -1 }; /* above 0: lr and wd of one weight of many */

static inline float clipped(float x, float bound) {
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* Bounds below 0 are none. */
static inline float bound_of(double given) { return given >= 0 ? (float)given : INFINITY; }

static inline float sign_of(float x) { return (float)((x > 0) - (x < 0)); }

#define STEP_OF(name, ...)                                                                         \
    static void name##_loop(const double *numbers, const float *weight, const float *grad,         \
                            int64_t n, float *a, float *b, float *c, float *out) {                 \
        float lr = (float)numbers[0], wd = (float)numbers[1], rescale = (float)numbers[2];         \
        float bound = bound_of(numbers[3]);                                                        \
        (void)lr, (void)wd, (void)rescale, (void)bound, (void)a, (void)b, (void)c;                 \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    static void name(kernel_call *call, int64_t from, int64_t to) {                                \
        float *const *data = (float *const *)call->data;                                           \
        name##_loop(call->numbers, data[1] + from, data[2] + from, to - from,                      \
                    data[3] ? data[3] + from : NULL, data[4] ? data[4] + from : NULL,              \
                    data[5] ? data[5] + from : NULL, data[0] + from);                              \
    }
#define EACH _Pragma("omp simd") for (int64_t i = 0; i < n; i++)

/* ---- momentum and signs ----------------------------------------------------------------------
 */

STEP_OF(sgd, float keep = 1.0f - lr * wd; int scaled_late = numbers[3] < 0;
        float before = scaled_late ? 1.0f : rescale, after = scaled_late ? lr * rescale : lr;
        EACH out[i] = keep * weight[i] - after * clipped(before * grad[i], bound);)

STEP_OF(
    sgd_mom, float decay = lr * wd, keep = (float)numbers[4]; int scaled_late = numbers[3] < 0;
    float before = scaled_late ? 1.0f : rescale, after = scaled_late ? lr * rescale : lr; EACH {
        float w = weight[i];
        float m = keep * a[i] - decay * w - after * clipped(before * grad[i], bound);
        a[i] = m;
        out[i] = w + m;
    })

STEP_OF(
    nag_mom, float keep = (float)numbers[4]; EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i], bound) + wd * w;
        float m = keep * a[i] - lr * g;
        a[i] = m;
        out[i] = w + keep * m - lr * g;
    })

/* With a master copy, MXNet takes the new weight's decay into the momentum. */
STEP_OF(
    nag_mom_of_master, float keep = (float)numbers[4]; EACH {
        float w = weight[i];
        float scaled = clipped(rescale * grad[i], bound), old = keep * a[i];
        float g = scaled + wd * w;
        float made = w + keep * (old - lr * g) - lr * g;
        a[i] = old - lr * (scaled + wd * made);
        out[i] = made;
    })

STEP_OF(signsgd, float keep = 1.0f - lr * wd;
        EACH out[i] = keep * weight[i] - lr * sign_of(grad[i]);)

STEP_OF(
    signum, float keep = (float)numbers[4], left = 1.0f - lr * (float)numbers[5]; EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i], bound) + wd * w;
        float m = keep * a[i] - (1.0f - keep) * g;
        a[i] = m;
        out[i] = left * w + lr * sign_of(m);
    })

/* ---- steps of each element's own size --------------------------------------------------------
 */

STEP_OF(
    rmsprop, float gamma1 = (float)numbers[4], epsilon = (float)numbers[5];
    float most = bound_of(numbers[6]); EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float square = (1.0f - gamma1) * (g * g) + gamma1 * a[i];
        a[i] = square;
        out[i] = clipped(w - lr * (g / sqrtf(square + epsilon)), most);
    })

STEP_OF(
    rmspropalex, float gamma1 = (float)numbers[4], gamma2 = (float)numbers[5];
    float epsilon = (float)numbers[6], most = bound_of(numbers[7]); EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float square = (1.0f - gamma1) * (g * g) + gamma1 * a[i];
        float mean = (1.0f - gamma1) * g + gamma1 * b[i];
        float delta = gamma2 * c[i] - lr * (g / sqrtf(square - mean * mean + epsilon));
        a[i] = square;
        b[i] = mean;
        c[i] = delta;
        out[i] = clipped(w + delta, most);
    })

STEP_OF(
    ftrl, float lamda1 = (float)numbers[4], beta = (float)numbers[5]; EACH {
        float g = clipped(rescale * grad[i], bound);
        float sum = b[i] + g * g;
        float z = a[i] + (g - (sqrtf(sum) - sqrtf(b[i])) * weight[i] / lr);
        a[i] = z;
        b[i] = sum;
        float far = fabsf(z) > lamda1 ? 1.0f : 0.0f;
        out[i] = (sign_of(z) * lamda1 - z) / ((beta + sqrtf(sum)) / lr + wd) * far;
    })

STEP_OF(
    ftml, float beta1 = (float)numbers[4], beta2 = (float)numbers[5];
    float epsilon = (float)numbers[6], t = (float)numbers[7];
    float done1 = 1.0f - powf(beta1, t), done2 = 1.0f - powf(beta2, t); EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float v = beta2 * b[i] + (1.0f - beta2) * (g * g);
        float d = done1 / lr * (sqrtf(v / done2) + epsilon);
        float z = beta1 * c[i] + (1.0f - beta1) * g - (d - beta1 * a[i]) * w;
        a[i] = d;
        b[i] = v;
        c[i] = z;
        out[i] = -z / d;
    })

/* Its numbers are lr wd eta clip beta1 beta2 epsilon rescale. */
STEP_OF(
    adamw, float eta = rescale, scale = (float)numbers[7]; float beta1 = (float)numbers[4];
    float beta2 = (float)numbers[5], epsilon = (float)numbers[6]; EACH {
        float w = weight[i];
        float g = clipped(scale * grad[i], bound);
        float mean = beta1 * a[i] + (1.0f - beta1) * g;
        float var = beta2 * b[i] + (1.0f - beta2) * (g * g);
        a[i] = mean;
        b[i] = var;
        out[i] = w - eta * (lr * mean / (sqrtf(var) + epsilon) + wd * w);
    })

/* The direction of a step of LAMB. Its numbers are t wd rescale clip beta1 beta2 epsilon, and
 * whether means are corrected for their beginning. */
STEP_OF(
    lamb_1, float beta1 = (float)numbers[4], beta2 = (float)numbers[5], t = lr;
    float epsilon = (float)numbers[6]; int corrected = numbers[7] != 0;
    float done1 = corrected ? 1.0f - powf(beta1, t) : 1.0f;
    float done2 = corrected ? 1.0f - powf(beta2, t) : 1.0f; EACH {
        float g = clipped(rescale * grad[i], bound);
        float mean = beta1 * a[i] + (1.0f - beta1) * g;
        float var = beta2 * b[i] + (1.0f - beta2) * g * g;
        a[i] = mean;
        b[i] = var;
        out[i] = mean / done1 / (sqrtf(var / done2) + epsilon) + wd * weight[i];
    })

/* Its numbers are lr lower upper; the norms are one element each. */
static void against(float rate, const float *weight, const float *step, int64_t n, float *out) {
    EACH out[i] = weight[i] - rate * step[i];
}

static void lamb_2(kernel_call *call, int64_t from, int64_t to) {
    float r1 = *(const float *)call->data[3], r2 = *(const float *)call->data[4];
    float rate = (float)call->numbers[0], upper = (float)call->numbers[2];
    float lower = (float)call->numbers[1];
    if (lower >= 0 && r1 < lower) r1 = lower;
    if (upper >= 0 && r1 > upper) r1 = upper;
    if (r1 != 0 && r2 != 0) rate = rate * r1 / r2;
    against(rate, (const float *)call->data[1] + from, (const float *)call->data[2] + from,
            to - from, (float *)call->data[0] + from);
}

/* ---- 16 bits ---------------------------------------------------------------------------------
 */

static void widen(const uint16_t *from, int64_t n, float *to) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < n; i++) to[i] = _cvtsh_ss(from[i]);
}

static void narrow(const float *from, int64_t n, uint16_t *to) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

/* ---- sums ------------------------------------------------------------------------------------
 */

enum { BLOCKS = 1024, LEAST_BLOCK = 2048 };

static double sum_of_squares(const float *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* data: one element, an array. The first number tells whether it is the root that is wanted. */
static void norm(kernel_call *call, int nthreads) {
    double sums[BLOCKS] = {0};
    int64_t n = call->counts[0], width = (n + BLOCKS - 1) / BLOCKS;
    if (width < LEAST_BLOCK) width = LEAST_BLOCK;
    int64_t blocks = (n + width - 1) / width;
    int half = (call->counts[1] & HALF_GRADIENT) != 0;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t from = block * width, to = from + width < n ? from + width : n;
        if (!half) {
            sums[block] = sum_of_squares((const float *)call->data[1] + from, to - from);
            continue;
        }
        float wide[256];
        for (int64_t i = from; i < to; i += 256) {
            int64_t count = to - i < 256 ? to - i : 256;
            widen((const uint16_t *)call->data[1] + i, count, wide);
            sums[block] += sum_of_squares(wide, count);
        }
    }
    double sum = 0;
    for (int64_t block = 0; block < blocks; block++) sum += sums[block];
    *(float *)call->data[0] = (float)(call->numbers[0] != 0 ? sqrt(sum) : sum);
}

/* ---- driver -----------------------------------------------------------------------------------
 */

enum { FIRST = NDRT_KERNEL_NAG_MOM, STRIP = 256 };

static const struct {
    const char *name;
    ndrt_range_kernel range; /* NULL: norm */
    int ndata;
} kernels[] = {
    [NDRT_KERNEL_NAG_MOM - FIRST] = {"nag with momentum", nag_mom, 4},
    [NDRT_KERNEL_RMSPROP - FIRST] = {"rmsprop", rmsprop, 4},
    [NDRT_KERNEL_RMSPROPALEX - FIRST] = {"rmspropalex", rmspropalex, 6},
    [NDRT_KERNEL_FTRL - FIRST] = {"ftrl", ftrl, 5},
    [NDRT_KERNEL_FTML - FIRST] = {"ftml", ftml, 6},
    [NDRT_KERNEL_SIGNSGD - FIRST] = {"signsgd", signsgd, 3},
    [NDRT_KERNEL_SIGNUM - FIRST] = {"signum", signum, 4},
    [NDRT_KERNEL_LAMB_1 - FIRST] = {"lamb, first phase", lamb_1, 5},
    [NDRT_KERNEL_LAMB_2 - FIRST] = {"lamb, second phase", lamb_2, 5},
    [NDRT_KERNEL_ADAMW - FIRST] = {"adamw", adamw, 5},
    [NDRT_KERNEL_NORM - FIRST] = {"norm", NULL, 2},
    [NDRT_KERNEL_SGD_OF_MANY - FIRST] = {"sgd of many", sgd, 3},
    [NDRT_KERNEL_SGD_MOM_OF_MANY - FIRST] = {"sgd with momentum of many", sgd_mom, 4},
    [NDRT_KERNEL_NAG_MOM_OF_MASTER - FIRST] = {"nag with momentum of a master copy",
                                               nag_mom_of_master, 4},
};

/* Positions in data whose elements are read one for one; norms are single. */
static int is_elementwise(kernel_call *call, int position) {
    return !(call->kernel == NDRT_KERNEL_LAMB_2 && position > 2);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    int at = call->kernel - FIRST;
    const char *name = kernels[at].name;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads);
    if (call->counts[0] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    if (call->counts[1] & ~(int64_t)(HALF_GRADIENT | HALF_OUT | KEEP_MASTER))
        return ndrt_fail(NDRT_INVALID, "%s: unknown flags %lld", name, (long long)call->counts[1]);
    int last = kernels[at].ndata - 1;
    if (call->counts[2] != NUMBERS_OF_CALL) {
        int64_t first = call->counts[3], count = call->counts[2] > 0 ? 2 : 1;
        if (call->counts[2] < NUMBERS_RESCALE || first <= last || first > 6 - count)
            return ndrt_fail(NDRT_INVALID, "%s: numbers of kind %lld at %lld", name,
                             (long long)call->counts[2], (long long)first);
        last = (int)(first + count) - 1;
    }
    for (int i = 0; i <= last; i++)
        if (!call->data[i] && (i >= kernels[at].ndata || call->counts[0] > 0))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) { return ndrt_team_for(call, call->counts[0]); }

/* A strip at a time, wide in between. */
static void in_16_bits(kernel_call *call, int64_t from, int64_t to) {
    int at_kernel = call->kernel - FIRST, half_out = (call->counts[1] & HALF_OUT) != 0;
    int keeps = (call->counts[1] & KEEP_MASTER) != 0;
    float gradient[STRIP], made[STRIP];
    for (int64_t at = from; at < to; at += STRIP) {
        int64_t count = to - at < STRIP ? to - at : STRIP;
        ndrt_kernel_call strip = *call;
        for (int i = 1; i < kernels[at_kernel].ndata; i++)
            if (is_elementwise(call, i)) strip.data[i] = (float *)call->data[i] + at;
        if (call->counts[1] & HALF_GRADIENT) {
            widen((const uint16_t *)call->data[2] + at, count, gradient);
            strip.data[2] = gradient;
        }
        strip.data[0] = !half_out ? (float *)call->data[0] + at : keeps ? made : strip.data[1];
        kernels[at_kernel].range(&strip, 0, count);
        if (half_out) narrow(strip.data[0], count, (uint16_t *)call->data[0] + at);
    }
}

/* The weight as it is. */
static void keep_weight(kernel_call *call) {
    if (call->counts[1] & HALF_OUT)
        narrow(call->data[1], call->counts[0], call->data[0]);
    else
        memmove(call->data[0], call->data[1], (size_t)call->counts[0] * sizeof(float));
}

static ndrt_status execute(const ndrt_kernel_call *given, int nthreads) {
    ndrt_kernel_call made = *given;
    const ndrt_kernel_call *call = &made;
    if (given->parameters)
        memcpy(made.numbers, given->parameters, NDRT_KERNEL_PARAMETERS * sizeof(double));
    if (!kernels[call->kernel - FIRST].range) {
        norm(call, nthreads);
        return NDRT_OK;
    }
    int64_t n = call->counts[0], source = call->counts[2];
    if (n == 0) return NDRT_OK;
    if (source == NUMBERS_RESCALE) {
        float rescale = *(const float *)call->data[call->counts[3]];
        if (!isfinite(rescale) || rescale == 0) {
            keep_weight(call);
            return NDRT_OK;
        }
        made.numbers[7] = rescale;
    } else if (source > 0) {
        made.numbers[0] = ((const float *)call->data[call->counts[3]])[source - 1];
        made.numbers[1] = ((const float *)call->data[call->counts[3] + 1])[source - 1];
    }
    for (int i = kernels[call->kernel - FIRST].ndata; i < 6; i++) made.data[i] = NULL;
    ndrt_range_kernel range = call->counts[1] ? in_16_bits : kernels[call->kernel - FIRST].range;
    ndrt_share_out(range, call, n, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_optimizers = {"optimizers", check, threads, execute};
