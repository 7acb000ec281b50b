/* Kernels on boxes: non-maximum suppression, anchors, and what is learned and read from them.
 *
 * A batch is computed by one thread in one order, so the bits do not depend on the number of
 * threads. Boxes are left, top, right, bottom. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_vision.h"

/* ---- sorting -------------------------------------------------------------------------------- */

typedef struct {
    float score;
    int32_t at;
} ranked;

/* Larger scores first, what is no number last; equal ones in the order in which they came. */
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

static void nms_batch(const ndrt_kernel_call *call, int64_t batch) {
    int64_t num = call->counts[1], width = call->counts[2], most = call->counts[3];
    const double *s = call->numbers;
    int64_t coords = (int64_t)s[2], score = (int64_t)s[3], id = (int64_t)s[4];
    int formats = (int)s[7], centered = formats & 1, to_center = formats >> 1 & 1;
    const float *in = (const float *)call->data[2] + batch * num * width;
    float *out = (float *)call->data[0] + batch * num * width;
    int32_t *record = (int32_t *)call->data[1] + batch * num;
    box_table boxes = table_in((float *)call->data[3] + batch * num * TABLE_WIDTH, num);
    int64_t n = 0, kept = 0;
    for (int64_t i = 0; i < num; i++) {
        const float *row = in + i * width;
        if (!(row[score] > (float)s[1])) continue;
        if (id >= 0 && row[id] == (float)s[5]) continue;
        boxes.rank[n++] = (ranked){row[score], (int32_t)i};
    }
    qsort(boxes.rank, (size_t)n, sizeof *boxes.rank, by_score);
    if (n > most) n = most;
    for (int64_t i = 0; i < n; i++) {
        const float *row = in + boxes.rank[i].at * width;
        load_box(&boxes, i, row + coords, centered);
        boxes.kind[i] = id >= 0 ? truncf(row[id]) : 0;
    }
    suppress_all(&boxes, n, (float)s[0], 0, id < 0 || s[6] != 0);
    for (int64_t i = 0; i < n; i++) {
        if (boxes.dropped[i]) continue;
        float *row = out + kept * width;
        memcpy(row, in + boxes.rank[i].at * width, (size_t)width * sizeof *row);
        if (centered != to_center) change_format(row + coords, to_center);
        record[kept++] = boxes.rank[i].at;
    }
    for (int64_t i = kept; i < num; i++) record[i] = -1;
    for (int64_t i = kept * width; i < num * width; i++) out[i] = -1;
}

void ndrt_box_nms(const ndrt_kernel_call *call, int nthreads) {
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < call->counts[0]; batch++) nms_batch(call, batch);
}

/* ---- MultiBoxPrior -------------------------------------------------------------------------- */

static inline float unit(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

/* One of the anchors of each pixel. */
void ndrt_multibox_prior(const ndrt_kernel_call *call, int nthreads) {
    int64_t rows = call->counts[0], columns = call->counts[1];
    const double *s = call->numbers;
    float w = (float)s[0], h = (float)s[1];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < rows * columns; k++) {
        float y = ((float)(k / columns) + (float)s[4]) * (float)s[2];
        float x = ((float)(k % columns) + (float)s[5]) * (float)s[3];
        float *out = (float *)call->data[0] + (k * call->counts[2] + call->counts[3]) * 4;
        float box[4] = {x - w, y - h, x + w, y + h};
        for (int i = 0; i < 4; i++) out[i] = s[6] != 0 ? unit(box[i]) : box[i];
    }
}

/* ---- MultiBoxDetection ---------------------------------------------------------------------- */

static void decode(const ndrt_kernel_call *call, const float *anchor, const float *shift,
                   float *box) {
    const double *s = call->numbers;
    float aw = anchor[2] - anchor[0], ah = anchor[3] - anchor[1];
    float x = shift[0] * (float)s[2] * aw + (anchor[0] + anchor[2]) / 2;
    float y = shift[1] * (float)s[3] * ah + (anchor[1] + anchor[3]) / 2;
    float w = expf(shift[2] * (float)s[4]) * aw / 2, h = expf(shift[3] * (float)s[5]) * ah / 2;
    float made[4] = {x - w, y - h, x + w, y + h};
    for (int i = 0; i < 4; i++) box[i] = s[1] != 0 ? unit(made[i]) : made[i];
}

static void detect(const ndrt_kernel_call *call, int64_t batch) {
    int64_t classes = call->counts[1], anchors = call->counts[2];
    const double *s = call->numbers;
    float threshold = (float)s[0], overlap = (float)s[6];
    int64_t most = call->counts[3] ? call->counts[3] : anchors;
    const float *prob = (const float *)call->data[1] + batch * classes * anchors;
    const float *shift = (const float *)call->data[2] + batch * anchors * 4;
    const float *anchor = call->data[3];
    float *out = (float *)call->data[0] + batch * anchors * 6;
    float *memory = (float *)call->data[4] + batch * anchors * (TABLE_WIDTH + 6);
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
        decode(call, anchor + i * 4, shift + i * 4, row + 2);
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
    suppress_all(&boxes, n, overlap, 1, s[7] != 0);
    for (int64_t i = 0; i < n; i++)
        if (boxes.dropped[i]) out[i * 6] = -1;
}

void ndrt_multibox_detection(const ndrt_kernel_call *call, int nthreads) {
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < call->counts[0]; batch++) detect(call, batch);
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

static void match_batch(const ndrt_kernel_call *call, int64_t batch) {
    const double *s = call->numbers;
    int64_t classes = (int64_t)s[0], anchors = call->counts[1], labels = call->counts[2];
    float threshold = (float)s[1], ratio = (float)s[2], limit = (float)s[3];
    char *memory = (char *)call->data[1] + batch * (anchors + labels) * (int64_t)sizeof(ranked);
    ranked *rank = (ranked *)memory;
    matching m = {anchors,
                  0,
                  call->counts[3],
                  call->data[2],
                  (const float *)call->data[3] + batch * labels * call->counts[3],
                  (int32_t *)call->data[0] + batch * anchors,
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
            const float *pred = (const float *)call->data[4] + batch * classes * anchors + j;
            rank[n++] = (ranked){-background(pred, classes, anchors), (int32_t)j};
        }
    }
    if (!(ratio > 0)) return;
    float wanted = (float)positive * ratio;
    int64_t rest = anchors - positive, negative = wanted < (float)rest ? (int64_t)wanted : rest;
    qsort(rank, (size_t)n, sizeof *rank, by_score);
    for (int64_t i = 0; i < n && i < negative; i++) m.match[rank[i].at] = NEGATIVE;
}

void ndrt_multibox_match(const ndrt_kernel_call *call, int nthreads) {
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t batch = 0; batch < call->counts[0]; batch++) match_batch(call, batch);
}

void ndrt_multibox_assign(const ndrt_kernel_call *call, int nthreads) {
    const double *s = call->numbers;
    int64_t anchors = call->counts[1], labels = call->counts[2], width = call->counts[3];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < call->counts[0] * anchors; i++) {
        int32_t match = ((const int32_t *)call->data[5])[i];
        if (match >= labels) match = IGNORED;
        float *target = (float *)call->data[0] + i * 4, *mask = (float *)call->data[1] + i * 4;
        float *kind = (float *)call->data[2] + i;
        for (int k = 0; k < 4; k++) target[k] = 0, mask[k] = match >= 0;
        *kind = match == NEGATIVE ? 0 : (float)s[4];
        if (match < 0) continue;
        const float *a = (const float *)call->data[3] + i % anchors * 4;
        const float *label = (const float *)call->data[4] + (i / anchors * labels + match) * width;
        const float *g = label + 1;
        float aw = a[2] - a[0], ah = a[3] - a[1];
        *kind = label[0] + 1;
        target[0] = ((g[0] + g[2]) * 0.5f - (a[0] + a[2]) * 0.5f) / aw / (float)s[0];
        target[1] = ((g[1] + g[3]) * 0.5f - (a[1] + a[3]) * 0.5f) / ah / (float)s[1];
        target[2] = logf((g[2] - g[0]) / aw) / (float)s[2];
        target[3] = logf((g[3] - g[1]) / ah) / (float)s[3];
    }
}
