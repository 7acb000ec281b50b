/* Kernels on boxes: non-maximum suppression, anchors, and what is learned and read from them.
 *
 * A batch is computed by one thread in one order, so the bits do not depend on the number of
 * threads. Boxes are left, top, right, bottom. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

/* ---- sorting -------------------------------------------------------------------------------- */

typedef struct {
    float score;
    int32_t at;
} ranked;

/* Larger scores first, NaN last; ties keep their order. */
static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->score > y->score) return -1;
    if (x->score < y->score) return 1;
    int lost = (x->score != x->score) - (y->score != y->score);
    return lost ? lost : (x->at > y->at) - (x->at < y->at);
}

/* ---- suppression ---------------------------------------------------------------------------- */

/* Boxes side by side, so that one is compared with many at a time. */
typedef struct {
    ranked *rank;
    float *left, *top, *right, *bottom, *area, *kind;
    int32_t *dropped;
} box_table;

enum { TABLE_WIDTH = 9 }; /* words for each box */

static box_table table_in(void *memory, int64_t n) {
    box_table made;
    made.rank = memory;
    made.left = (float *)(made.rank + n);
    made.top = made.left + n;
    made.right = made.top + n;
    made.bottom = made.right + n;
    made.area = made.bottom + n;
    made.kind = made.area + n;
    made.dropped = (int32_t *)(made.kind + n);
    return made;
}

/* Drops boxes behind `i` that overlap with it by more than the threshold, or with `equal` by as
 * much; of its own kind only, or of all. */
static void suppress(const float *restrict left, const float *restrict top,
                     const float *restrict right, const float *restrict bottom,
                     const float *restrict area, const float *restrict kind,
                     int32_t *restrict dropped, int64_t i, int64_t n, float threshold, int equal,
                     int all) {
    float l = left[i], t = top[i], r = right[i], b = bottom[i], own = area[i], same = kind[i];
#pragma omp simd
    for (int64_t j = i + 1; j < n; j++) {
        float w = (right[j] < r ? right[j] : r) - (left[j] > l ? left[j] : l);
        float h = (bottom[j] < b ? bottom[j] : b) - (top[j] > t ? top[j] : t);
        w = w > 0 ? w : 0;
        h = h > 0 ? h : 0;
        float both = w * h, either = own + area[j] - both;
        float overlap = both / either;
        overlap = equal && !(either > 0) ? 0 : overlap;
        int over = equal ? overlap >= threshold : overlap > threshold;
        dropped[j] |= over & (all | (kind[j] == same));
    }
}

static void suppress_all(box_table *boxes, int64_t n, float threshold, int equal, int all) {
    memset(boxes->dropped, 0, (size_t)n * sizeof *boxes->dropped);
    for (int64_t i = 0; i < n; i++)
        if (!boxes->dropped[i])
            suppress(boxes->left, boxes->top, boxes->right, boxes->bottom, boxes->area, boxes->kind,
                     boxes->dropped, i, n, threshold, equal, all);
}

/* ---- box_nms -------------------------------------------------------------------------------- */

static void load_box(box_table *boxes, int64_t i, const float *box, int centered) {
    float w = box[2] - box[0], h = box[3] - box[1];
    if (centered) {
        w = box[2], h = box[3];
        boxes->left[i] = box[0] - w / 2, boxes->right[i] = box[0] + w / 2;
        boxes->top[i] = box[1] - h / 2, boxes->bottom[i] = box[1] + h / 2;
    } else {
        boxes->left[i] = box[0], boxes->right[i] = box[2];
        boxes->top[i] = box[1], boxes->bottom[i] = box[3];
    }
    boxes->area[i] = w < 0 || h < 0 ? 0 : w * h;
}

/* As in MXNet, a box that begins left of 0 stays as it is. */
static void change_format(float *box, int to_center) {
    float a = box[0], b = box[1], c = box[2], d = box[3];
    if (a < 0) return;
    if (to_center) {
        box[0] = (a + c) / 2, box[1] = (b + d) / 2, box[2] = c - a, box[3] = d - b;
    } else {
        box[0] = a - c / 2, box[1] = b - d / 2, box[2] = a + c / 2, box[3] = b + d / 2;
    }
}

static void nms_batch(const ndrt_box_nms_args *job, int64_t batch) {
    int64_t num = job->boxes, width = job->width, most = job->most;
    int64_t coords = job->coordinates, score = job->score, id = job->kind;
    const float *in = job->data + batch * num * width;
    float *out = job->out + batch * num * width;
    int32_t *record = job->record + batch * num;
    box_table boxes = table_in((float *)job->scratch + batch * num * TABLE_WIDTH, num);
    int64_t n = 0, kept = 0;
    for (int64_t i = 0; i < num; i++) {
        const float *row = in + i * width;
        if (!(row[score] > job->valid)) continue;
        if (id >= 0 && row[id] == job->background) continue;
        boxes.rank[n++] = (ranked){row[score], (int32_t)i};
    }
    qsort(boxes.rank, (size_t)n, sizeof *boxes.rank, by_score);
    if (n > most) n = most;
    for (int64_t i = 0; i < n; i++) {
        const float *row = in + boxes.rank[i].at * width;
        load_box(&boxes, i, row + coords, job->centered);
        boxes.kind[i] = id >= 0 ? truncf(row[id]) : 0;
    }
    suppress_all(&boxes, n, job->overlap, 0, id < 0 || job->force);
    for (int64_t i = 0; i < n; i++) {
        if (boxes.dropped[i]) continue;
        float *row = out + kept * width;
        memcpy(row, in + boxes.rank[i].at * width, (size_t)width * sizeof *row);
        if (!job->centered != !job->to_center) change_format(row + coords, job->to_center);
        record[kept++] = boxes.rank[i].at;
    }
    for (int64_t i = kept; i < num; i++) record[i] = -1;
    for (int64_t i = kept * width; i < num * width; i++) out[i] = -1;
}

static void box_nms(kernel_call *call, int nthreads) {
    const ndrt_box_nms_args job = ndrt_read_box_nms(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < job.batches; batch++) nms_batch(&job, batch);
}

/* ---- MultiBoxPrior -------------------------------------------------------------------------- */

static inline float unit(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

static void multibox_prior(kernel_call *call, int nthreads) {
    const ndrt_multibox_prior_args job = ndrt_read_multibox_prior(call);
    float w = job.half_width, h = job.half_height;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < job.rows * job.columns; k++) {
        float y = ((float)(k / job.columns) + job.offset_y) * job.step_y;
        float x = ((float)(k % job.columns) + job.offset_x) * job.step_x;
        float *out = job.out + (k * job.anchors + job.which) * 4;
        float box[4] = {x - w, y - h, x + w, y + h};
        for (int i = 0; i < 4; i++) out[i] = job.clip ? unit(box[i]) : box[i];
    }
}

/* ---- MultiBoxDetection ---------------------------------------------------------------------- */

static void decode(const ndrt_multibox_detection_args *job, const float *anchor, const float *shift,
                   float *box) {
    const double *v = job->variances;
    float aw = anchor[2] - anchor[0], ah = anchor[3] - anchor[1];
    float x = shift[0] * (float)v[0] * aw + (anchor[0] + anchor[2]) / 2;
    float y = shift[1] * (float)v[1] * ah + (anchor[1] + anchor[3]) / 2;
    float w = expf(shift[2] * (float)v[2]) * aw / 2, h = expf(shift[3] * (float)v[3]) * ah / 2;
    float made[4] = {x - w, y - h, x + w, y + h};
    for (int i = 0; i < 4; i++) box[i] = job->clip ? unit(made[i]) : made[i];
}

static void detect(const ndrt_multibox_detection_args *job, int64_t batch) {
    int64_t classes = job->kinds, anchors = job->count;
    float threshold = job->threshold, overlap = job->overlap;
    int64_t most = job->most ? job->most : anchors;
    const float *prob = job->classes + batch * classes * anchors;
    const float *shift = job->shifts + batch * anchors * 4;
    const float *anchor = job->anchors;
    float *out = job->out + batch * anchors * 6;
    float *memory = (float *)job->scratch + batch * anchors * (TABLE_WIDTH + 6);
    box_table boxes = table_in(memory + anchors * 6, anchors);
    int64_t n = 0;
    for (int64_t i = 0; i < anchors; i++) {
        float best = -1;
        int64_t kind = 0;
        for (int64_t j = 1; j < classes; j++)
            if (prob[j * anchors + i] > best) best = prob[j * anchors + i], kind = j;
        if (kind == 0 || best < threshold) continue;
        float *row = out + n * 6;
        row[0] = (float)(kind - 1), row[1] = best;
        decode(job, anchor + i * 4, shift + i * 4, row + 2);
        boxes.rank[n] = (ranked){best, (int32_t)n};
        n++;
    }
    for (int64_t i = n * 6; i < anchors * 6; i++) out[i] = -1;
    if (n == 0 || !(overlap > 0 && overlap <= 1)) return;
    memcpy(memory, out, (size_t)(n * 6) * sizeof *out);
    qsort(boxes.rank, (size_t)n, sizeof *boxes.rank, by_score);
    /* as in MXNet, what lies behind the best ones loses nothing but its class */
    for (int64_t i = most; i < n; i++) out[i * 6] = -1;
    if (n > most) n = most;
    for (int64_t i = 0; i < n; i++) {
        float *row = out + i * 6;
        memcpy(row, memory + boxes.rank[i].at * 6, 6 * sizeof *row);
        boxes.kind[i] = row[0];
        boxes.left[i] = row[2], boxes.top[i] = row[3];
        boxes.right[i] = row[4], boxes.bottom[i] = row[5];
        boxes.area[i] = (row[4] - row[2]) * (row[5] - row[3]);
    }
    suppress_all(&boxes, n, overlap, 1, job->force);
    for (int64_t i = 0; i < n; i++)
        if (boxes.dropped[i]) out[i * 6] = -1;
}

static void multibox_detection(kernel_call *call, int nthreads) {
    const ndrt_multibox_detection_args job = ndrt_read_multibox_detection(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < job.batches; batch++) detect(&job, batch);
}

/* ---- MultiBoxTarget ------------------------------------------------------------------------- */

static inline float overlap_of(const float *a, const float *b) {
    float w = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);
    float h = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
    float both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
    float either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
    return either == 0 ? 0 : both / either;
}

enum { IGNORED = -1, NEGATIVE = -2 };

typedef struct {
    int64_t anchors, labels, width;
    const float *anchor, *label;
    int32_t *match; /* of each anchor: its label, IGNORED or NEGATIVE */
    ranked *best;   /* of each label: the anchor that is nearest to it and free, at -1: none */
} matching;

static void find_best(matching *m, int64_t k) {
    m->best[k] = (ranked){1e-6f, -1};
    for (int64_t j = 0; j < m->anchors; j++) {
        if (m->match[j] >= 0) continue;
        float overlap = overlap_of(m->anchor + j * 4, m->label + k * m->width + 1);
        if (overlap > m->best[k].score) m->best[k] = (ranked){overlap, (int32_t)j};
    }
}

/* Each label takes the anchor that is nearest to it; the nearest pair goes first. */
static int64_t match_labels(matching *m) {
    int64_t positive = 0;
    for (int64_t k = 0; k < m->labels; k++) find_best(m, k);
    for (;;) {
        int64_t first = -1;
        for (int64_t k = 0; k < m->labels; k++) {
            ranked *own = &m->best[k];
            if (own->at < 0) continue;
            if (first < 0 || own->score > m->best[first].score ||
                (own->score == m->best[first].score && own->at < m->best[first].at))
                first = k;
        }
        if (first < 0) return positive;
        int32_t taken = m->best[first].at;
        m->match[taken] = (int32_t)first;
        m->best[first] = (ranked){0, -1};
        positive++;
        for (int64_t k = 0; k < m->labels; k++)
            if (m->best[k].at == taken) find_best(m, k);
    }
}

/* The nearest label of an anchor. */
static ranked nearest(const matching *m, int64_t j) {
    ranked found = {-1, -1};
    for (int64_t k = 0; k < m->labels; k++) {
        float overlap = overlap_of(m->anchor + j * 4, m->label + k * m->width + 1);
        if (overlap > found.score) found = (ranked){overlap, (int32_t)k};
    }
    return found;
}

/* The probability of the background. */
static float background(const float *pred, int64_t classes, int64_t stride) {
    float most = pred[0], sum = 0;
    for (int64_t k = 1; k < classes; k++)
        if (pred[k * stride] > most) most = pred[k * stride];
    for (int64_t k = 0; k < classes; k++) sum += expf(pred[k * stride] - most);
    return expf(pred[0] - most) / sum;
}

static void match_batch(const ndrt_multibox_match_args *job, int64_t batch) {
    int64_t classes = job->kinds, anchors = job->count, labels = job->most;
    float threshold = job->threshold, ratio = job->ratio, limit = job->limit;
    ranked *rank = (ranked *)job->scratch + batch * (anchors + labels);
    matching m = {anchors,
                  0,
                  job->width,
                  job->anchors,
                  job->labels + batch * labels * job->width,
                  job->match + batch * anchors,
                  rank + anchors};
    while (m.labels < labels && m.label[m.labels * m.width] != -1) m.labels++;
    for (int64_t j = 0; j < anchors; j++) m.match[j] = IGNORED;
    if (m.labels == 0) return;
    int64_t positive = match_labels(&m), n = 0;
    for (int64_t j = 0; j < anchors; j++) {
        if (m.match[j] >= 0) continue;
        ranked near = nearest(&m, j);
        if (threshold > 0 && near.at >= 0 && near.score > threshold) {
            m.match[j] = near.at;
            positive++;
        } else if (!(ratio > 0)) {
            m.match[j] = NEGATIVE;
        } else if (near.score < limit) {
            const float *pred = job->classes + batch * classes * anchors + j;
            rank[n++] = (ranked){-background(pred, classes, anchors), (int32_t)j};
        }
    }
    if (!(ratio > 0)) return;
    float wanted = (float)positive * ratio;
    int64_t rest = anchors - positive, negative = wanted < (float)rest ? (int64_t)wanted : rest;
    qsort(rank, (size_t)n, sizeof *rank, by_score);
    for (int64_t i = 0; i < n && i < negative; i++) m.match[rank[i].at] = NEGATIVE;
}

static void multibox_match(kernel_call *call, int nthreads) {
    const ndrt_multibox_match_args job = ndrt_read_multibox_match(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < job.batches; batch++) match_batch(&job, batch);
}

static void multibox_assign(kernel_call *call, int nthreads) {
    const ndrt_multibox_assign_args job = ndrt_read_multibox_assign(call);
    const double *v = job.variances;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < job.batches * job.count; i++) {
        int32_t match = job.match[i];
        if (match >= job.most) match = IGNORED;
        float *target = job.target + i * 4, *mask = job.mask + i * 4, *kind = job.kind + i;
        for (int k = 0; k < 4; k++) target[k] = 0, mask[k] = match >= 0;
        *kind = match == NEGATIVE ? 0 : job.ignored;
        if (match < 0) continue;
        const float *a = job.anchors + i % job.count * 4;
        const float *label = job.labels + (i / job.count * job.most + match) * job.width;
        const float *g = label + 1;
        float aw = a[2] - a[0], ah = a[3] - a[1];
        *kind = label[0] + 1;
        target[0] = ((g[0] + g[2]) * 0.5f - (a[0] + a[2]) * 0.5f) / aw / (float)v[0];
        target[1] = ((g[1] + g[3]) * 0.5f - (a[1] + a[3]) * 0.5f) / ah / (float)v[1];
        target[2] = logf((g[2] - g[0]) / aw) / (float)v[2];
        target[3] = logf((g[3] - g[1]) / ah) / (float)v[3];
    }
}

/* ---- driver -----------------------------------------------------------------------------------
 */

enum { FIRST = NDRT_KERNEL_BOX_NMS };

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata, ncounts; /* of these none may be below 0 */
} kernels[] = {
    [NDRT_KERNEL_BOX_NMS - FIRST] = {"box_nms", box_nms, 4, 4},
    [NDRT_KERNEL_MULTIBOX_PRIOR - FIRST] = {"MultiBoxPrior", multibox_prior, 1, 4},
    [NDRT_KERNEL_MULTIBOX_DETECTION - FIRST] = {"MultiBoxDetection", multibox_detection, 5, 4},
    [NDRT_KERNEL_MULTIBOX_MATCH - FIRST] = {"MultiBoxTarget's matches", multibox_match, 5, 5},
    [NDRT_KERNEL_MULTIBOX_ASSIGN - FIRST] = {"MultiBoxTarget", multibox_assign, 6, 4},
};

/* Elements that are computed; 0: nothing to do; -1: they overflow. */
static int64_t work_of(kernel_call *call) {
    const int64_t *c = call->counts;
    switch (call->kernel) {
    case NDRT_KERNEL_MULTIBOX_PRIOR: return ndrt_product(c[0], c[1], 1);
    case NDRT_KERNEL_BOX_NMS:
    case NDRT_KERNEL_MULTIBOX_DETECTION: return ndrt_product(ndrt_product(c[0], c[1], 4), c[2], 1);
    default: return ndrt_product(c[0], c[1], c[2]);
    }
}

static ndrt_status need(int is_right, const char *name, const char *wrong) {
    return is_right ? NDRT_OK : ndrt_fail(NDRT_INVALID, "%s: %s", name, wrong);
}

/* Whether `place` is at least `low` and leaves room for `count` elements of a row. */
static int is_within(int64_t place, int64_t low, int64_t width, int64_t count) {
    return place >= low && place <= width - count;
}

static const char TOO_MANY[] = "more elements than can be";

static ndrt_status check_nms(kernel_call *call, const char *name) {
    const ndrt_box_nms_args job = ndrt_read_box_nms(call);
    TRY(need(ndrt_product(job.batches, job.boxes, 4 * TABLE_WIDTH) >= 0, name, TOO_MANY));
    TRY(need(job.boxes <= INT32_MAX, name, "more boxes than an int32 counts"));
    return need(is_within(job.coordinates, 0, job.width, 4) &&
                    is_within(job.score, 0, job.width, 1) && is_within(job.kind, -1, job.width, 1),
                name, "rows do not have what is read of them");
}

static ndrt_status check_prior(kernel_call *call, const char *name) {
    const ndrt_multibox_prior_args job = ndrt_read_multibox_prior(call);
    int64_t bytes = ndrt_product(job.rows, job.columns, ndrt_product(job.anchors, 16, 1));
    TRY(need(bytes >= 0, name, TOO_MANY));
    return need(job.which < job.anchors, name, "pixels have no such anchor");
}

static ndrt_status check_detection(kernel_call *call, const char *name) {
    const ndrt_multibox_detection_args job = ndrt_read_multibox_detection(call);
    TRY(need(ndrt_product(job.batches, job.count, 4 * (TABLE_WIDTH + 6)) >= 0, name, TOO_MANY));
    return need(job.count <= INT32_MAX, name, "more anchors than an int32 counts");
}

/* Checks the arguments that matches and targets have in common. */
static ndrt_status check_labels(kernel_call *call, const char *name) {
    const ndrt_multibox_assign_args job = ndrt_read_multibox_assign(call);
    int64_t bytes = ndrt_product(ndrt_product(job.batches, job.most, 4), job.width, 1);
    TRY(need(bytes >= 0, name, TOO_MANY));
    TRY(need(job.count <= INT32_MAX && job.most <= INT32_MAX, name,
             "more boxes than an int32 counts"));
    return need(job.width >= 5, name, "labels are not of a class and four coordinates");
}

static ndrt_status check_kernel(kernel_call *call, const char *name) {
    switch (call->kernel) {
    case NDRT_KERNEL_BOX_NMS: return check_nms(call, name);
    case NDRT_KERNEL_MULTIBOX_PRIOR: return check_prior(call, name);
    case NDRT_KERNEL_MULTIBOX_DETECTION: return check_detection(call, name);
    default: return check_labels(call, name);
    }
}

static ndrt_status check(kernel_call *call) {
    int at = call->kernel - FIRST;
    const char *name = kernels[at].name;
    for (int i = 0; i < kernels[at].ncounts; i++)
        if (call->counts[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    int64_t n = work_of(call);
    TRY(need(n >= 0, name, TOO_MANY));
    if (!n) return NDRT_OK;
    TRY(check_kernel(call, name));
    for (int i = 0; i < kernels[at].ndata; i++)
        if (!call->data[i]) return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, work_of(call)); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    if (work_of(call)) kernels[call->kernel - FIRST].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_boxes = {"boxes", check, threads, execute};
