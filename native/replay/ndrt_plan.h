/* Plans: what those who change a recorded step between two runs call. */
#ifndef NDRT_PLAN_H
#define NDRT_PLAN_H

#include "ndrt_internal.h"

/* A call reads at most so many arrays. */
enum { NDRT_CALL_INPUTS = 64 };
/* From the next run on step `at` has its argument here. */
void ndrt_plan_bind(ndrt_plan *plan, int64_t at, int argument, void *data);
/* From the next run on the kernel of step `at` has this number there. */
void ndrt_plan_renumber(ndrt_plan *plan, int64_t at, int scalar, double value);

#endif
