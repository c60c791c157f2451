/* cpus.h -- how many CPUs this process may use, which is not how many there are. */
#ifndef AT_KERNELS_CPUS_H
#define AT_KERNELS_CPUS_H
#include <pthread.h>

/* At least 1.  On Linux the smaller of the affinity mask (taskset, cpusets) and the CPU quota of the
 * control group (containers); elsewhere the CPUs that are online. */
int at_cpus(void);

/* The quota alone, rounded up to whole CPUs; 0 if there is none.  groups is the list of this
 * process' control groups (/proc/self/cgroup), mount where their files are (/sys/fs/cgroup). */
int at_cpus_of_quota(const char *groups, const char *mount);

/* The CPU that the calling thread runs on, or -1 if the system does not say. */
int at_cpu_here(void);

/* Lets n threads run wherever the caller may, but for this CPU, if that leaves one for each of them. */
void at_cpu_reserve(int cpu, int n, const pthread_t *threads);

#endif
