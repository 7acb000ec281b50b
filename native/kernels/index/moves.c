/* Kernels that move parts of arrays: to places that coordinates name, along an axis with its ends
 * repeated or turned round, and the ends of sequences.
 *
 * Each element is written by one thread in one order, so the bits do not depend on the number of
 * threads. */
#include <omp.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_places.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 4096 }; /* columns that are summed together */

/* The sizes of one element are moves of their own. */
static inline void move_part(char *to, const char *from, size_t width) {
    switch (width) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, width);
    }
}

static inline int64_t clamped(int64_t i, int64_t low, int64_t high) {
    return i < low ? low : i > high ? high : i;
}

/* ---- places that coordinates name -------------------------------------------------------------
 */

static ndrt_status flat_places(kernel_call *call, int nthreads) {
    const ndrt_flat_places_args job = ndrt_read_flat_places(call);
    int64_t rank = job.rank, n = job.n;
    int64_t *out = job.out;
    const int64_t *lengths = job.lengths;
    int kind = job.kind, wrong = 0;
#pragma omp parallel for schedule(static) num_threads(nthreads) reduction(| : wrong)
    for (int64_t i = 0; i < n; i++) {
        int64_t flat = 0;
        for (int64_t axis = 0; axis < rank; axis++) {
            int64_t length = lengths[axis];
            int64_t at = ndrt_index_at(job.coordinates, kind, axis * n + i);
            wrong |= at < -length || at >= length;
            flat = flat * length + (at < 0 ? at + length : at);
            /* what follows stays inside of int64 */
            flat = wrong ? 0 : flat;
        }
        out[i] = flat;
    }
    if (!wrong) return NDRT_OK;
    for (int64_t k = 0; k < rank * n; k++) {
        int64_t length = lengths[k / n], at = ndrt_index_at(job.coordinates, kind, k);
        if (at < -length || at >= length)
            return ndrt_fail(NDRT_RANGE, "index %lld is out of bounds for axis %lld with size %lld",
                             (long long)at, (long long)(k / n), (long long)length);
    }
    return NDRT_OK;
}

/* Each thread has a range of rows, and writes what belongs there in the order of the places. */
static void put_rows(kernel_call *call, int nthreads) {
    const ndrt_put_rows_args job = ndrt_read_put_rows(call);
    int64_t n = job.n, rows = job.rows;
    size_t width = (size_t)job.width;
    char *out = job.out;
    const char *in = job.data;
    const int64_t *places = job.places;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < nthreads; part++) {
        int64_t from = rows * part / nthreads, to = rows * (part + 1) / nthreads;
        for (int64_t i = 0; i < n; i++)
            if (places[i] >= from && places[i] < to)
                move_part(out + (size_t)places[i] * width, in + (size_t)i * width, width);
    }
}

/* ---- along an axis ---------------------------------------------------------------------------
 */

typedef struct {
    int kind;
    int64_t begin, step, length;
} axis_map;

/* The gradient is given what the move is. */
static axis_map map_of(kernel_call *call) {
    const ndrt_axis_move_args job = ndrt_read_axis_move(call);
    return (axis_map){job.kind, job.begin, job.step, job.length};
}

static inline int64_t source_of(const axis_map *map, int64_t i) {
    int64_t at = map->begin + i * map->step, last = map->length - 1;
    if (map->kind == NDRT_AXIS_WINDOW) return at;
    if (map->kind == NDRT_AXIS_EDGE) return clamped(at, 0, last);
    at = at < 0 ? -at : at;
    return at > last ? 2 * last - at : at;
}

static void axis_move(kernel_call *call, int nthreads) {
    const ndrt_axis_move_args job = ndrt_read_axis_move(call);
    int64_t length = job.length, count = job.count, total = job.outer * count;
    size_t width = (size_t)job.width;
    const axis_map map = map_of(call);
    char *out = job.out;
    const char *in = job.data;
#pragma omp parallel num_threads(nthreads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t from = total * me / team, to = total * (me + 1) / team;
        int64_t o = from / count, i = from % count;
        for (int64_t k = from; k < to; k++) {
            int64_t at = o * length + source_of(&map, i);
            move_part(out + (size_t)k * width, in + (size_t)at * width, width);
            if (++i == count) {
                i = 0;
                o++;
            }
        }
    }
}

static void add_row(float *to, const float *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* What lies on the axis comes first, then what was taken from it once more. */
static void axis_move_grad(kernel_call *call, int nthreads) {
    const ndrt_axis_move_grad_args job = ndrt_read_axis_move_grad(call);
    int64_t outer = job.outer, length = job.length, inner = job.width;
    int64_t count = job.count, strips = (inner + STRIP - 1) / STRIP;
    const axis_map map = map_of(call);
    float *grad = job.dx;
    const float *in = job.dy;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * strips; k++) {
        int64_t o = k / strips, first = k % strips * STRIP;
        int64_t width = inner - first < STRIP ? inner - first : STRIP;
        float *own = grad + o * length * inner + first;
        const float *from = in + o * count * inner + first;
        for (int64_t i = 0; i < length; i++)
            memset(own + i * inner, 0, (size_t)width * sizeof *own);
        for (int outside = 0; outside < 2; outside++)
            for (int64_t i = 0; i < count; i++) {
                int64_t at = map.begin + i * map.step;
                if ((at < 0 || at >= length) != outside) continue;
                float *to = own + source_of(&map, i) * inner;
                if (outside)
                    add_row(to, from + i * inner, width);
                else
                    memcpy(to, from + i * inner, (size_t)width * sizeof *to);
            }
    }
}

/* ---- sequences -------------------------------------------------------------------------------
 */

static void sequence_reverse(kernel_call *call, int nthreads) {
    const ndrt_sequence_reverse_args job = ndrt_read_sequence_reverse(call);
    int64_t steps = job.steps, batch = job.batch;
    size_t width = (size_t)job.width;
    int kind = job.kind;
    char *out = job.out;
    const char *in = job.data;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < steps * batch; k++) {
        int64_t step = k / batch, b = k % batch;
        int64_t length = clamped(ndrt_index_at(job.lengths, kind, b), 0, steps);
        int64_t from = step < length ? length - 1 - step : step;
        move_part(out + (size_t)k * width, in + (size_t)(from * batch + b) * width, width);
    }
}

/* The part of sequence b that is its last; of a sequence without steps its first. The gradient is
 * given what the other is. */
static inline int64_t last_of(const ndrt_sequence_last_args *job, int64_t b) {
    const int64_t steps = job->steps_axis == 0 ? job->rows : job->columns;
    const int64_t end = clamped(ndrt_index_at(job->lengths, job->kind, b), 1, steps);
    return job->steps_axis == 0 ? (end - 1) * job->columns + b : b * job->columns + end - 1;
}

static void sequence_last(kernel_call *call, int nthreads) {
    const ndrt_sequence_last_args job = ndrt_read_sequence_last(call);
    const int64_t batch = job.steps_axis == 0 ? job.columns : job.rows;
    const size_t width = (size_t)job.width;
    char *out = job.out;
    const char *in = job.data;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t b = 0; b < batch; b++)
        move_part(out + (size_t)b * width, in + (size_t)last_of(&job, b) * width, width);
}

static void sequence_last_grad(kernel_call *call, int nthreads) {
    const ndrt_sequence_last_args job = ndrt_read_sequence_last(call);
    const int64_t parts = job.rows * job.columns;
    const int64_t batch = job.steps_axis == 0 ? job.columns : job.rows;
    const size_t width = (size_t)job.width;
    char *grad = job.out;
    const char *in = job.data;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < parts; k++) memset(grad + (size_t)k * width, 0, width);
    for (int64_t b = 0; b < batch; b++)
        move_part(grad + (size_t)last_of(&job, b) * width, in + (size_t)b * width, width);
}

/* ---- driver ------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata, has_kind; /* has_kind: there are places */
} kernels[] = {
    [NDRT_KERNEL_FLAT_PLACES - NDRT_KERNEL_FLAT_PLACES] = {"flat places", NULL, 2, 1},
    [NDRT_KERNEL_PUT_ROWS - NDRT_KERNEL_FLAT_PLACES] = {"put rows", put_rows, 3, 0},
    [NDRT_KERNEL_AXIS_MOVE - NDRT_KERNEL_FLAT_PLACES] = {"move along an axis", axis_move, 2, 0},
    [NDRT_KERNEL_AXIS_MOVE_GRAD - NDRT_KERNEL_FLAT_PLACES] = {"move along an axis, gradient",
                                                              axis_move_grad, 2, 0},
    [NDRT_KERNEL_SEQUENCE_REVERSE - NDRT_KERNEL_FLAT_PLACES] = {"sequence reverse",
                                                                sequence_reverse, 3, 1},
    [NDRT_KERNEL_SEQUENCE_LAST - NDRT_KERNEL_FLAT_PLACES] = {"sequence last", sequence_last, 3, 1},
    [NDRT_KERNEL_SEQUENCE_LAST_GRAD - NDRT_KERNEL_FLAT_PLACES] = {"sequence last, gradient",
                                                                  sequence_last_grad, 3, 1},
};

static int is_axis_move(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_AXIS_MOVE || call->kernel == NDRT_KERNEL_AXIS_MOVE_GRAD;
}

/* a * b * c, or -1 if they overflow. */
static int64_t product(int64_t a, int64_t b, int64_t c) {
    int64_t n;
    return __builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) || n > INT64_MAX / 8
               ? -1
               : n;
}

/* What is gone through, in bytes or elements; 0: nothing is to be done. */
static int64_t work_of(kernel_call *call) {
    const int64_t *d = call->counts;
    switch (call->kernel) {
    case NDRT_KERNEL_FLAT_PLACES: return product(d[0], d[1], 1);
    case NDRT_KERNEL_PUT_ROWS: return product(d[0], d[2], 1);
    case NDRT_KERNEL_AXIS_MOVE: return product(d[0], d[3], d[2]);
    case NDRT_KERNEL_AXIS_MOVE_GRAD: return product(d[0], d[1], d[2]);
    case NDRT_KERNEL_SEQUENCE_LAST: return product(d[d[3] == 0], d[2], 1);
    default: return product(d[0], d[1], d[2]);
    }
}

/* Is each place where the map says that it is? */
static int is_inside(kernel_call *call) {
    const ndrt_axis_move_args job = ndrt_read_axis_move(call);
    int64_t way, end;
    if (job.count == 0) return 1;
    if (__builtin_mul_overflow(job.count - 1, job.step, &way) ||
        __builtin_add_overflow(job.begin, way, &end))
        return 0;
    const int64_t low = job.begin < end ? job.begin : end, high = job.begin < end ? end : job.begin;
    if (job.kind == NDRT_AXIS_WINDOW) return job.step != 0 && low >= 0 && high < job.length;
    if (job.step != 1 || job.length == 0) return 0;
    return job.kind == NDRT_AXIS_EDGE ||
           (job.kind == NDRT_AXIS_REFLECT && low > -job.length && high < 2 * job.length - 1);
}

/* The kind of the places of a call that has some. */
static int kind_of(kernel_call *call) {
    switch (call->kernel) {
    case NDRT_KERNEL_FLAT_PLACES: return ndrt_read_flat_places(call).kind;
    case NDRT_KERNEL_SEQUENCE_REVERSE: return ndrt_read_sequence_reverse(call).kind;
    default: return ndrt_read_sequence_last(call).kind;
    }
}

static ndrt_status check_lengths(kernel_call *call, const char *name) {
    const ndrt_flat_places_args job = ndrt_read_flat_places(call);
    int64_t all = 1;
    if (job.rank > 7) return ndrt_fail(NDRT_INVALID, "%s: %lld axes", name, (long long)job.rank);
    for (int64_t axis = 0; axis < job.rank; axis++) {
        const int64_t length = job.lengths[axis];
        if (length < 0)
            return ndrt_fail(NDRT_INVALID, "%s: an axis of length %lld", name, (long long)length);
        if (length > 1) all = ndrt_product(all, length, 1);
    }
    if (all < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    return NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_FLAT_PLACES;
    const char *name = kernels[at].name;
    const int64_t *d = call->counts;
    const int nsizes =
        call->kernel == NDRT_KERNEL_FLAT_PLACES                                                ? 2
        : call->kernel == NDRT_KERNEL_SEQUENCE_REVERSE || call->kernel == NDRT_KERNEL_PUT_ROWS ? 3
                                                                                               : 4;
    for (int i = 0; i < nsizes; i++)
        if (d[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    if (kernels[at].has_kind && !ndrt_is_index_kind(kind_of(call)))
        return ndrt_fail(NDRT_INVALID, "%s: places of kind %d", name, kind_of(call));
    if (call->kernel == NDRT_KERNEL_FLAT_PLACES) TRY(check_lengths(call, name));
    int64_t n = work_of(call);
    if (n < 0 ||
        (is_axis_move(call) && (product(d[0], d[1], d[2]) < 0 || product(d[0], d[3], d[2]) < 0)) ||
        (!is_axis_move(call) && call->kernel != NDRT_KERNEL_FLAT_PLACES &&
         product(d[0], d[1], d[2]) < 0 && call->kernel != NDRT_KERNEL_PUT_ROWS))
        return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (is_axis_move(call) && !is_inside(call))
        return ndrt_fail(NDRT_INVALID, "%s: places beyond an axis of %lld", name, (long long)d[1]);
    if (call->kernel == NDRT_KERNEL_SEQUENCE_LAST && n && d[d[3] != 0] == 0)
        return ndrt_fail(NDRT_INVALID, "%s: no steps", name);
    if (!n) return NDRT_OK;
    for (int i = 0; i < kernels[at].ndata; i++) {
        int unread = call->kernel == NDRT_KERNEL_AXIS_MOVE_GRAD && i == 1 && d[3] == 0;
        if (!call->data[i] && !unread)
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    }
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    int64_t n = work_of(call);
    if (call->kernel != NDRT_KERNEL_FLAT_PLACES && call->kernel != NDRT_KERNEL_AXIS_MOVE_GRAD)
        n /= 4;
    if (n < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    if (call->kernel == NDRT_KERNEL_FLAT_PLACES) return flat_places(call, nthreads);
    if (work_of(call)) kernels[call->kernel - NDRT_KERNEL_FLAT_PLACES].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_moves = {"moves", check, threads, execute};
