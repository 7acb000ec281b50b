/* Weights and biases of floats, or of int8 with ranges, as whole numbers for layers on 8-bit data.
 * In float, as MXNet has it. */
#include <limits.h>
#include <math.h>

#include "kernels/ndrt_bytes.h"
#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

/* What numbers of a range that is nothing but 0, or as good as that, are multiplied by, and the
 * most that a bias may become. */
static const float MOST = 2147483648.0f, MOST_BIAS = 1073741824.0f;
static const float INT32_END = 2147483648.0f;
static const float HALF_OVER_S8 = 127.5f, HALF_OVER_U8 = 255.5f;

static float widest(const float *low, const float *high) {
    const float a = fabsf(*low), b = fabsf(*high);
    return a > b ? a : b;
}

/* What floats of a range are multiplied by to become whole numbers. */
static float scale_of(const float *low, const float *high, int is_signed) {
    const float made = (is_signed ? HALF_OVER_S8 : HALF_OVER_U8) / widest(low, high);
    return isinf(made) ? MOST : made;
}

/* What 2^31 stands for in sums of products of data and int8 weights of these ranges. */
static float end_of_sums(float data, int is_signed, float weights) {
    const float a = data / (is_signed ? 127.0f : 255.0f), b = weights / 127.0f;
    return a * b * INT32_END;
}

static ndrt_status need_numbers(const char *name, const float *low, const float *high) {
    if (isnan(*low) || isnan(*high))
        return ndrt_fail(NDRT_INVALID, "%s: an end of a range is nan, expected a number", name);
    return NDRT_OK;
}

/* The nearest int32; 0 of NaN. */
INLINED int32_t whole_of(double x) {
    x = rint(x == x ? x : 0.0);
    x = x > INT32_MAX ? INT32_MAX : x;
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x);
}

static ndrt_status added_scale(kernel_call *call, int nthreads) {
    const ndrt_added_scale_args job = ndrt_read_added_scale(call);
    (void)nthreads;
    TRY(need_numbers("added scale", job.low, job.high));
    *job.scale = job.out_scale / scale_of(job.low, job.high, job.is_signed);
    return NDRT_OK;
}

static ndrt_status product_factor(kernel_call *call, int nthreads) {
    const ndrt_product_factor_args job = ndrt_read_product_factor(call);
    (void)nthreads;
    TRY(need_numbers("product factor", job.left_low, job.left_high));
    TRY(need_numbers("product factor", job.right_low, job.right_high));
    const float step = scale_of(job.left_low, job.left_high, job.left_signed) *
                       scale_of(job.right_low, job.right_high, job.right_signed);
    *job.scale = job.wanted / step * job.times;
    return NDRT_OK;
}

static ndrt_status layer_factors(kernel_call *call, int nthreads) {
    const ndrt_layer_factors_args job = ndrt_read_layer_factors(call);
    (void)nthreads;
    for (int64_t c = 0; c < job.n; c++) {
        const float gamma = job.gamma ? job.gamma[c] : 1.0f;
        const float centre = job.bias ? job.bias[c] - job.mean[c] : -job.mean[c];
        job.factors[c] = gamma / sqrtf(job.var[c] + job.epsilon);
        job.shifts[c] = job.beta[c] + job.factors[c] * centre;
    }
    return NDRT_OK;
}

/* ---- weights of floats ---------------------------------------------------------------------- */

typedef ndrt_round_layer_args layer;

/* The greatest absolute value of a row; NaN where one is. */
static float most_of(const layer *job, int64_t row) {
    const float *weight = job->weight + row * job->width;
    const float factor = job->factors ? job->factors[row] : 1.0f;
    float most = 0.0f;
    int is_nan = 0;
#pragma omp simd reduction(max : most) reduction(| : is_nan)
    for (int64_t i = 0; i < job->width; i++) {
        const float x = fabsf(weight[i] * factor);
        most = x > most ? x : most;
        is_nan |= x != x;
    }
    return is_nan ? NAN : most;
}

/* What weights up to `most` are multiplied by. */
static float weight_scale(float most) {
    const float made = HALF_OVER_S8 / most;
    return most > 0.0f && !isinf(made) ? made : MOST;
}

/* Data or weights are as good as 0: their ranges do not tell what sums stand for. */
static int is_as_0(float scale, float data_scale) { return scale == MOST || data_scale == MOST; }

/* What -2^31 and 2^31 stand for, and what floats were multiplied by to be sums. */
static void write_range(float *range, float end, float steps) {
    if (!range) return;
    range[0] = -end;
    range[1] = end;
    range[2] = steps;
}

/* One scale for all weights, which is smaller where int32 would not hold what is added. */
static float whole_scale(const layer *job, float most, float data_scale) {
    float scale = weight_scale(most), bias = 0.0f;
    float end = end_of_sums(widest(job->data_low, job->data_high), job->is_signed, most);
    if (is_as_0(scale, data_scale)) end = INT32_END / (scale * data_scale);
    for (int64_t r = 0; job->bias && r < job->rows; r++)
        if (fabsf(job->bias[r]) > bias) bias = fabsf(job->bias[r]);
    const float added = job->added ? *job->added * job->added_growth : 0.0f;
    const float all = bias * job->growth + added;
    if (all * (scale * data_scale) >= (added > 0.0f ? MOST_BIAS : INT32_END)) {
        scale = MOST_BIAS / all / data_scale;
        end = INT32_END / (scale * data_scale);
    }
    write_range(job->range, end, data_scale * scale);
    return scale;
}

static void round_row(const layer *job, int64_t row, float scale) {
    const float *weight = job->weight + row * job->width;
    const float factor = job->factors ? job->factors[row] : 1.0f;
    int8_t *out = (int8_t *)job->weight_out + row * job->width;
#pragma omp simd
    for (int64_t i = 0; i < job->width; i++) out[i] = ndrt_to_s8(weight[i] * factor * scale);
}

static ndrt_status round_layer(kernel_call *call, int nthreads) {
    const layer job = ndrt_read_round_layer(call);
    TRY(need_numbers("round layer", job.data_low, job.data_high));
    if (job.from_zero && !job.is_signed && *job.data_low < 0.0f)
        return ndrt_fail(NDRT_INVALID,
                         "data is uint8 and has a range from %g, expected one from 0: int8 stands "
                         "for numbers below 0",
                         (double)*job.data_low);
    const float data_scale = scale_of(job.data_low, job.data_high, job.is_signed);
    const float step = job.out_scale / data_scale;
    float whole = 0.0f, scale_of_all = MOST;
    if (!job.by_rows) {
        for (int64_t r = 0; r < job.rows; r++) {
            const float most = most_of(&job, r);
            if (most > whole || most != most) whole = most;
            if (most != most) break;
        }
        TRY(need_numbers("round layer", &whole, &whole));
        scale_of_all = whole_scale(&job, whole, data_scale);
    }
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int64_t r = 0; r < job.rows; r++) {
        float scale = job.by_rows ? weight_scale(most_of(&job, r)) : scale_of_all;
        if (job.bias) {
            const float bias = job.bias[r];
            if (job.by_rows && bias != 0.0f) {
                const float limit = MOST_BIAS / fabsf(bias) / data_scale;
                /* NaN stays */
                if (!(scale <= limit)) scale = scale != scale ? scale : limit;
            }
            const int32_t made = whole_of((double)(bias * (scale * data_scale)));
            if (job.kind == NDRT_S32)
                ((int32_t *)job.bias_out)[r] = made;
            else
                ((float *)job.bias_out)[r] = (float)made;
        }
        if (job.scale) job.scale[r] = step / scale;
        round_row(&job, r, scale);
    }
    return NDRT_OK;
}

/* ---- weights of int8 ------------------------------------------------------------------------ */

static ndrt_status dense_scales(kernel_call *call, int nthreads) {
    const ndrt_dense_scales_args job = ndrt_read_dense_scales(call);
    (void)nthreads;
    TRY(need_numbers("dense scales", job.data_low, job.data_high));
    TRY(need_numbers("dense scales", job.weight_low, job.weight_high));
    const float data_scale = scale_of(job.data_low, job.data_high, job.is_signed);
    const float weights = widest(job.weight_low, job.weight_high);
    float scale = scale_of(job.weight_low, job.weight_high, 1), ratio = 1.0f, factor = 1.0f;
    float end = end_of_sums(widest(job.data_low, job.data_high), job.is_signed, weights);
    if (is_as_0(scale, data_scale)) end = INT32_END / (scale * data_scale);
    if (job.bias_low) {
        TRY(need_numbers("dense scales", job.bias_low, job.bias_high));
        const float own = scale_of(job.bias_low, job.bias_high, 1);
        const float most = widest(job.bias_low, job.bias_high) * job.growth;
        const float limit = MOST_BIAS / most / own;
        factor = data_scale * scale / own;
        if (factor > limit) {
            factor = limit;
            ratio = factor * own / data_scale / scale;
            scale = scale * ratio;
            end = INT32_END / (scale * data_scale);
        }
    }
    *job.ratio = ratio;
    *job.factor = factor;
    *job.scale = job.out_scale / data_scale / scale;
    write_range(job.range, end, data_scale * scale);
    return NDRT_OK;
}

static ndrt_status round_away(kernel_call *call, int nthreads) {
    const ndrt_round_away_args job = ndrt_read_round_away(call);
    const int8_t *data = job.data;
    const float factor = *job.factor;
    (void)nthreads;
    for (int64_t i = 0; i < job.n; i++) {
        const float x = data[i] * factor, away = copysignf(floorf(fabsf(x) + 0.5f), x);
        if (job.kind == NDRT_S8)
            ((int8_t *)job.out)[i] = ndrt_to_s8(away);
        else if (job.kind == NDRT_S32)
            ((int32_t *)job.out)[i] = whole_of((double)away);
        else
            ((float *)job.out)[i] = (float)whole_of((double)away);
    }
    return NDRT_OK;
}

/* ---- what follows sums ---------------------------------------------------------------------- */

/* Of numbers: a slope below 0, and bounds. */
typedef struct {
    double slope, low, high;
} bend;

/* Of sums, where bounds of floats are given. */
static bend bend_of(double slope, double low, double high, double steps) {
    return (bend){slope, isinf(low) ? low : low * steps, isinf(high) ? high : high * steps};
}

INLINED double bent(double y, bend b) {
    y = y < 0 ? y * b.slope : y;
    y = y < b.low ? b.low : y;
    return y > b.high ? b.high : y;
}

#define BEND(name, summand)                                                                        \
    static void name(const ndrt_bend_sums_args *job, int64_t from, int64_t to, bend first,         \
                     double ratio, bend last) {                                                    \
        const int32_t *data = job->data;                                                           \
        int32_t *out = job->out;                                                                   \
        (void)ratio;                                                                               \
        _Pragma("omp simd") for (int64_t i = from; i < to; i++) out[i] =                           \
            whole_of(bent(bent(data[i], first) + summand, last));                                  \
    }
BEND(bend_alone, 0.0)
BEND(bend_with_s8, ((const int8_t *)job->added)[i] * ratio)
BEND(bend_with_u8, ((const uint8_t *)job->added)[i] * ratio)

static ndrt_status bend_sums(kernel_call *call, int nthreads) {
    const ndrt_bend_sums_args job = ndrt_read_bend_sums(call);
    double ratio = 0.0;
    if (job.added) {
        TRY(need_numbers("bend sums", job.low, job.high));
        const float times = *job.steps / scale_of(job.low, job.high, job.added_signed);
        ratio = (double)times;
    }
    const double steps = (double)*job.steps;
    const bend first = bend_of(job.first_slope, job.first_low, job.first_high, steps);
    const bend last = bend_of(job.last_slope, job.last_low, job.last_high, steps);
#pragma omp parallel for schedule(static) num_threads(nthreads) if (nthreads > 1)
    for (int part = 0; part < nthreads; part++) {
        const int64_t from = job.n * part / nthreads, to = job.n * (part + 1) / nthreads;
        (!job.added         ? bend_alone
         : job.added_signed ? bend_with_s8
                            : bend_with_u8)(&job, from, to, first, ratio, last);
    }
    return NDRT_OK;
}

/* ---- the family ----------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    ndrt_status (*run)(kernel_call *call, int nthreads);
    int arrays; /* the first ones, which have to be there */
} layers;

static layers layers_of(kernel_call *call) {
    switch (call->kernel) {
    case NDRT_KERNEL_ADDED_SCALE: return (layers){"added scale", added_scale, 3};
    case NDRT_KERNEL_PRODUCT_FACTOR: return (layers){"product factor", product_factor, 5};
    case NDRT_KERNEL_LAYER_FACTORS: return (layers){"layer factors", layer_factors, 2};
    case NDRT_KERNEL_ROUND_LAYER: return (layers){"round layer", round_layer, 1};
    case NDRT_KERNEL_BEND_SUMS: return (layers){"bend sums", bend_sums, 3};
    case NDRT_KERNEL_DENSE_SCALES: return (layers){"dense scales", dense_scales, 7};
    default: return (layers){"round away", round_away, 3};
    }
}

static int is_missing(kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_LAYER_FACTORS) {
        const ndrt_layer_factors_args job = ndrt_read_layer_factors(call);
        return !job.beta || !job.mean || !job.var;
    }
    if (call->kernel == NDRT_KERNEL_ROUND_LAYER) {
        const layer job = ndrt_read_round_layer(call);
        return !job.weight || !job.data_low || !job.data_high || !job.bias != !job.bias_out;
    }
    if (call->kernel == NDRT_KERNEL_DENSE_SCALES) {
        const ndrt_dense_scales_args job = ndrt_read_dense_scales(call);
        return !job.bias_low != !job.bias_high;
    }
    if (call->kernel == NDRT_KERNEL_BEND_SUMS) {
        const ndrt_bend_sums_args job = ndrt_read_bend_sums(call);
        return !job.added != !job.low || !job.added != !job.high;
    }
    return 0;
}

static ndrt_status check(kernel_call *call) {
    const layers made = layers_of(call);
    int64_t n = 1;
    int is_known = 1;
    if (call->kernel == NDRT_KERNEL_LAYER_FACTORS) n = ndrt_read_layer_factors(call).n;
    if (call->kernel == NDRT_KERNEL_BEND_SUMS) n = ndrt_read_bend_sums(call).n;
    if (call->kernel == NDRT_KERNEL_ROUND_AWAY) {
        const ndrt_round_away_args job = ndrt_read_round_away(call);
        n = job.n;
        is_known = job.kind == NDRT_S8 || job.kind == NDRT_S32 || job.kind == NDRT_F32;
    }
    if (call->kernel == NDRT_KERNEL_ROUND_LAYER) {
        const layer job = ndrt_read_round_layer(call);
        n = ndrt_product(job.rows, job.width, 1);
        is_known = job.kind == NDRT_S32 || job.kind == NDRT_F32;
    }
    if (call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "%s: %d threads", made.name, call->nthreads);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "%s: a count is out of range", made.name);
    if (!is_known)
        return ndrt_fail(NDRT_INVALID, "%s: a kind that there is no form for", made.name);
    if (n && is_missing(call)) return ndrt_fail(NDRT_INVALID, "%s: an array is missing", made.name);
    return n ? ndrt_need_arrays(call, made.arrays) : NDRT_OK;
}

static int threads(kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_BEND_SUMS)
        return ndrt_team_for(call, ndrt_read_bend_sums(call).n);
    if (call->kernel != NDRT_KERNEL_ROUND_LAYER) return 1;
    const layer job = ndrt_read_round_layer(call);
    return ndrt_team_for(call, job.rows * job.width);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    return layers_of(call).run(call, nthreads);
}

const ndrt_family ndrt_family_byte_layers = {"byte layers", check, threads, execute};
