/* Plans: steps with their arguments fixed, run by one call. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "ndrt_internal.h"

typedef struct {
    const ndrt_prim *prim; /* NULL: a kernel */
    int nargs, nthreads;
    int is_whole;          /* behind it no array is half written */
    dnnl_exec_arg_t *args; /* with memory objects of the step's own */
    ndrt_kernel_call kernel;
} step;

struct ndrt_plan {
    step *steps;
    int64_t nsteps, room;
    double took; /* the last run with a budget, in milliseconds; HUGE_VAL: none that came through */
};
/* Of plans that take a small part of the budget: how many steps run between looks at the clock. */
enum { LOOK_EACH = 32 };

ndrt_status ndrt_plan_new(ndrt_plan **out) {
    ndrt_plan *plan = ndrt_calloc(1, sizeof *plan);
    if (!plan) return ndrt_fail(NDRT_NOMEM, "no memory for a plan");
    plan->took = HUGE_VAL;
    *out = plan;
    return NDRT_OK;
}

void ndrt_plan_cut(ndrt_plan *plan, int64_t nsteps) {
    plan->took = HUGE_VAL;
    while (plan->nsteps > nsteps && plan->nsteps > 0) {
        step *last = &plan->steps[--plan->nsteps];
        ndrt_args_destroy(last->nargs, last->args);
        free(last->args);
    }
}

void ndrt_plan_free(ndrt_plan *plan) {
    if (!plan) return;
    ndrt_plan_cut(plan, 0);
    free(plan->steps);
    free(plan);
}

static ndrt_status make_room(ndrt_plan *plan) {
    plan->took = HUGE_VAL; /* what it took says nothing of a plan with one step more */
    if (plan->nsteps < plan->room) return NDRT_OK;
    int64_t room = plan->room ? plan->room * 2 : 64;
    step *bigger = NULL;
    if (ndrt_allocation_allowed())
        bigger = realloc(plan->steps, (size_t)room * sizeof *plan->steps);
    if (!bigger) return ndrt_fail(NDRT_NOMEM, "no memory for %lld steps", (long long)room);
    plan->steps = bigger;
    plan->room = room;
    return NDRT_OK;
}

ndrt_status ndrt_plan_add_prim(ndrt_plan *plan, const ndrt_prim *prim, int nargs,
                               const ndrt_arg *args) {
    TRY(ndrt_args_check(prim, nargs, args));
    TRY(ndrt_reserve_heap());
    TRY(make_room(plan));
    dnnl_exec_arg_t *made = ndrt_malloc((size_t)nargs * sizeof *made);
    if (!made) return ndrt_fail(NDRT_NOMEM, "no memory for %d arguments", nargs);
    ndrt_status status = ndrt_args_make(nargs, args, made);
    if (status != NDRT_OK) {
        free(made);
        return status;
    }
    plan->steps[plan->nsteps++] =
        (step){.prim = prim, .nargs = nargs, .nthreads = prim->nthreads, .args = made};
    return NDRT_OK;
}

ndrt_status ndrt_plan_add_kernel(ndrt_plan *plan, const ndrt_kernel_call *call) {
    TRY(ndrt_kernel_check(call));
    TRY(make_room(plan));
    plan->steps[plan->nsteps++] = (step){.nthreads = ndrt_kernel_threads(call), .kernel = *call};
    return NDRT_OK;
}

int64_t ndrt_plan_size(const ndrt_plan *plan) { return plan->nsteps; }

void ndrt_plan_mark_whole(ndrt_plan *plan) {
    if (plan->nsteps) plan->steps[plan->nsteps - 1].is_whole = 1;
}

void ndrt_plan_bind(ndrt_plan *plan, int64_t at, int argument, void *data) {
    step *s = &plan->steps[at];
    if (s->prim)
        dnnl_memory_set_data_handle(s->args[argument].memory, data);
    else
        s->kernel.data[argument] = data;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

ndrt_status ndrt_plan_run(ndrt_plan *plan, double budget_ms, int64_t *cursor) {
    return ndrt_plan_profile(plan, budget_ms, cursor, NULL);
}

ndrt_status ndrt_plan_profile(ndrt_plan *plan, double budget_ms, int64_t *cursor, double *times) {
    if (*cursor < 0 || *cursor > plan->nsteps)
        return ndrt_fail(NDRT_INVALID, "step %lld of a plan of %lld", (long long)*cursor,
                         (long long)plan->nsteps);
    if (*cursor == plan->nsteps) return NDRT_OK;
    double started = budget_ms >= 0 ? now_ms() : 0;
    /* A plan of small steps would spend a tenth of its time on looking at the clock. */
    int is_short = plan->took < budget_ms / 4, from_start = !*cursor, unlooked = 0;
    ndrt_native_state state;
    TRY(ndrt_enter(&state, plan->steps[*cursor].nthreads));
    /* inside of the gate: no fork while a lock of malloc's is held */
    ndrt_status status = ndrt_reserve_heap();
    double begun = times ? now_ms() : 0;
    while (*cursor < plan->nsteps && status == NDRT_OK) {
        const step *s = &plan->steps[*cursor];
        status = ndrt_use_threads(s->nthreads);
        if (status != NDRT_OK) break;
        status = s->prim ? ndrt_prim_execute(s->prim, s->nargs, s->args)
                         : ndrt_kernel_execute(&s->kernel, s->nthreads);
        if (times) {
            /* one reading a step: the times of all of them are the time of the run */
            double ended = now_ms();
            times[*cursor] = ended - begun;
            begun = ended;
        }
        if (status == NDRT_OK) ++*cursor;
        if (budget_ms < 0 || !s->is_whole || (is_short && ++unlooked % LOOK_EACH)) continue;
        if (now_ms() >= started + budget_ms) break;
    }
    if (budget_ms >= 0 && from_start)
        plan->took = *cursor < plan->nsteps ? HUGE_VAL : now_ms() - started;
    ndrt_leave(&state);
    return status;
}
