/* Timing on request, for a program that lets several runners take turns. */
#ifndef BOUND_SERVE_H
#define BOUND_SERVE_H

#include "plan.h"

/* Prints a line of JSON, then for each line "WARMUP RUNS" of standard input the milliseconds of
 * the runs as a JSON list, and at the end of input a line of JSON about the plan. */
void serve(plan *p, double load_ms);

#endif
