/* The number of threads of native code: as set, or what this process may use. */
#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ndrt_internal.h"

enum { MAX_THREADS = 1024, USUAL_THREADS = 256 };

static int threads_setting;            /* 0: not asked for yet */
static _Thread_local int threads_here; /* 0: what the setting says */

/* OpenMP ends the process if the system refuses a further thread, which nobody can catch. */
static int most_threads(void) {
    long cores = sysconf(_SC_NPROCESSORS_CONF);
    long most = cores > MAX_THREADS / 4 ? MAX_THREADS : 4 * cores;
    return most > USUAL_THREADS ? (int)most : USUAL_THREADS;
}

static int from_environment(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    char *end;
    long n = strtol(text, &end, 10);
    /* "4,2" gives the counts of nested levels, of which the first is used. */
    return end != text && (*end == '\0' || *end == ',') && n >= 1 && n <= most_threads() ? (int)n
                                                                                         : 0;
}

/* The first line of `folder`/`name`, without line end; 0 if there is none. */
static int read_line(const char *root, const char *folder, const char *name, char *line, int room) {
    char path[2 * PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s/%s", root, folder, name) >= (int)sizeof path) return 0;
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int got = fgets(line, room, file) != NULL;
    fclose(file);
    if (got) line[strcspn(line, "\n")] = '\0';
    return got;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

/* Two hardware threads of one core share its arithmetic units: a CPU is counted unless an earlier
 * one of the set belongs to the same core. */
static int is_first_of_core(const char *root, int cpu, const cpu_set_t *set) {
    char folder[64], line[256];
    snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/topology", cpu);
    if (!read_line(root, folder, "thread_siblings_list", line, sizeof line)) return 1;
    for (char *at = line; isdigit((unsigned char)*at);) { /* "0,32" or "0-1" */
        long from = strtol(at, &at, 10), to = from;
        if (*at == '-') to = strtol(at + 1, &at, 10);
        for (long sibling = from; sibling <= to && sibling < cpu; sibling++)
            if (sibling < CPU_SETSIZE && CPU_ISSET((size_t)sibling, set)) return 0;
        if (*at == ',') at++;
    }
    return 1;
}

static int from_affinity(const char *root) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int cores = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set)) cores += is_first_of_core(root, cpu, &set);
    return cores < 1 ? 1 : cores < MAX_THREADS ? cores : MAX_THREADS;
}

/* ---- quotas of control groups ------------------------------------------------------------------
 */

/* CPUs that the quota of one group allows, rounded up; MAX_THREADS without a quota. */
static int quota_at(const char *root, const char *group, int version) {
    char line[128];
    long long quota = -1, period = 0;
    if (version == 2) { /* "max 100000" has no number where the quota stands */
        if (!read_line(root, group, "cpu.max", line, sizeof line) ||
            sscanf(line, "%lld %lld", &quota, &period) != 2)
            return MAX_THREADS;
    } else if (!read_line(root, group, "cpu.cfs_quota_us", line, sizeof line) ||
               sscanf(line, "%lld", &quota) != 1 ||
               !read_line(root, group, "cpu.cfs_period_us", line, sizeof line) ||
               sscanf(line, "%lld", &period) != 1) {
        return MAX_THREADS;
    }
    if (quota <= 0 || period <= 0) return MAX_THREADS;
    long long cpus = quota / period + (quota % period != 0);
    return cpus < MAX_THREADS ? (int)cpus : MAX_THREADS;
}

/* The smallest quota of a group and its ancestors. Inside a container the path may be the host's,
 * of which only the end, or nothing, is visible: groups that do not exist are skipped. */
static int smallest_quota(const char *root, const char *mount, const char *group, int version) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", mount, strcmp(group, "/") ? group : "");
    if (length < 0 || length >= (int)sizeof path) return MAX_THREADS;
    int smallest = MAX_THREADS;
    for (;;) {
        int found = quota_at(root, path, version);
        if (found < smallest) smallest = found;
        char *last = strrchr(path, '/');
        if (!last || (size_t)(last - path) < strlen(mount)) return smallest;
        *last = '\0';
    }
}

static int has_controller(const char *list, const char *wanted) {
    size_t length = strlen(wanted);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, wanted, length) && (at[length] == ',' || at[length] == '\0')) return 1;
    return 0;
}

/* Lines of /proc/self/cgroup: "0::/group" (version 2), "4:cpu,cpuacct:/group" (version 1). */
static int quota_of_line(const char *root, char *line) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group || group[1] != '/') return MAX_THREADS;
    *controllers++ = *group++ = '\0';
    if (!*controllers) {
        int found = smallest_quota(root, "/sys/fs/cgroup", group, 2);
        int hybrid = smallest_quota(root, "/sys/fs/cgroup/unified", group, 2);
        return hybrid < found ? hybrid : found;
    }
    if (!has_controller(controllers, "cpu")) return MAX_THREADS;
    int found = smallest_quota(root, "/sys/fs/cgroup/cpu", group, 1);
    int joint = smallest_quota(root, "/sys/fs/cgroup/cpu,cpuacct", group, 1);
    return joint < found ? joint : found;
}

static int from_quota(const char *root) {
    char path[PATH_MAX], line[PATH_MAX];
    int smallest = MAX_THREADS;
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
        return smallest;
    FILE *file = fopen(path, "r");
    if (!file) return smallest;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        int found = quota_of_line(root, line);
        if (found < smallest) smallest = found;
    }
    fclose(file);
    return smallest;
}

/* ---- the setting -------------------------------------------------------------------------------
 */

int ndrt_threads_default(const char *root) {
    int asked = from_environment();
    if (asked) return asked;
    int cores = from_affinity(root), quota = from_quota(root);
    return quota < cores ? quota : cores;
}

void ndrt_threads_here(int threads) { threads_here = threads; }

int ndrt_threads_get(void) {
    if (threads_here) return threads_here;
    int threads = __atomic_load_n(&threads_setting, __ATOMIC_RELAXED);
    if (!threads) {
        threads = ndrt_threads_default("");
        __atomic_store_n(&threads_setting, threads, __ATOMIC_RELAXED);
    }
    return threads;
}

ndrt_status ndrt_threads_set(int threads) {
    if (threads < 1 || threads > most_threads())
        return ndrt_fail(NDRT_INVALID, "%d threads: expected 1 to %d", threads, most_threads());
    __atomic_store_n(&threads_setting, threads, __ATOMIC_RELAXED);
    return NDRT_OK;
}
