#include "serve.h"

#include <stdio.h>
#include <stdlib.h>

#include "util.h"

static void answer(plan *p, int warmup, int runs) {
    double *ms = checked_calloc((size_t)runs, sizeof *ms);
    plan_time(p, warmup, runs, ms);
    for (int i = 0; i < runs; i++) printf("%s%.6f", i ? ", " : "[", ms[i]);
    puts("]");
    free(ms);
}

void serve(plan *p, double load_ms) {
    const dnnl_version_t *v = dnnl_version();
    printf("{\"version\": \"oneDNN %d.%d.%d\", \"load_s\": %.6f}\n", v->major, v->minor, v->patch,
           load_ms * 1e-3);
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int warmup, runs;
        if (sscanf(line, "%d %d", &warmup, &runs) != 2 || warmup < 0 || runs < 1)
            die("%s: expected two numbers, of runs that are not timed and of others", line);
        answer(p, warmup, runs);
        fflush(stdout);
    }
    printf("{\"gflop\": %.6f, \"reorders\": %d, \"reference\": %d}\n", net_flops(p->net) * 1e-9,
           plan_count_reorders(p), plan_count_reference(p));
}
