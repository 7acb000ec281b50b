/* Optimizer steps, element by element, and the norms of whole arrays that some of them need.
 *
 * The arguments of all steps begin with those of SIGNSGD. Steps compute in float; 16-bit arrays are
 * widened and narrowed a strip at a time. Sums are cut into blocks by the length alone, so that the
 * bits do not depend on the number of threads. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

static inline float clipped(float x, float bound) {
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* Bounds below 0 are none. */
static inline float bound_of(float given) { return given >= 0 ? given : INFINITY; }

static inline float sign_of(float x) { return (float)((x > 0) - (x < 0)); }

#define EACH _Pragma("omp simd") for (int64_t i = from; i < to; i++)

/* ---- momentum and signs ----------------------------------------------------------------------
 */

/* Learning rate times the rescaled, clipped gradient, rounded where MXNet 1.9.1 rounds: with a clip
 * lr * clip(rescale * g), without one (below 0) (lr * rescale) * g. Clipping to infinity and a
 * factor of 1 change nothing, and keep it one loop. */
typedef struct {
    float before, bound, after;
} gradient_rule;

static gradient_rule rule_of(float lr, float rescale, float bound) {
    return bound >= 0 ? (gradient_rule){rescale, bound, lr}
                      : (gradient_rule){1.0f, INFINITY, lr * rescale};
}

static inline float step_of(float gradient, gradient_rule rule) {
    return rule.after * clipped(rule.before * gradient, rule.bound);
}

static void sgd(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_sgd_args job = ndrt_read_sgd(call);
    float lr = job.which ? job.lrs[job.which - 1] : job.lr;
    float wd = job.which ? job.wds[job.which - 1] : job.wd;
    float keep = 1.0f - lr * wd, *out = job.out;
    const float *weight = job.weight, *grad = job.grad;
    gradient_rule rule = rule_of(lr, job.rescale_grad, job.clip_gradient);
    EACH out[i] = keep * weight[i] - step_of(grad[i], rule);
}

static void sgd_mom(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_sgd_mom_args job = ndrt_read_sgd_mom(call);
    float lr = job.which ? job.lrs[job.which - 1] : job.lr;
    float wd = job.which ? job.wds[job.which - 1] : job.wd;
    float decay = lr * wd, keep = job.momentum, *out = job.out, *mom = job.mom;
    const float *weight = job.weight, *grad = job.grad;
    gradient_rule rule = rule_of(lr, job.rescale_grad, job.clip_gradient);
    EACH {
        float w = weight[i];
        float m = keep * mom[i] - decay * w - step_of(grad[i], rule);
        mom[i] = m;
        out[i] = w + m;
    }
}

static void nag_mom(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_nag_mom_args job = ndrt_read_nag_mom(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad, keep = job.momentum;
    float bound = bound_of(job.clip_gradient), *out = job.out, *mom = job.mom;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i], bound) + wd * w;
        float m = keep * mom[i] - lr * g;
        mom[i] = m;
        out[i] = w + keep * m - lr * g;
    }
}

/* With a master copy, MXNet takes the new weight's decay into the momentum. */
static void nag_mom_of_master(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_nag_mom_of_master_args job = ndrt_read_nag_mom_of_master(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad, keep = job.momentum;
    float bound = bound_of(job.clip_gradient), *out = job.out, *mom = job.mom;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float scaled = clipped(rescale * grad[i], bound), old = keep * mom[i];
        float g = scaled + wd * w;
        float made = w + keep * (old - lr * g) - lr * g;
        mom[i] = old - lr * (scaled + wd * made);
        out[i] = made;
    }
}

static void signsgd(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_signsgd_args job = ndrt_read_signsgd(call);
    float lr = job.lr, keep = 1.0f - job.lr * job.wd, *out = job.out;
    const float *weight = job.weight, *grad = job.grad;
    EACH out[i] = keep * weight[i] - lr * sign_of(grad[i]);
}

static void signum(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_signum_args job = ndrt_read_signum(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad, keep = job.momentum;
    float left = 1.0f - lr * job.wd_lh;
    float bound = bound_of(job.clip_gradient), *out = job.out, *mom = job.mom;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i], bound) + wd * w;
        float m = keep * mom[i] - (1.0f - keep) * g;
        mom[i] = m;
        out[i] = left * w + lr * sign_of(m);
    }
}

/* ---- steps of each element's own size --------------------------------------------------------
 */

static void adam(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_adam_args job = ndrt_read_adam(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad;
    float bound = bound_of(job.clip_gradient);
    float beta1 = job.beta1, beta2 = job.beta2, epsilon = job.epsilon;
    float *out = job.out, *mean = job.mean, *var = job.var;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float m = beta1 * mean[i] + (1.0f - beta1) * g;
        float v = beta2 * var[i] + (1.0f - beta2) * g * g;
        mean[i] = m;
        var[i] = v;
        out[i] = w - lr * m / (sqrtf(v) + epsilon);
    }
}

static void adamw(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_adamw_args job = ndrt_read_adamw(call);
    float lr = job.lr, wd = job.wd, eta = job.eta, rescale = *job.rescale_grad;
    float bound = bound_of(job.clip_gradient);
    float beta1 = job.beta1, beta2 = job.beta2, epsilon = job.epsilon;
    float *out = job.out, *mean = job.mean, *var = job.var;
    const float *weight = job.weight, *grad = job.grad;
    if (!isfinite(rescale) || rescale == 0) {
        memmove(out + from, weight + from, (size_t)(to - from) * sizeof *out);
        return;
    }
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i], bound);
        float m = beta1 * mean[i] + (1.0f - beta1) * g;
        float v = beta2 * var[i] + (1.0f - beta2) * (g * g);
        mean[i] = m;
        var[i] = v;
        out[i] = w - eta * (lr * m / (sqrtf(v) + epsilon) + wd * w);
    }
}

static void rmsprop(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_rmsprop_args job = ndrt_read_rmsprop(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad;
    float bound = bound_of(job.clip_gradient), most = bound_of(job.clip_weights);
    float gamma1 = job.gamma1, epsilon = job.epsilon, *out = job.out, *n = job.n;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float square = (1.0f - gamma1) * (g * g) + gamma1 * n[i];
        n[i] = square;
        out[i] = clipped(w - lr * (g / sqrtf(square + epsilon)), most);
    }
}

static void rmspropalex(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_rmspropalex_args job = ndrt_read_rmspropalex(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad;
    float bound = bound_of(job.clip_gradient), most = bound_of(job.clip_weights);
    float gamma1 = job.gamma1, gamma2 = job.gamma2, epsilon = job.epsilon;
    float *out = job.out, *squares = job.n, *means = job.g, *deltas = job.delta;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float square = (1.0f - gamma1) * (g * g) + gamma1 * squares[i];
        float mean = (1.0f - gamma1) * g + gamma1 * means[i];
        float delta = gamma2 * deltas[i] - lr * (g / sqrtf(square - mean * mean + epsilon));
        squares[i] = square;
        means[i] = mean;
        deltas[i] = delta;
        out[i] = clipped(w + delta, most);
    }
}

static void ftrl(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_ftrl_args job = ndrt_read_ftrl(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad;
    float bound = bound_of(job.clip_gradient), lamda1 = job.lamda1, beta = job.beta;
    float *out = job.out, *z = job.z, *n = job.n;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float g = clipped(rescale * grad[i], bound);
        float sum = n[i] + g * g;
        float moved = z[i] + (g - (sqrtf(sum) - sqrtf(n[i])) * weight[i] / lr);
        z[i] = moved;
        n[i] = sum;
        float far = fabsf(moved) > lamda1 ? 1.0f : 0.0f;
        out[i] = (sign_of(moved) * lamda1 - moved) / ((beta + sqrtf(sum)) / lr + wd) * far;
    }
}

static void ftml(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_ftml_args job = ndrt_read_ftml(call);
    float lr = job.lr, wd = job.wd, rescale = job.rescale_grad, bound = bound_of(job.clip_grad);
    float beta1 = job.beta1, beta2 = job.beta2, epsilon = job.epsilon;
    float done1 = 1.0f - powf(beta1, job.t), done2 = 1.0f - powf(beta2, job.t);
    float *out = job.out, *sizes = job.d, *squares = job.v, *z = job.z;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float v = beta2 * squares[i] + (1.0f - beta2) * (g * g);
        float d = done1 / lr * (sqrtf(v / done2) + epsilon);
        float moved = beta1 * z[i] + (1.0f - beta1) * g - (d - beta1 * sizes[i]) * w;
        sizes[i] = d;
        squares[i] = v;
        z[i] = moved;
        out[i] = -moved / d;
    }
}

/* The direction of a step of LAMB. */
static void lamb_1(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_lamb_1_args job = ndrt_read_lamb_1(call);
    float wd = job.wd, rescale = job.rescale_grad, bound = bound_of(job.clip_gradient);
    float beta1 = job.beta1, beta2 = job.beta2, epsilon = job.epsilon;
    float done1 = job.bias_correction != 0 ? 1.0f - powf(beta1, job.t) : 1.0f;
    float done2 = job.bias_correction != 0 ? 1.0f - powf(beta2, job.t) : 1.0f;
    float *out = job.out, *means = job.mean, *vars = job.var;
    const float *weight = job.weight, *grad = job.grad;
    EACH {
        float g = clipped(rescale * grad[i], bound);
        float mean = beta1 * means[i] + (1.0f - beta1) * g;
        float var = beta2 * vars[i] + (1.0f - beta2) * g * g;
        means[i] = mean;
        vars[i] = var;
        out[i] = mean / done1 / (sqrtf(var / done2) + epsilon) + wd * weight[i];
    }
}

static void lamb_2(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_lamb_2_args job = ndrt_read_lamb_2(call);
    float r1 = *job.norm, r2 = *job.step_norm, rate = job.lr, *out = job.out;
    const float *weight = job.weight, *step = job.step;
    if (job.lower_bound >= 0 && r1 < job.lower_bound) r1 = job.lower_bound;
    if (job.upper_bound >= 0 && r1 > job.upper_bound) r1 = job.upper_bound;
    if (r1 != 0 && r2 != 0) rate = rate * r1 / r2;
    EACH out[i] = weight[i] - rate * step[i];
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

/* One element: of an array of floats, or of 16 bits. */
static void norm(kernel_call *call, int nthreads) {
    const ndrt_norm_args job = ndrt_read_norm(call);
    double sums[BLOCKS] = {0};
    int64_t n = job.count, width = (n + BLOCKS - 1) / BLOCKS;
    if (width < LEAST_BLOCK) width = LEAST_BLOCK;
    int64_t blocks = (n + width - 1) / width;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t from = block * width, to = from + width < n ? from + width : n;
        if (!job.half) {
            sums[block] = sum_of_squares((const float *)job.data + from, to - from);
            continue;
        }
        float wide[256];
        for (int64_t i = from; i < to; i += 256) {
            int64_t count = to - i < 256 ? to - i : 256;
            widen((const uint16_t *)job.data + i, count, wide);
            sums[block] += sum_of_squares(wide, count);
        }
    }
    double sum = 0;
    for (int64_t block = 0; block < blocks; block++) sum += sums[block];
    *job.out = (float)(job.root ? sqrt(sum) : sum);
}

/* ---- driver -----------------------------------------------------------------------------------
 */

enum { FIRST = NDRT_KERNEL_SGD, STRIP = 256 };
enum { OUT = 0, GRADIENT = 2 }; /* places in data */

static const struct {
    const char *name;
    ndrt_range_kernel range; /* NULL: norm */
    int neach;               /* the first arrays, whose elements are read one for one */
    int nsingle;             /* those behind them that have one element */
} kernels[] = {
    [NDRT_KERNEL_SGD - FIRST] = {"sgd", sgd, 3, 0},
    [NDRT_KERNEL_SGD_MOM - FIRST] = {"sgd with momentum", sgd_mom, 4, 0},
    [NDRT_KERNEL_NAG_MOM - FIRST] = {"nag with momentum", nag_mom, 4, 0},
    [NDRT_KERNEL_NAG_MOM_OF_MASTER - FIRST] = {"nag with momentum of a master copy",
                                               nag_mom_of_master, 4, 0},
    [NDRT_KERNEL_SIGNSGD - FIRST] = {"signsgd", signsgd, 3, 0},
    [NDRT_KERNEL_SIGNUM - FIRST] = {"signum", signum, 4, 0},
    [NDRT_KERNEL_ADAM - FIRST] = {"adam", adam, 5, 0},
    [NDRT_KERNEL_ADAMW - FIRST] = {"adamw", adamw, 5, 1},
    [NDRT_KERNEL_RMSPROP - FIRST] = {"rmsprop", rmsprop, 4, 0},
    [NDRT_KERNEL_RMSPROPALEX - FIRST] = {"rmspropalex", rmspropalex, 6, 0},
    [NDRT_KERNEL_FTRL - FIRST] = {"ftrl", ftrl, 5, 0},
    [NDRT_KERNEL_FTML - FIRST] = {"ftml", ftml, 6, 0},
    [NDRT_KERNEL_LAMB_1 - FIRST] = {"lamb, first phase", lamb_1, 5, 0},
    [NDRT_KERNEL_LAMB_2 - FIRST] = {"lamb, second phase", lamb_2, 3, 2},
    [NDRT_KERNEL_NORM - FIRST] = {"norm", NULL, 2, 0},
};

/* Checks the arrays that sgd takes its rates from. */
static ndrt_status check_rates(const char *name, int64_t which, const float *lrs,
                               const float *wds) {
    if (which < 0)
        return ndrt_fail(NDRT_INVALID, "%s: rates of number %lld", name, (long long)which);
    if (which && (!lrs || !wds)) return ndrt_fail(NDRT_INVALID, "%s: rates have no bytes", name);
    return NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    int at = call->kernel - FIRST;
    const char *name = kernels[at].name;
    int64_t count = call->counts[0];
    if (count < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    for (int i = 0; i < kernels[at].neach + kernels[at].nsingle; i++)
        if (!call->data[i] && (count > 0 || i >= kernels[at].neach))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    if (call->kernel == NDRT_KERNEL_SGD) {
        const ndrt_sgd_args job = ndrt_read_sgd(call);
        return check_rates(name, job.which, job.lrs, job.wds);
    }
    if (call->kernel == NDRT_KERNEL_SGD_MOM) {
        const ndrt_sgd_mom_args job = ndrt_read_sgd_mom(call);
        return check_rates(name, job.which, job.lrs, job.wds);
    }
    return NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, call->counts[0]); }

/* Runs a step on 16-bit arrays a strip at a time, widened. */
static void in_16_bits(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_signsgd_args job = ndrt_read_signsgd(call);
    int at_kernel = call->kernel - FIRST;
    float gradient[STRIP], made[STRIP];
    for (int64_t at = from; at < to; at += STRIP) {
        int64_t count = to - at < STRIP ? to - at : STRIP;
        ndrt_kernel_call strip = *call;
        for (int i = 1; i < kernels[at_kernel].neach; i++)
            strip.data[i] = (float *)call->data[i] + at;
        float *weight = job.weight + at;
        float *out = !job.half_out ? (float *)job.out + at : job.keep_master ? made : weight;
        strip.data[OUT] = out;
        if (job.half_grad) {
            widen((const uint16_t *)job.grad + at, count, gradient);
            strip.data[GRADIENT] = gradient;
        }
        kernels[at_kernel].range(&strip, 0, count);
        if (job.half_out) narrow(out, count, (uint16_t *)job.out + at);
    }
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    ndrt_range_kernel range = kernels[call->kernel - FIRST].range;
    if (!range) {
        norm(call, nthreads);
        return NDRT_OK;
    }
    const ndrt_signsgd_args job = ndrt_read_signsgd(call);
    if (job.count)
        ndrt_share_out(job.half_grad || job.half_out ? in_16_bits : range, call, job.count,
                       nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_optimizers = {"optimizers", check, threads, execute};
