/* linkage.h -- between these two, what a header declares can be called from C++ as well. */
#ifndef AT_KERNELS_LINKAGE_H
#define AT_KERNELS_LINKAGE_H

#ifdef __cplusplus
#define AT_BEGIN_C extern "C" {
#define AT_END_C }
#else
#define AT_BEGIN_C
#define AT_END_C
#endif

#endif
