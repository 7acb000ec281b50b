/* Steps of optimizers, element by element. */
#include <math.h>

#include "ndrt_internal.h"

static inline float clipped(float x, float bound) {
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* Learning rate times the rescaled, clipped gradient, rounded where MXNet 1.9.1 rounds: with a clip
 * lr * clip(rescale * g), without one (below 0) (lr * rescale) * g. Clipping to infinity and a
 * factor of 1 change nothing, and keep it one loop. */
typedef struct {
    float before, bound, after;
} gradient_rule;

static gradient_rule rule_of(const double *numbers) {
    float lr = (float)numbers[0], rescale = (float)numbers[2], bound = (float)numbers[3];
    return bound >= 0 ? (gradient_rule){rescale, bound, lr}
                      : (gradient_rule){1.0f, INFINITY, lr * rescale};
}

static inline float step_of(float gradient, gradient_rule rule) {
    return rule.after * clipped(rule.before * gradient, rule.bound);
}

static void sgd(const double *numbers, const float *weight, const float *grad, int64_t n,
                float *out) {
    float keep = 1.0f - (float)numbers[0] * (float)numbers[1];
    gradient_rule rule = rule_of(numbers);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = keep * weight[i] - step_of(grad[i], rule);
}

void ndrt_sgd(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    sgd(call->numbers, (const float *)call->data[1] + from, (const float *)call->data[2] + from,
        to - from, (float *)call->data[0] + from);
}

static void sgd_mom(const double *numbers, const float *weight, const float *grad, int64_t n,
                    float *momentum, float *out) {
    float decay = (float)numbers[0] * (float)numbers[1];
    float keep = (float)numbers[4];
    gradient_rule rule = rule_of(numbers);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float w = weight[i];
        float m = keep * momentum[i] - decay * w - step_of(grad[i], rule);
        momentum[i] = m;
        out[i] = w + m;
    }
}

void ndrt_sgd_mom(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    sgd_mom(call->numbers, (const float *)call->data[1] + from, (const float *)call->data[2] + from,
            to - from, (float *)call->data[3] + from, (float *)call->data[0] + from);
}

static void adam(const double *numbers, const float *weight, const float *grad, int64_t n,
                 float *mean, float *var, float *out) {
    float lr = (float)numbers[0], wd = (float)numbers[1], rescale = (float)numbers[2];
    float bound = numbers[3] >= 0 ? (float)numbers[3] : INFINITY;
    float beta1 = (float)numbers[4], beta2 = (float)numbers[5], epsilon = (float)numbers[6];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float m = beta1 * mean[i] + (1.0f - beta1) * g;
        float v = beta2 * var[i] + (1.0f - beta2) * g * g;
        mean[i] = m;
        var[i] = v;
        out[i] = w - lr * m / (sqrtf(v) + epsilon);
    }
}

void ndrt_adam(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    adam(call->numbers, (const float *)call->data[1] + from, (const float *)call->data[2] + from,
         to - from, (float *)call->data[3] + from, (float *)call->data[4] + from,
         (float *)call->data[0] + from);
}
