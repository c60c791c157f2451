/* cpus.h -- how many CPUs this process may use, which is not how many there are. */
#ifndef AT_KERNELS_CPUS_H
#define AT_KERNELS_CPUS_H

/* At least 1.  On Linux the smaller of the affinity mask (taskset, cpusets) and the CPU quota of the
 * control group (containers); elsewhere the CPUs that are online. */
int at_cpus(void);

/* The quota alone, rounded up to whole CPUs; 0 if there is none.  groups is the list of this
 * process' control groups (/proc/self/cgroup), mount where their files are (/sys/fs/cgroup). */
int at_cpus_of_quota(const char *groups, const char *mount);

#endif
