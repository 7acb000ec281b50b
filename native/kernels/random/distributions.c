/* Random numbers of distributions: each element has words of its own, by its place in the draw, and
 * what one element needs says nothing about the next. In double precision, as
 * ndarray_rt/ops/random/distributions.py computes them, to the same bits. */
#include <immintrin.h>
#include <math.h>

#include "ndrt_draws.h"

enum { N = NDRT_WORDS };

/* Stages, which have words of their own: those of a number that needs several others. */
enum { OWN = 0, BOOST = 1, POISSON = 2 };

static const double SMALL_MEAN = 10.0;
enum { MOST_STEPS = 200 };

/* ---- one element ----------------------------------------------------------------------------- */

typedef struct {
    uint64_t key, index;
} place;

static inline void words_of(place at, int attempt, int stage, uint32_t *out) {
    ndrt_philox_block(at.key, at.index, (uint32_t)attempt, (uint32_t)stage, out);
}

/* By rejection (Marsaglia and Tsang, 2000); a shape below 1 through the one above it. */
static double gamma_of(place at, double alpha, double beta) {
    if (!(alpha > 0) || alpha == INFINITY || !(beta > 0)) return NAN;
    double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * d), made;
    uint32_t w[4];
    for (int attempt = 0;; attempt++) {
        words_of(at, attempt, OWN, w);
        double z = ndrt_normal(w[0], w[1]), root = 1 + c * z, v = root * root * root;
        if (!(v > 0)) continue;
        double log_u = ndrt_plain_log(ndrt_open_unit(w[2], w[3]));
        made = d * v;
        if (log_u < 0.5 * z * z + d * (1 - v + ndrt_plain_log(v))) break;
    }
    if (alpha < 1) {
        words_of(at, 0, BOOST, w);
        made *= ndrt_plain_exp(ndrt_plain_log(ndrt_open_unit(w[0], w[1])) / alpha);
    }
    return made * beta;
}

/* log(k!) for a whole number: Stirling's series. */
static double log_factorial(double k) {
    static const double small[] = {0.0,
                                   0.0,
                                   0.6931471805599453,
                                   1.791759469228055,
                                   3.1780538303479458,
                                   4.787491742782046,
                                   6.579251212010101,
                                   8.525161361065415,
                                   10.60460290274525,
                                   12.801827480081469};
    if (k < 10) return small[(int)k];
    double x = k + 1, r = 1 / x, r2 = r * r;
    double rest = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 * r2) * r2) * r2) * r;
    return ((x - 0.5) * ndrt_plain_log(x) - x) + 0.91893853320467274 + rest;
}

/* The least number whose cumulated probability is above one uniform number. */
static double poisson_search(place at, double mean, int stage) {
    uint32_t w[4];
    words_of(at, 0, stage, w);
    double u = ndrt_unit(w[0], w[1]), term = ndrt_plain_exp(-mean), total = term;
    int k = 0;
    while (u >= total && k < MOST_STEPS - 1) {
        k++;
        term *= mean / k;
        total += term;
    }
    return k;
}

/* Transformed rejection (Hoermann, 1993: PTRS). */
static double poisson_rejection(place at, double mean, int stage) {
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double scale = ndrt_plain_log(1.1239 + 1.1328 / (b - 3.4)), sure = 0.9277 - 3.6224 / (b - 2);
    double log_mean = ndrt_plain_log(mean);
    uint32_t w[4];
    for (int attempt = 0;; attempt++) {
        words_of(at, attempt, stage, w);
        double u = ndrt_unit(w[0], w[1]) - 0.5, v = ndrt_open_unit(w[2], w[3]);
        double near = 0.5 - fabs(u);
        double k = floor((2 * a / near + b) * u + mean + 0.43);
        if (near >= 0.07 && v <= sure) return k;
        if (!(k >= 0) || (near < 0.013 && v > near)) continue;
        double bound = k * log_mean - mean - log_factorial(k);
        if (ndrt_plain_log(v) + scale - ndrt_plain_log(a / (near * near) + b) <= bound) return k;
    }
}

static double poisson_of(place at, double mean, int stage) {
    if (mean == INFINITY) return INFINITY;
    if (!(mean >= 0)) return NAN;
    return mean < SMALL_MEAN ? poisson_search(at, mean, stage) : poisson_rejection(at, mean, stage);
}

/* Poisson numbers whose means are gamma numbers. */
static double negative_binomial_of(place at, double k, double p) {
    if (!(k >= 0 && p >= 0 && p <= 1)) return NAN;
    double mean = k == 0 || p == 1 ? 0 : gamma_of(at, k, (1 - p) / p);
    return poisson_of(at, mean, POISSON);
}

/* The same by mean and dispersion; without dispersion Poisson numbers. */
static double generalized_of(place at, double mu, double alpha) {
    if (!(alpha >= 0)) return NAN;
    double mean = alpha > 0 && mu > 0 ? gamma_of(at, 1 / alpha, mu * alpha) : mu;
    return poisson_of(at, mean, POISSON);
}

/* ---- 64 elements ------------------------------------------------------------ */

static void uniform(const uint32_t *words, int wide, const double *low, const double *high,
                    double *out) {
    if (wide)
#pragma omp simd
        for (int i = 0; i < N; i++)
            out[i] = low[i] + (high[i] - low[i]) * ndrt_unit(words[2 * i], words[2 * i + 1]);
    else
#pragma omp simd
        for (int i = 0; i < N; i++)
            out[i] = low[i] + (high[i] - low[i]) * ((double)(words[i] >> 8) * 0x1p-24);
}

static void normal(const uint32_t *words, const double *mean, const double *deviation,
                   double *out) {
#pragma omp simd
    for (int i = 0; i < N / 2; i++) {
        double radius = sqrt(ndrt_minus_two_log(words[2 * i])), sine, cosine;
        ndrt_sine_cosine(words[2 * i + 1], &sine, &cosine);
        out[2 * i] = mean[2 * i] + deviation[2 * i] * (radius * cosine);
        out[2 * i + 1] = mean[2 * i + 1] + deviation[2 * i + 1] * (radius * sine);
    }
}

static void exponential(const uint32_t *words, const double *rate, double *out) {
#pragma omp simd
    for (int i = 0; i < N; i++) {
        double made = -ndrt_plain_log(ndrt_open_unit(words[2 * i], words[2 * i + 1])) / rate[i];
        out[i] = rate[i] > 0 ? made : NAN;
    }
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int are_ends(double a, double b) { return isfinite(b - a); }
static int are_normal(double a, double b) { return isfinite(a) && isfinite(b) && b >= 0; }
static int are_gamma(double a, double b) { return a > 0 && isfinite(a) && b > 0; }
static int is_rate(double a, double b) {
    (void)b;
    return a > 0;
}
static int is_mean(double a, double b) {
    (void)b;
    return a >= 0;
}
static int are_binomial(double a, double b) { return a >= 0 && isfinite(a) && b >= 0 && b <= 1; }
static int are_generalized(double a, double b) { return a >= 0 && b >= 0 && isfinite(b); }

const ndrt_parameters *ndrt_parameters_of(int distribution) {
    static const ndrt_parameters all[] = {
        [NDRT_DRAW_UNIFORM] = {"low", "high", "finite numbers, not too far apart", are_ends},
        [NDRT_DRAW_NORMAL] = {"mu", "sigma", "finite numbers, sigma at least 0", are_normal},
        [NDRT_DRAW_GAMMA] = {"alpha", "beta", "numbers above 0, alpha finite", are_gamma},
        [NDRT_DRAW_EXPONENTIAL] = {"lam", NULL, "a number above 0", is_rate},
        [NDRT_DRAW_POISSON] = {"lam", NULL, "a number of at least 0", is_mean},
        [NDRT_DRAW_NEGATIVE_BINOMIAL] = {"k", "p", "k finite and at least 0, p from 0 to 1",
                                         are_binomial},
        [NDRT_DRAW_GENERALIZED] = {"mu", "alpha", "numbers of at least 0, alpha finite",
                                   are_generalized},
    };
    return all + distribution;
}

int ndrt_words_of(int distribution, int wide) {
    switch (distribution) {
    case NDRT_DRAW_UNIFORM: return wide ? 2 : 1;
    case NDRT_DRAW_NORMAL: return 1;
    case NDRT_DRAW_EXPONENTIAL: return 2;
    default: return 4;
    }
}

void ndrt_draw(int distribution, int wide, uint64_t key, uint64_t first, int64_t from, int count,
               const double *a, const double *b, double *out) {
    uint32_t words[2 * N];
    int each = ndrt_words_of(distribution, wide);
    if (each < 4)
        for (int part = 0; part < each; part++)
            ndrt_philox_blocks(key, first + (uint64_t)(from * each + part * N) / 4,
                               words + part * N);
    switch (distribution) {
    case NDRT_DRAW_UNIFORM: uniform(words, wide, a, b, out); return;
    case NDRT_DRAW_NORMAL: normal(words, a, b, out); return;
    case NDRT_DRAW_EXPONENTIAL: exponential(words, a, out); return;
    default: break;
    }
    for (int i = 0; i < count; i++) {
        place at = {key, first + (uint64_t)(from + i)};
        switch (distribution) {
        case NDRT_DRAW_GAMMA: out[i] = gamma_of(at, a[i], b[i]); break;
        case NDRT_DRAW_POISSON: out[i] = poisson_of(at, a[i], OWN); break;
        case NDRT_DRAW_NEGATIVE_BINOMIAL: out[i] = negative_binomial_of(at, a[i], b[i]); break;
        default: out[i] = generalized_of(at, a[i], b[i]); break;
        }
    }
}
