/* How the first convolution is best done. Three input channels fill no vector, so neither layout of
 * the other convolutions is an obvious choice, and oneDNN's own first choice is not the fastest on
 * every CPU. */
#include "plan.h"
#include "prim.h"
#include "util.h"

enum { MAX_STEM_CHANNELS = 4, MAX_IMPLEMENTATIONS = 3, MAX_CANDIDATES = 4 * MAX_IMPLEMENTATIONS };
enum { MIN_ROUNDS = 3, MAX_ROUNDS = 25 };
static const double budget_ms = 2000; /* not exceeded once each candidate had its MIN_ROUNDS */

typedef struct {
    stem_choice choice;
    plan *start; /* of the net, up to the second convolution */
    double best_ms;
} candidate;

/* Number of nodes up to and with the second convolution, 0 if the net does not start with a
 * convolution of few channels. A candidate is timed over all of them, so that it pays for the
 * reorder it causes where that reorder really happens, be it after a pooling. */
static int start_of_net(const net *n) {
    int convs = 0;
    for (int i = 0; i < n->n_nodes; i++) {
        const net_node *node = &n->nodes[i];
        if (node->kind != OP_CONV) continue;
        if (convs == 0 &&
            (node->in[0] != n->input || n->values[n->input].dims[1] > MAX_STEM_CHANNELS))
            return 0;
        if (++convs == 2) return i + 1;
    }
    return 0;
}

static bool exists(const net *n, const stem_choice *choice) {
    const net_node *node = NULL;
    for (int i = 0; i < n->n_nodes && !node; i++)
        if (n->nodes[i].kind == OP_CONV) node = &n->nodes[i];
    dnnl_memory_desc_t src = md_tag(&n->values[node->in[0]], choice->src);
    dnnl_memory_desc_t dst = md_tag(&n->values[node->out], choice->dst);
    dnnl_primitive_desc_t pd = pd_conv(n, node, src, dst, choice->skip);
    CHECK(dnnl_memory_desc_destroy(src));
    CHECK(dnnl_memory_desc_destroy(dst));
    if (pd) CHECK(dnnl_primitive_desc_destroy(pd));
    return pd != NULL;
}

static int make_candidates(const net *n, const plan_options *options, float *input,
                           candidate *candidates) {
    const dnnl_format_tag_t src[] = {dnnl_nhwc, dnnl_nchw}, dst[] = {dnnl_nhwc, md_blocked_tag()};
    int count = 0;
    for (int k = 0; k < MAX_CANDIDATES; k++) {
        const int pair = k / MAX_IMPLEMENTATIONS;
        candidate *c = &candidates[count];
        c->choice = (stem_choice){src[pair / 2], dst[pair % 2], k % MAX_IMPLEMENTATIONS};
        if (!exists(n, &c->choice)) continue;
        plan_options part = *options;
        part.stem = &c->choice;
        part.n_nodes = start_of_net(n);
        c->start = plan_new(n, &part, input);
        plan_time(c->start, 1, 1, &c->best_ms);
        count++;
    }
    return count;
}

/* In turns, so that a disturbance from outside meets all of them. */
static void time_candidates(candidate *candidates, int count) {
    const double begin = now_ms();
    for (int r = 0; r < MAX_ROUNDS && (r < MIN_ROUNDS || now_ms() - begin < budget_ms); r++) {
        for (int i = 0; i < count; i++) {
            double ms;
            plan_time(candidates[i].start, 0, 1, &ms);
            if (ms < candidates[i].best_ms) candidates[i].best_ms = ms;
        }
    }
}

bool stem_find(const net *n, const plan_options *options, float *input, stem_choice *best,
               FILE *report) {
    if (options->layout == LAYOUT_ANY || start_of_net(n) == 0) return false;
    candidate candidates[MAX_CANDIDATES];
    const int count = make_candidates(n, options, input, candidates);
    time_candidates(candidates, count);

    int winner = 0;
    for (int i = 0; i < count; i++) {
        if (candidates[i].best_ms < candidates[winner].best_ms) winner = i;
        if (report) {
            char text[128];
            plan_describe_stem(candidates[i].start, text, sizeof text);
            fprintf(report, "first conv %-32s %9.4f ms up to the second\n", text,
                    candidates[i].best_ms);
        }
        plan_free(candidates[i].start);
    }
    if (count > 0) *best = candidates[winner].choice;
    return count > 0;
}
