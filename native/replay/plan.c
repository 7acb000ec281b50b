/* Plans: steps with fixed arguments, run by one call. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/ndrt_kernel.h"
#include "ndrt_plan.h"
#include "onednn/ndrt_onednn.h"

typedef struct {
    const ndrt_prim *prim; /* NULL: a kernel */
    int nargs, nthreads;
    int is_consistent;     /* after it no array is half written */
    int is_stop;           /* nothing runs: the caller does something */
    dnnl_exec_arg_t *args; /* with memory objects of the step's own */
    ndrt_kernel_call kernel;
} step;

/* Steps [begin, ends[0]), [ends[0], ends[1]), ...: one thread runs each range. */
typedef struct {
    int64_t begin;
    int count;
    int64_t *ends;
} lanes;

struct ndrt_plan {
    step *steps;
    int64_t nsteps, room;
    lanes *lanes;
    int64_t nlanes;
    double took; /* the last run with a budget, in milliseconds; HUGE_VAL: none that came through */
};
/* The clock is read after so many steps if the last run took a small part of the budget. */
enum { LOOK_EACH = 32 };

ndrt_status ndrt_plan_new(ndrt_plan **out) {
    ndrt_plan *plan = ndrt_calloc(1, sizeof *plan);
    if (!plan) return ndrt_fail(NDRT_NOMEM, "no memory for a plan");
    plan->took = HUGE_VAL;
    *out = plan;
    return NDRT_OK;
}

static int64_t end_of(const lanes *group) { return group->ends[group->count - 1]; }

void ndrt_plan_cut(ndrt_plan *plan, int64_t nsteps) {
    plan->took = HUGE_VAL;
    while (plan->nlanes && end_of(&plan->lanes[plan->nlanes - 1]) > nsteps)
        free(plan->lanes[--plan->nlanes].ends);
    while (plan->nsteps > nsteps && plan->nsteps > 0) {
        step *last = &plan->steps[--plan->nsteps];
        ndrt_args_destroy(last->nargs, last->args);
        free(last->args);
    }
}

void ndrt_plan_free(ndrt_plan *plan) {
    if (!plan) return;
    ndrt_plan_cut(plan, 0);
    while (plan->nlanes) free(plan->lanes[--plan->nlanes].ends);
    free(plan->lanes);
    free(plan->steps);
    free(plan);
}

static ndrt_status make_room(ndrt_plan *plan) {
    plan->took = HUGE_VAL; /* unknown for a plan with one step more */
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

ndrt_status ndrt_plan_add_stop(ndrt_plan *plan) {
    TRY(make_room(plan));
    plan->steps[plan->nsteps++] = (step){.nthreads = 1, .is_stop = 1};
    return NDRT_OK;
}

int ndrt_plan_stops_at(const ndrt_plan *plan, int64_t at) {
    return at < plan->nsteps && plan->steps[at].is_stop;
}

static ndrt_status check_lanes(const ndrt_plan *plan, int64_t begin, int count,
                               const int64_t *ends) {
    int64_t before = plan->nlanes ? end_of(&plan->lanes[plan->nlanes - 1]) : 0, at = begin;
    if (begin < before || count < 1)
        return ndrt_fail(NDRT_INVALID, "%d lanes from step %lld, where others end at %lld", count,
                         (long long)begin, (long long)before);
    for (int i = 0; i < count; i++) {
        if (ends[i] < at || ends[i] > plan->nsteps)
            return ndrt_fail(NDRT_INVALID, "a lane up to step %lld of %lld, from %lld",
                             (long long)ends[i], (long long)plan->nsteps, (long long)at);
        for (; at < ends[i]; at++)
            if (plan->steps[at].is_stop)
                return ndrt_fail(NDRT_INVALID, "step %lld of a lane is a stop", (long long)at);
            else if (plan->steps[at].nthreads != 1)
                return ndrt_fail(NDRT_INVALID, "step %lld of a lane works with %d threads",
                                 (long long)at, plan->steps[at].nthreads);
    }
    return NDRT_OK;
}

ndrt_status ndrt_plan_add_lanes(ndrt_plan *plan, int64_t begin, int count, const int64_t *ends) {
    TRY(check_lanes(plan, begin, count, ends));
    lanes *more = NULL;
    int64_t *copy = ndrt_malloc((size_t)count * sizeof *copy);
    if (copy && ndrt_allocation_allowed())
        more = realloc(plan->lanes, (size_t)(plan->nlanes + 1) * sizeof *more);
    if (!more) {
        free(copy);
        return ndrt_fail(NDRT_NOMEM, "no memory for %d lanes", count);
    }
    memcpy(copy, ends, (size_t)count * sizeof *copy);
    plan->lanes = more;
    plan->lanes[plan->nlanes++] = (lanes){begin, count, copy};
    return NDRT_OK;
}

int64_t ndrt_plan_size(const ndrt_plan *plan) { return plan->nsteps; }

void ndrt_plan_mark_consistent(ndrt_plan *plan) {
    if (plan->nsteps) plan->steps[plan->nsteps - 1].is_consistent = 1;
}

void ndrt_plan_bind(ndrt_plan *plan, int64_t at, int argument, void *data) {
    step *s = &plan->steps[at];
    if (s->prim)
        dnnl_memory_set_data_handle(s->args[argument].memory, data);
    else
        s->kernel.data[argument] = data;
}

void ndrt_plan_renumber(ndrt_plan *plan, int64_t at, int scalar, double value) {
    plan->steps[at].kernel.numbers[scalar] = value;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static ndrt_status execute(const step *s) {
    return s->prim ? ndrt_prim_execute(s->prim, s->nargs, s->args)
                   : ndrt_kernel_execute(&s->kernel, s->nthreads);
}

/* The first step that failed in lanes, and its error. */
typedef struct {
    ndrt_status status;
    int64_t at;
    char text[1024];
} failure;

static void run_lane(const ndrt_plan *plan, const lanes *group, int lane, failure *first,
                     double *times) {
    double begun = times ? now_ms() : 0;
    for (int64_t i = lane ? group->ends[lane - 1] : group->begin; i < group->ends[lane]; i++) {
        const ndrt_status status = execute(&plan->steps[i]);
        if (times) {
            /* as a share of the time of the run */
            const double ended = now_ms();
            times[i] = (ended - begun) / group->count;
            begun = ended;
        }
        if (status == NDRT_OK) continue;
#pragma omp critical(ndrt_lane_failed)
        if (first->status == NDRT_OK || i < first->at) {
            first->status = status;
            first->at = i;
            strncpy(first->text, ndrt_last_error(), sizeof first->text - 1);
        }
        return;
    }
}

static ndrt_status run_lanes(const ndrt_plan *plan, const lanes *group, int64_t *cursor,
                             double *times) {
    TRY(ndrt_use_threads(group->count));
    failure first = {.status = NDRT_OK};
#pragma omp parallel num_threads(group->count)
    {
        omp_set_num_threads(1); /* for this thread, until the region ends */
#pragma omp for schedule(static, 1)
        for (int lane = 0; lane < group->count; lane++) run_lane(plan, group, lane, &first, times);
    }
    *cursor = first.status == NDRT_OK ? end_of(group) : first.at;
    return first.status == NDRT_OK ? NDRT_OK : ndrt_fail(first.status, "%s", first.text);
}

ndrt_status ndrt_plan_run(ndrt_plan *plan, double budget_ms, int64_t *cursor) {
    return ndrt_plan_profile(plan, budget_ms, cursor, NULL);
}

ndrt_status ndrt_plan_profile(ndrt_plan *plan, double budget_ms, int64_t *cursor, double *times) {
    if (*cursor < 0 || *cursor > plan->nsteps)
        return ndrt_fail(NDRT_INVALID, "step %lld of a plan of %lld", (long long)*cursor,
                         (long long)plan->nsteps);
    if (*cursor == plan->nsteps || plan->steps[*cursor].is_stop) return NDRT_OK;
    double started = budget_ms >= 0 ? now_ms() : 0;
    /* A plan of small steps would spend a tenth of its time reading the clock. */
    int is_short = plan->took < budget_ms / 4, from_start = !*cursor, unlooked = 0;
    ndrt_native_state state;
    TRY(ndrt_enter(&state, plan->steps[*cursor].nthreads));
    /* inside the gate, so that no fork happens while malloc's lock is held */
    ndrt_status status = ndrt_reserve_heap();
    double begun = times ? now_ms() : 0;
    int64_t next = 0; /* the first lanes that the run has not reached */
    while (next < plan->nlanes && plan->lanes[next].begin < *cursor) next++;
    while (*cursor < plan->nsteps && status == NDRT_OK) {
        if (next < plan->nlanes && plan->lanes[next].begin == *cursor) {
            status = run_lanes(plan, &plan->lanes[next++], cursor, times);
            if (times) begun = now_ms();
            if (status != NDRT_OK || *cursor == plan->nsteps) break;
            if (budget_ms >= 0 && now_ms() >= started + budget_ms) break;
            continue;
        }
        const step *s = &plan->steps[*cursor];
        if (s->is_stop) break;
        status = ndrt_use_threads(s->nthreads);
        if (status != NDRT_OK) break;
        status = execute(s);
        if (times) {
            /* one reading per step, so that the times add up to the time of the run */
            double ended = now_ms();
            times[*cursor] = ended - begun;
            begun = ended;
        }
        if (status == NDRT_OK) ++*cursor;
        if (budget_ms < 0 || !s->is_consistent || (is_short && ++unlooked % LOOK_EACH)) continue;
        if (now_ms() >= started + budget_ms) break;
    }
    if (budget_ms >= 0 && from_start)
        plan->took = *cursor < plan->nsteps ? HUGE_VAL : now_ms() - started;
    ndrt_leave(&state);
    return status;
}
