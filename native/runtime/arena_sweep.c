/* Offsets in an arena by simulating an online best-fit allocator, in the order of time.
 *
 * Blocks, used ones and holes, are contiguous; the last one is an infinite hole. Holes are also in
 * a treap sorted by size: each node has a random weight that is not below those of its children, so
 * that the expected depth is logarithmic.
 */
#include <stdlib.h>

#include "ndrt_internal.h"

typedef struct {
    int64_t begin, nbytes;
    int64_t before, after; /* neighbours; 0: none */
    int64_t left, right;   /* smaller and larger holes below it in the tree */
    uint32_t weight;
    int is_hole;
} block;

typedef struct {
    block *blocks; /* from 1 on */
    int64_t count, root;
    int64_t unused;  /* the first block to be used again; others follow as `after` */
    uint32_t chance; /* the same sequence in each sweep */
    int64_t work;    /* nodes looked at */
} heap;

/* ---- holes by their sizes -------------------------------------------------------------------- */

static int is_below(heap *h, int64_t a, int64_t b) {
    const block *x = h->blocks + a, *y = h->blocks + b;
    h->work++;
    return x->nbytes != y->nbytes ? x->nbytes < y->nbytes : x->begin < y->begin;
}

/* Splits a tree into the nodes below a hole and those above it. */
static void split(heap *h, int64_t tree, int64_t hole, int64_t *below, int64_t *above) {
    while (tree) {
        block *node = h->blocks + tree;
        if (is_below(h, tree, hole)) {
            *below = tree;
            below = &node->right;
            tree = node->right;
        } else {
            *above = tree;
            above = &node->left;
            tree = node->left;
        }
    }
    *below = *above = 0;
}

/* Joins two trees; all of `below` must be below all of `above`. */
static int64_t join(heap *h, int64_t below, int64_t above) {
    int64_t root, *link = &root;
    while (below && above) {
        block *a = h->blocks + below, *b = h->blocks + above;
        h->work++;
        if (a->weight >= b->weight) {
            *link = below;
            link = &a->right;
            below = a->right;
        } else {
            *link = above;
            link = &b->left;
            above = b->left;
        }
    }
    *link = below ? below : above;
    return root;
}

static void add_hole(heap *h, int64_t hole) {
    block *made = h->blocks + hole;
    h->chance ^= h->chance << 13;
    h->chance ^= h->chance >> 17;
    h->chance ^= h->chance << 5;
    made->weight = h->chance;
    made->is_hole = 1;
    int64_t *link = &h->root;
    while (*link && h->blocks[*link].weight >= made->weight)
        link = is_below(h, *link, hole) ? &h->blocks[*link].right : &h->blocks[*link].left;
    split(h, *link, hole, &made->left, &made->right);
    *link = hole;
}

static void remove_hole(heap *h, int64_t hole) {
    int64_t *link = &h->root;
    while (*link != hole)
        link = is_below(h, *link, hole) ? &h->blocks[*link].right : &h->blocks[*link].left;
    *link = join(h, h->blocks[hole].left, h->blocks[hole].right);
    h->blocks[hole].is_hole = 0;
}

/* The smallest hole that is large enough, of equal ones the lowest. */
static int64_t best_hole(heap *h, int64_t nbytes) {
    int64_t best = 0, node = h->root;
    while (node) {
        h->work++;
        if (h->blocks[node].nbytes >= nbytes) {
            best = node;
            node = h->blocks[node].left;
        } else {
            node = h->blocks[node].right;
        }
    }
    return best;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t new_block(heap *h) {
    int64_t made = h->unused;
    if (made)
        h->unused = h->blocks[made].after;
    else
        made = h->count++;
    return made;
}

/* Allocates a block for so many bytes. */
static int64_t take(heap *h, int64_t nbytes) {
    int64_t taken = best_hole(h, nbytes);
    block *it = h->blocks + taken;
    remove_hole(h, taken);
    if (it->nbytes == nbytes) return taken;
    int64_t rest = new_block(h);
    h->blocks[rest] =
        (block){it->begin + nbytes, it->nbytes - nbytes, taken, it->after, 0, 0, 0, 0};
    if (it->after) h->blocks[it->after].before = rest;
    it->after = rest;
    it->nbytes = nbytes;
    add_hole(h, rest);
    return taken;
}

/* Merges a hole with the hole after it. */
static void grow_over_next(heap *h, int64_t at) {
    block *it = h->blocks + at;
    int64_t next = it->after;
    it->nbytes += h->blocks[next].nbytes;
    it->after = h->blocks[next].after;
    if (it->after) h->blocks[it->after].before = at;
    h->blocks[next].after = h->unused;
    h->unused = next;
}

static void give_back(heap *h, int64_t at) {
    int64_t next = h->blocks[at].after, before = h->blocks[at].before;
    if (next && h->blocks[next].is_hole) {
        remove_hole(h, next);
        grow_over_next(h, at);
    }
    if (before && h->blocks[before].is_hole) {
        remove_hole(h, before);
        grow_over_next(h, before);
        at = before;
    }
    add_hole(h, at);
}

ndrt_status ndrt_arena_sweep(int64_t n, ndrt_life *lives, const int64_t *births,
                             const int64_t *deaths, int64_t *work) {
    /* at most one hole before each used block, and the last one */
    heap h = {.count = 2, .chance = 2463534242u};
    h.blocks = malloc((2 * (size_t)n + 3) * sizeof *h.blocks);
    int64_t *block_of = malloc((size_t)n * sizeof *block_of);
    if (!h.blocks || !block_of) {
        free(h.blocks);
        free(block_of);
        return ndrt_fail(NDRT_NOMEM, "no memory to place %lld parts", (long long)n);
    }
    h.blocks[1] = (block){0, INT64_MAX, 0, 0, 0, 0, 0, 0};
    add_hole(&h, 1);
    for (int64_t i = 0, dead = 0; i < n; i++) {
        int64_t at = births[i];
        while (lives[deaths[dead]].dies < lives[at].born) give_back(&h, block_of[deaths[dead++]]);
        block_of[at] = take(&h, lives[at].nbytes);
        lives[at].offset = h.blocks[block_of[at]].begin;
    }
    *work = h.work;
    free(h.blocks);
    free(block_of);
    return NDRT_OK;
}
