/* Offsets in one arena for memory whose lifetimes are known.
 *
 * Lives are sorted by birth and identified by their position below. Two lives meet if and only if
 * the one born later is born before the other one ends: each life is an interval of positions, and
 * trees over positions answer what is placed where during a life. */
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

enum { PAGE = 4096, PARTS = 512, MIDDLES = 8 };

typedef struct {
    int64_t begin, end;
} interval;

typedef struct {
    int64_t n, leaves; /* a tree's leaves are as many as the least power of two from n up */
    ndrt_life *lives;
    interval *during; /* the positions of births in each life */
    interval *beside; /* the same for what else may be beside it: for lanes, their team's life */
    interval *found;  /* room for n */
    int64_t *dies;    /* tree of largest values: the last step */
    int64_t *high;    /* tree of largest values: the end of what is placed, 0 for the rest */
    int64_t *low;     /* tree of least values: the begin of what is placed */
    int64_t *floor;   /* at each birth all bytes below this are taken */
    int64_t work;     /* nodes and lives looked at */
} arena;

/* ---- what is placed, by position ------------------------------------------------------------- */

/* Lanes of a team run at the same time. */
static int meet(const ndrt_life *a, const ndrt_life *b) {
    if (a->born <= b->dies && b->born <= a->dies) return 1;
    return a->team >= 0 && a->team == b->team && a->lane != b->lane;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void put(arena *a, int64_t at, int64_t offset) {
    int64_t node = a->leaves + at;
    a->lives[at].offset = offset;
    a->low[node] = offset;
    a->high[node] = offset + a->lives[at].nbytes;
    while (node >>= 1) {
        a->low[node] = smaller(a->low[2 * node], a->low[2 * node + 1]);
        a->high[node] = larger(a->high[2 * node], a->high[2 * node + 1]);
    }
}

/* In the subtree whose leaves begin at `first`: placed lives that meet the life at `at` and have
 * bytes in the span. Stores up to `most` of them after the first `count`; returns the new count. */
static int64_t find_rivals(arena *a, int64_t at, interval span, int64_t most, int64_t node,
                           int64_t first, int64_t size, int64_t count) {
    a->work++;
    if (count == most || first >= a->beside[at].end || a->high[node] <= span.begin ||
        a->low[node] >= span.end || a->dies[node] < a->lives[a->beside[at].begin].born)
        return count;
    if (size == 1) {
        if (first != at && meet(a->lives + at, a->lives + first))
            a->found[count++] = (interval){a->low[node], a->high[node]};
        return count;
    }
    size /= 2;
    count = find_rivals(a, at, span, most, 2 * node, first, size, count);
    return find_rivals(a, at, span, most, 2 * node + 1, first + size, size, count);
}

/* ---- what is taken, at each birth ------------------------------------------------------------ */

/* A node of `floor` holds the largest value below it. Raising a node is lazy: its children still
 * have their old values. */
static void push_floor(arena *a, int64_t node) {
    int64_t *left = a->floor + 2 * node, *right = left + 1, was = larger(*left, *right);
    if (*left == was) *left = a->floor[node];
    if (*right == was) *right = a->floor[node];
}

/* A placement that lies directly on the floor raises it: `from` is the largest value in the range.
 */
static void raise_floor(arena *a, interval range, int64_t from, int64_t to, int64_t node,
                        int64_t first, int64_t size) {
    a->work++;
    if (first >= range.end || first + size <= range.begin || a->floor[node] < from) return;
    if (range.begin <= first && first + size <= range.end) {
        a->floor[node] = to;
        return;
    }
    push_floor(a, node);
    raise_floor(a, range, from, to, 2 * node, first, size / 2);
    raise_floor(a, range, from, to, 2 * node + 1, first + size / 2, size / 2);
    a->floor[node] = larger(a->floor[2 * node], a->floor[2 * node + 1]);
}

static int64_t highest_floor(arena *a, interval range, int64_t node, int64_t first, int64_t size) {
    a->work++;
    if (first >= range.end || first + size <= range.begin) return 0;
    if (range.begin <= first && first + size <= range.end) return a->floor[node];
    push_floor(a, node);
    return larger(highest_floor(a, range, 2 * node, first, size / 2),
                  highest_floor(a, range, 2 * node + 1, first + size / 2, size / 2));
}

/* ---- lowest offsets -------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
    const interval *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The lowest offset from `offset` on that is free during a whole life. */
static int64_t lowest_place(arena *a, int64_t at, int64_t offset) {
    interval span = {offset, INT64_MAX};
    int64_t n = find_rivals(a, at, span, a->n, 1, 0, a->leaves, 0);
    qsort(a->found, (size_t)n, sizeof *a->found, by_begin);
    a->work += n;
    for (int64_t i = 0; i < n && a->found[i].begin - offset < a->lives[at].nbytes; i++)
        offset = larger(offset, a->found[i].end);
    return offset;
}

/* ---- halves ---------------------------------------------------------------------------------- */

/* Which half of the threads wrote to each part of the arena last: 1, 2, or 0 for nobody yet. */
typedef struct {
    int64_t nbytes, unit;
    int8_t half[PARTS + 1];
} written;

/* How many parts the other half wrote to, if a life of `nbytes` were placed there. */
static int64_t by_others(const written *w, int64_t offset, int64_t nbytes) {
    int64_t begin = offset / w->unit, middle = (offset + nbytes / 2) / w->unit,
            end = (offset + nbytes) / w->unit, count = 0;
    for (int64_t i = begin; i < middle; i++) count += w->half[i] == 2;
    for (int64_t i = middle; i < end; i++) count += w->half[i] == 1;
    return count;
}

static void write_halves(written *w, int64_t offset, int64_t nbytes) {
    int64_t begin = offset / w->unit, middle = (offset + nbytes / 2) / w->unit,
            end = (offset + nbytes) / w->unit;
    memset(w->half + begin, 1, (size_t)(middle - begin));
    memset(w->half + middle, 2, (size_t)(end - middle));
}

/* The middle becomes the first of those that are kept. */
static int note_middle(int64_t *middles, int count, int64_t middle) {
    int at = 0;
    while (at < count && middles[at] != middle) at++;
    if (at == count && count < MIDDLES) count++;
    if (at == MIDDLES) at--;
    memmove(middles + 1, middles, (size_t)at * sizeof *middles);
    middles[0] = middle;
    return count;
}

static void move_to_halves(arena *a, int64_t most_work) {
    written w = {.nbytes = a->high[1], .unit = larger(1, (a->high[1] + PARTS - 1) / PARTS)};
    int64_t middles[MIDDLES];
    int count = 0;
    for (int64_t at = 0; at < a->n && a->work < most_work; at++) {
        int64_t nbytes = a->lives[at].nbytes, half = nbytes / 2, best = a->lives[at].offset;
        int64_t least = by_others(&w, best, nbytes);
        for (int i = 0; i < count && least; i++) {
            int64_t offset = larger(0, smaller(middles[i] - half, w.nbytes - nbytes)) / PAGE * PAGE;
            interval span = {offset, offset + nbytes};
            if (find_rivals(a, at, span, 1, 1, 0, a->leaves, 0)) continue;
            int64_t wrong = by_others(&w, offset, nbytes);
            if (wrong < least) least = wrong, best = offset;
        }
        put(a, at, best);
        write_halves(&w, best, nbytes);
        count = note_middle(middles, count, best + half);
    }
}

/* ---- entry points ---------------------------------------------------------------------------- */

/* The first position of a birth after `step`. */
static int64_t behind(const arena *a, int64_t step) {
    int64_t low = 0, high = a->n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (a->lives[middle].born <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* INVALID for a team number that is not below the number of lives: teams count from 0. */
static ndrt_status find_positions(arena *a) {
    interval *teams = a->found;
    for (int64_t i = 0; i < a->n; i++) teams[i] = (interval){INT64_MAX, 0};
    for (int64_t i = 0; i < a->n; i++) {
        const ndrt_life *life = a->lives + i;
        a->during[i].begin = i && a->lives[i - 1].born == life->born ? a->during[i - 1].begin : i;
        a->during[i].end = behind(a, life->dies);
        if (life->team >= a->n) return ndrt_fail(NDRT_INVALID, "a team without a number below n");
        if (life->team < 0) continue;
        interval *team = teams + life->team;
        team->begin = smaller(team->begin, a->during[i].begin);
        team->end = larger(team->end, a->during[i].end);
    }
    for (int64_t i = 0; i < a->n; i++)
        a->beside[i] = a->lives[i].team < 0 ? a->during[i] : teams[a->lives[i].team];
    return NDRT_OK;
}

/* The caller frees `memory`, whatever is returned. */
static ndrt_status prepare(arena *a, int64_t n, ndrt_life *lives, void **memory) {
    *a = (arena){.n = n, .leaves = 1, .lives = lives};
    while (a->leaves < n) a->leaves *= 2;
    size_t nodes = 2 * (size_t)a->leaves;
    int64_t *room = *memory = malloc((4 * nodes + 6 * (size_t)n) * sizeof *room);
    if (!room) return ndrt_fail(NDRT_NOMEM, "no memory to place %lld parts", (long long)n);
    a->dies = room;
    a->high = a->dies + nodes;
    a->low = a->high + nodes;
    a->floor = a->low + nodes;
    a->during = (interval *)(a->floor + nodes);
    a->beside = a->during + n;
    a->found = a->beside + n;
    for (size_t i = 0; i < nodes; i++)
        a->dies[i] = -1, a->high[i] = a->floor[i] = 0, a->low[i] = INT64_MAX;
    for (int64_t i = 0; i < n; i++) a->dies[a->leaves + i] = lives[i].dies;
    for (int64_t i = a->leaves - 1; i > 0; i--)
        a->dies[i] = larger(a->dies[2 * i], a->dies[2 * i + 1]);
    return find_positions(a);
}

ndrt_status ndrt_arena_place_low(int64_t n, ndrt_life *lives, const int64_t *order,
                                 int64_t most_work, int64_t *work) {
    arena a;
    void *memory;
    ndrt_status status = prepare(&a, n, lives, &memory);
    for (int64_t i = 0; !status && i < n && a.work < most_work; i++) {
        int64_t at = order[i];
        interval during = a.during[at];
        int64_t offset = lowest_place(&a, at, highest_floor(&a, during, 1, 0, a.leaves));
        put(&a, at, offset);
        raise_floor(&a, during, offset, offset + lives[at].nbytes, 1, 0, a.leaves);
    }
    *work = a.work;
    free(memory);
    return status;
}

ndrt_status ndrt_arena_keep_halves(int64_t n, ndrt_life *lives, int64_t most_work, int64_t *work) {
    arena a;
    void *memory;
    ndrt_status status = prepare(&a, n, lives, &memory);
    if (!status) {
        for (int64_t i = 0; i < n; i++) put(&a, i, lives[i].offset);
        move_to_halves(&a, most_work);
    }
    *work = a.work;
    free(memory);
    return status;
}
