/* crc32.h -- the checksum of ZIP, gzip and PNG: finds every error of up to 32 bits in a row.
 * Private to the library. */
#ifndef AT_IO_CRC32_H
#define AT_IO_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* Of n more bytes, after those whose checksum is crc (0: none).  For many bytes at once: each call
 * computes a table of 4 KiB first. */
uint32_t at_crc32(uint32_t crc, const void *bytes, size_t n);

#endif
