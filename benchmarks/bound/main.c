/* Runs one net as oneDNN primitives and prints how long that takes. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "peak.h"
#include "plan.h"
#include "prim.h"
#include "serve.h"
#include "util.h"

enum { PROFILE_ROUNDS = 10 };

typedef struct {
    double min, p25, median, p75, max, spread;
} timing;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double q) {
    const double at = q * (count - 1);
    const int low = (int)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

static timing summarise(double *ms, int count) {
    qsort(ms, (size_t)count, sizeof *ms, compare_doubles);
    timing t = {ms[0],
                quantile(ms, count, 0.25),
                quantile(ms, count, 0.5),
                quantile(ms, count, 0.75),
                ms[count - 1],
                0};
    t.spread = (t.p75 - t.p25) / t.median; /* the middle half: one disturbed run does not count */
    return t;
}

/* ---- what is printed ---- */
static void library_version(char *text, size_t size) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, size, "%d.%d.%d", v->major, v->minor, v->patch);
}

static void print_peak(const bound_options *o) {
    peak_result r[2];
    peak_measure(o->threads, r);
    if (o->json) {
        printf(
            "{\"tool\": \"bound\", \"peak\": {\"%s\": %.1f, \"%s\": %.1f}, \"unit\": \"GFLOP/s\", "
            "\"threads\": %d}\n",
            r[0].isa, r[0].gflops, r[1].isa, r[1].gflops, o->threads);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (r[i].gflops > 0)
            printf("%-9s %8.1f GFLOP/s f32 on %d thread%s\n", r[i].isa, r[i].gflops, o->threads,
                   o->threads == 1 ? "" : "s");
}

static void print_json(const bound_options *o, const plan *p, const timing *t, double build_ms) {
    char version[32], stem[128];
    library_version(version, sizeof version);
    plan_describe_stem(p, stem, sizeof stem);
    printf("{\"tool\": \"bound\", \"net\": \"%s\", \"mode\": \"%s\", \"layout\": \"%s\", "
           "\"batch\": %d, \"threads\": %d, \"rounds\": %d, ",
           o->net->name, mode_names[o->mode], layout_names[o->layout], o->batch, o->threads,
           o->rounds);
    printf("\"min_ms\": %.4f, \"p25_ms\": %.4f, \"median_ms\": %.4f, \"p75_ms\": %.4f, "
           "\"max_ms\": %.4f, \"spread\": %.4f, \"gflops\": %.1f, ",
           t->min, t->p25, t->median, t->p75, t->max, t->spread, net_flops(p->net) / t->min * 1e-6);
    printf("\"primitives\": %d, \"reorders\": %d, \"reorder_ms\": %.4f, \"reference\": %d, ",
           p->n_steps, plan_count_reorders(p), plan_reorder_ms(p), plan_count_reference(p));
    printf("\"arena_bytes\": %zu, \"weight_bytes\": %zu, \"scratchpad_bytes\": %zu, "
           "\"build_ms\": %.1f, \"stem\": \"%s\", \"onednn\": \"%s\", \"isa\": \"%s\"}\n",
           p->arena_bytes, p->weight_bytes, p->scratchpad_bytes, build_ms, stem, version,
           prim_isa());
}

static void print_text(const bound_options *o, const plan *p, const timing *t, double build_ms) {
    char version[32], stem[128];
    library_version(version, sizeof version);
    plan_describe_stem(p, stem, sizeof stem);
    printf("%s  mode %s  layout %s  batch %d  threads %d  (oneDNN %s, %s)\n", o->net->name,
           mode_names[o->mode], layout_names[o->layout], o->batch, o->threads, version, prim_isa());
    printf("  latency     min %.3f  median %.3f  max %.3f ms  spread %.1f %%  (%d runs)\n", t->min,
           t->median, t->max, t->spread * 100, o->rounds);
    printf("  arithmetic  %.2f GFLOP, %.1f GFLOP/s at best\n", net_flops(p->net) * 1e-9,
           net_flops(p->net) / t->min * 1e-6);
    printf("  primitives  %d, of them %d reorders (%.3f ms), %d reference implementations\n",
           p->n_steps, plan_count_reorders(p), plan_reorder_ms(p), plan_count_reference(p));
    printf("  memory      arena %.2f MB, weights %.2f MB, scratchpad %.2f MB\n",
           (double)p->arena_bytes * 1e-6, (double)p->weight_bytes * 1e-6,
           (double)p->scratchpad_bytes * 1e-6);
    printf("  first conv  %s;  build %.0f ms\n", stem, build_ms);
}

static void dump_logits(const plan *p, const char *path) {
    const net_value *v = &p->net->values[p->net->logits];
    const size_t count = (size_t)net_elements(v->ndims, v->dims);
    FILE *file = fopen(path, "wb");
    if (!file) die("%s: %s", path, strerror(errno));
    if (fwrite(plan_logits(p), sizeof(float), count, file) != count || fclose(file))
        die("%s: %s", path, strerror(errno));
}

static void check_logits(const plan *p) {
    const net_value *v = &p->net->values[p->net->logits];
    const int64_t count = net_elements(v->ndims, v->dims);
    const float *logits = plan_logits(p);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(logits[i])) die("logit %lld is not finite: times mean nothing", (long long)i);
}

/* ---- one run of the program ---- */
static net *make_net(const bound_options *o) {
    net *n = checked_calloc(1, sizeof *n);
    n->logits = n->output = NET_NONE;
    n->skips_unread = o->mode == MODE_FUSED;
    n->logits = o->net->build(n, o->batch);
    n->output = net_softmax(n, "softmax", n->logits);
    return n;
}

static void bench(const bound_options *o, net *n) {
    const double begin = now_ms();
    const net_value *in = &n->values[n->input];
    float *input = big_alloc((size_t)net_elements(in->ndims, in->dims) * sizeof *input);
    if (o->load)
        params_load(n, o->load, input);
    else
        params_random(n, o->seed, input);
    if (o->mode == MODE_FUSED) net_fuse(n);

    stem_choice stem;
    plan_options options = {.mode = o->mode, .layout = o->layout};
    /* Beside the JSON line nothing else may stand on standard output. */
    FILE *details = !o->verbose ? NULL : o->json ? stderr : stdout;
    if (stem_find(n, &options, input, &stem, details)) options.stem = &stem;

    double start = now_ms();
    plan *p = plan_new(n, &options, input);
    const double build_ms = now_ms() - start;
    if (o->serve) {
        const double load_ms = now_ms() - begin;
        plan_run(p);
        if (o->dump) dump_logits(p, o->dump);
        serve(p, load_ms);
        plan_free(p);
        free(input);
        return;
    }

    double *ms = checked_calloc((size_t)o->rounds, sizeof *ms);
    plan_time(p, o->warmup, o->rounds, ms);
    timing t = summarise(ms, o->rounds);
    check_logits(p);
    if (o->dump) dump_logits(p, o->dump);
    plan_profile(p, PROFILE_ROUNDS);

    if (details) plan_print_steps(p, details);
    (o->json ? print_json : print_text)(o, p, &t, build_ms);
    if (plan_count_reference(p))
        fputs("bound: some primitives are reference implementations, see --verbose\n", stderr);
    free(ms);
    plan_free(p);
    free(input);
}

int main(int argc, char **argv) {
    const bound_options o = options_read(argc, argv);
    omp_set_num_threads(o.threads);
    flush_subnormals();
    if (o.peak) {
        print_peak(&o);
        return 0;
    }
    net *n = make_net(&o);
    if (o.list_params)
        params_list(n, stdout);
    else
        bench(&o, n);
    for (int i = 0; i < n->n_params; i++) free(n->params[i].data);
    free(n);
    return 0;
}
