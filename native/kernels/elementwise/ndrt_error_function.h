/* The error function and its inverse, for native/kernels/elementwise/functions.c. */
#ifndef NDRT_ERROR_FUNCTION_H
#define NDRT_ERROR_FUNCTION_H

#include <math.h>

#include "kernels/ndrt_exp.h"

/* The error function: an odd polynomial up to 1, 1 - exp(a polynomial) up to 4, from where on it is
 * 1. Both are Chebyshev approximations, of erf(x) / x by x^2 and of log(1 - erf(x)), with an error
 * of 2e-7 of the result. */
static inline __attribute__((always_inline)) float erf_of(float x) {
    float size = fabsf(x), square = size * size, high = size > 4.0f ? 4.0f : size;
    float p = 0x1.4a9dacp-14f;
    p = p * square - 0x1.a46b40p-11f;
    p = p * square + 0x1.541636p-8f;
    p = p * square - 0x1.b7fb38p-6f;
    p = p * square + 0x1.ce2d18p-4f;
    p = p * square - 0x1.81273ep-2f;
    p = p * square + 0x1.20dd74p+0f;
    float q = 0x1.b14578p-20f;
    q = q * high - 0x1.7e711ep-15f;
    q = q * high + 0x1.36c82ep-11f;
    q = q * high - 0x1.36a7bcp-8f;
    q = q * high + 0x1.aff5a4p-6f;
    q = q * high - 0x1.c2788cp-4f;
    q = q * high - 0x1.438d42p-1f;
    q = q * high - 0x1.21529ap+0f;
    q = q * high + 0x1.3df11cp-12f;
    return copysignf(size <= 1.0f ? p * size : 1.0f - ndrt_exp_of(q), x);
}

static inline double ratio(const double *over, const double *under, double r) {
    double a = over[7], b = under[7];
    for (int i = 6; i >= 0; i--) {
        a = a * r + over[i];
        b = b * r + under[i];
    }
    return a / b;
}

/* The quantile of the normal distribution at (x + 1) / 2, by the root of 2: M. J. Wichura's
 * rational functions (algorithm AS 241, Applied Statistics 37, 1988), right to 1e-16. */
static inline float erfinv_of(float x) {
    static const double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                               1.9715909503065514427e3, 1.3731693765509461125e4,
                               4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[] = {1.0,
                               4.2313330701600911252e1,
                               6.8718700749205790830e2,
                               5.3941960214247511077e3,
                               2.1213794301586595867e4,
                               3.9307895800092710610e4,
                               2.8729085735721942674e4,
                               5.2264952788528545610e3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    double size = fabs((double)x), made;
    if (!(size < 1)) return size == 1 ? copysignf(INFINITY, x) : NAN;
    if (size <= 0.85) {
        double q = x * 0.5;
        made = q * ratio(a, b, 0.180625 - q * q);
        return (float)(made * 0x1.6a09e667f3bcdp-1);
    }
    /* floats below 1 end where the second tail of the algorithm would begin */
    double r = sqrt(-log((1 - size) * 0.5));
    made = ratio(c, d, r - 1.6) * 0x1.6a09e667f3bcdp-1;
    return (float)copysign(made, x);
}

#endif
