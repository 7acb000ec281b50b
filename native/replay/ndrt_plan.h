/* Plans: functions that change a recorded step between two runs. */
#ifndef NDRT_PLAN_H
#define NDRT_PLAN_H

#include "ndrt_internal.h"

/* Most arrays that a call reads. */
enum { NDRT_CALL_INPUTS = 64 };
/* Sets the memory of an argument of step `at` for later runs. */
void ndrt_plan_bind(ndrt_plan *plan, int64_t at, int argument, void *data);
/* Sets a number of the kernel of step `at` for later runs. */
void ndrt_plan_renumber(ndrt_plan *plan, int64_t at, int scalar, double value);

#endif
