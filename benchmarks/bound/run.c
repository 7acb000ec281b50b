/* Running a plan, and what can be said about it afterwards. */
#include "plan.h"
#include "prim.h"
#include "util.h"

static void run_step(const plan *p, const plan_step *s) {
    CHECK(dnnl_primitive_execute(s->primitive, p->stream, s->n_exec, s->exec));
}

void plan_run(plan *p) {
    for (int i = 0; i < p->n_steps; i++) run_step(p, &p->steps[i]);
    CHECK(dnnl_stream_wait(p->stream));
}

const float *plan_logits(const plan *p) {
    return (const float *)(const void *)p->tensors[p->tensors[p->logits].root].data;
}

void plan_time(plan *p, int warmup, int rounds, double *ms) {
    for (int i = 0; i < warmup; i++) plan_run(p);
    for (int i = 0; i < rounds; i++) {
        double start = now_ms();
        plan_run(p);
        ms[i] = now_ms() - start;
    }
}

void plan_profile(plan *p, int rounds) {
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < p->n_steps; i++) {
            plan_step *s = &p->steps[i];
            double start = now_ms();
            run_step(p, s);
            CHECK(dnnl_stream_wait(p->stream));
            double ms = now_ms() - start;
            if (r == 0 || ms < s->best_ms) s->best_ms = ms;
        }
    }
}

int plan_count_reorders(const plan *p) {
    int count = 0;
    for (int i = 0; i < p->n_steps; i++) count += p->steps[i].is_reorder;
    return count;
}

int plan_count_reference(const plan *p) {
    int count = 0;
    for (int i = 0; i < p->n_steps; i++) count += pd_is_reference(p->steps[i].pd);
    return count;
}

double plan_reorder_ms(const plan *p) {
    double sum = 0;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].is_reorder) sum += p->steps[i].best_ms;
    return sum;
}

void plan_describe_stem(const plan *p, char *text, size_t size) {
    snprintf(text, size, "none"); /* a net without convolutions */
    for (int i = 0; i < p->n_steps; i++) {
        const plan_step *s = &p->steps[i];
        if (s->is_reorder || s->node->kind != OP_CONV) continue;
        char src[32], dst[32];
        md_name(pd_md(s->pd, dnnl_query_src_md), src, sizeof src);
        md_name(pd_md(s->pd, dnnl_query_dst_md), dst, sizeof dst);
        snprintf(text, size, "%s>%s %s", src, dst, pd_impl(s->pd));
        return;
    }
}

static void layout_of(const plan *p, const plan_step *s, int arg, char *name, size_t size) {
    snprintf(name, size, "-");
    for (int a = 0; a < s->n_args; a++)
        if (s->args[a].name == arg) md_name(p->tensors[s->args[a].tensor].md, name, size);
}

void plan_print_steps(const plan *p, FILE *to) {
    fprintf(to, "%4s %-18s %-10s %-28s %-10s %-12s %-10s %9s\n", "step", "node", "what",
            "implementation", "source", "weights", "result", "ms");
    for (int i = 0; i < p->n_steps; i++) {
        const plan_step *s = &p->steps[i];
        char src[32], weights[32], dst[32];
        layout_of(p, s, DNNL_ARG_SRC, src, sizeof src);
        if (s->node->kind == OP_CONCAT && !s->is_reorder)
            layout_of(p, s, DNNL_ARG_MULTIPLE_SRC, src, sizeof src);
        layout_of(p, s, DNNL_ARG_WEIGHTS, weights, sizeof weights);
        layout_of(p, s, DNNL_ARG_DST, dst, sizeof dst);
        fprintf(to, "%4d %-18s %-10s %-28s %-10s %-12s %-10s %9.4f\n", i, s->node->name.text,
                s->is_reorder ? "reorder" : op_name(s->node->kind), pd_impl(s->pd), src, weights,
                dst, s->best_ms);
    }
}
