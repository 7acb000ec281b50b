/* Images to another size along one axis, and the gradient of that: each place of the output is a
 * weighted sum of neighbouring places.
 *
 * Each element is computed by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 512, ROWS = 128 };

/* From `size` places to `made` ones. */
typedef struct {
    int kind; /* NDRT_RESIZE_... */
    int64_t size, made;
} resize_map;

/* What place k is made of: places from `begin` up to `end`, of bilinear maps at most two. */
typedef struct {
    int64_t begin, end;
    float first, other; /* weights of `begin` and of the others */
} resize_tap;

static resize_tap tap_of(resize_map map, int64_t k) {
    double size = (double)map.size, made = (double)map.made, at = 0;
    if (map.kind == NDRT_RESIZE_MEAN) {
        int64_t begin = k * map.size / map.made;
        int64_t end = ((k + 1) * map.size + map.made - 1) / map.made;
        float share = 1.0f / (float)(end - begin);
        return (resize_tap){begin, end, share, share};
    }
    if (map.made > 1)
        at = map.kind == NDRT_RESIZE_CORNERS ? (double)k * ((size - 1) / (made - 1))
                                             : ((double)k + 0.5) * (size / made) - 0.5;
    if (at < 0) at = 0;
    int64_t begin = (int64_t)at;
    if (begin >= map.size - 1) return (resize_tap){map.size - 1, map.size, 1, 0};
    float share = (float)(at - (double)begin);
    return (resize_tap){begin, begin + 2, 1 - share, share};
}

/* The sources of one place after the other, and their weights. */
typedef struct {
    resize_map map;
    int back;       /* from the made places to the others */
    int64_t lo, hi; /* sources of the place */
    resize_tap tap; /* of the place; not on the way back */
} resize_walk;

static void next_place(resize_walk *walk, int64_t place) {
    if (!walk->back) {
        walk->tap = tap_of(walk->map, place);
        walk->lo = walk->tap.begin;
        walk->hi = walk->tap.end;
        return;
    }
    while (walk->lo < walk->map.made && tap_of(walk->map, walk->lo).end <= place) walk->lo++;
    if (walk->hi < walk->lo) walk->hi = walk->lo;
    while (walk->hi < walk->map.made && tap_of(walk->map, walk->hi).begin <= place) walk->hi++;
}

static float weight_of(const resize_walk *walk, int64_t place, int64_t source) {
    resize_tap tap = walk->back ? tap_of(walk->map, source) : walk->tap;
    return (walk->back ? place : source) == tap.begin ? tap.first : tap.other;
}

/* A copy of one place, which keeps the sign of a zero. */
static int is_copy(const resize_walk *walk, int64_t place) {
    return walk->hi - walk->lo == 1 && weight_of(walk, place, walk->lo) == 1;
}

static void add_strip(float *out, const float *in, float weight, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] += weight * in[i];
}

/* A strip of the inner axes. */
static void resize_strip(resize_walk walk, const float *in, float *out, int64_t inner, int64_t n) {
    int64_t places = walk.back ? walk.map.size : walk.map.made;
    for (int64_t place = 0; place < places; place++) {
        float *to = out + place * inner;
        next_place(&walk, place);
        if (is_copy(&walk, place)) {
            memcpy(to, in + walk.lo * inner, (size_t)n * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)n * sizeof *to);
        for (int64_t s = walk.lo; s < walk.hi; s++)
            add_strip(to, in + s * inner, weight_of(&walk, place, s), n);
    }
}

/* Some rows, if there are no inner axes. */
static void resize_rows(resize_walk walk, const float *in, float *out, int64_t rows) {
    int64_t places = walk.back ? walk.map.size : walk.map.made;
    int64_t sources = walk.back ? walk.map.made : walk.map.size;
    for (int64_t place = 0; place < places; place++) {
        float sums[ROWS] = {0};
        next_place(&walk, place);
        if (is_copy(&walk, place)) {
            for (int64_t row = 0; row < rows; row++)
                out[row * places + place] = in[row * sources + walk.lo];
            continue;
        }
        for (int64_t s = walk.lo; s < walk.hi; s++) {
            float weight = weight_of(&walk, place, s);
            for (int64_t row = 0; row < rows; row++) sums[row] += weight * in[row * sources + s];
        }
        for (int64_t row = 0; row < rows; row++) out[row * places + place] = sums[row];
    }
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_resize_axis_args job = ndrt_read_resize_axis(call);
    if (job.outer < 0 || job.size < 0 || job.made < 0 || job.inner < 0)
        return ndrt_fail(NDRT_INVALID, "resize: a count below 0");
    if (job.kind != NDRT_RESIZE_CORNERS && job.kind != NDRT_RESIZE_EDGES &&
        job.kind != NDRT_RESIZE_MEAN)
        return ndrt_fail(NDRT_INVALID, "resize: kind %d", job.kind);
    int64_t from = ndrt_product(job.outer, job.size, job.inner);
    int64_t to = ndrt_product(job.outer, job.made, job.inner);
    int64_t both = ndrt_product(job.size, job.made, 2);
    if (from < 0 || to < 0 || both < 0)
        return ndrt_fail(NDRT_INVALID, "resize: more elements than can be");
    if (job.outer && job.inner && (!job.size || !job.made))
        return ndrt_fail(NDRT_INVALID, "resize: an axis of length 0");
    return from ? ndrt_need_arrays(call, 2) : NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_resize_axis_args job = ndrt_read_resize_axis(call);
    return ndrt_team_for(call, job.outer * job.inner * (job.size > job.made ? job.size : job.made));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_resize_axis_args job = ndrt_read_resize_axis(call);
    const int64_t outer = job.outer, inner = job.inner;
    if (!outer || !inner) return NDRT_OK;
    resize_walk walk = {.map = {job.kind, job.size, job.made}, .back = job.back};
    int64_t places = walk.back ? walk.map.size : walk.map.made;
    int64_t sources = walk.back ? walk.map.made : walk.map.size;
    float *out = job.out;
    const float *in = job.data;
    if (inner == 1) {
#pragma omp parallel for schedule(static) num_threads(nthreads)
        for (int64_t row = 0; row < outer; row += ROWS)
            resize_rows(walk, in + row * sources, out + row * places,
                        outer - row < ROWS ? outer - row : ROWS);
        return NDRT_OK;
    }
    int64_t strips = (inner + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * strips; k++) {
        int64_t row = k / strips, from = k % strips * STRIP;
        resize_strip(walk, in + row * sources * inner + from, out + row * places * inner + from,
                     inner, inner - from < STRIP ? inner - from : STRIP);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_resize = {"resize", check, threads, execute};
