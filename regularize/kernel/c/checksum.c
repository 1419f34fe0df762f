/* Whether arrays of NumPy hold tables of a machine. */
#include "tables.h"

#define ONE_MORE(name) +1

/* The checksum of bytes behind others (CRC-32, as that of zlib). */
static uint32_t checksum(uint32_t before, const void *bytes, size_t count) {
    const unsigned char *byte = bytes;
    uint32_t of[256], sum = ~before;
    for (uint32_t i = 0; i < 256; ++i) {
        of[i] = i;
        for (int bit = 0; bit < 8; ++bit) of[i] = (of[i] >> 1) ^ (of[i] & 1 ? 0xedb88320u : 0u);
    }
    while (count-- > 0) sum = of[(sum ^ *byte++) & 0xff] ^ (sum >> 8);
    return ~sum;
}

/* Whether arrays hold tables of this form as they were made: the last whole number is the checksum
 * of all others and of the real numbers. Every index in them is then what Python found. */
static int fits(const Py_buffer *integers, const Py_buffer *reals) {
    enum { HEAD = 0 INTEGERS(ONE_MORE) REALS(ONE_MORE) };
    const int *number = integers->buf;
    if (!holds(integers, "il", sizeof(int)) || !holds(reals, "d", sizeof(double))) return 0;
    const Py_ssize_t last = integers->len / (Py_ssize_t)sizeof(int) - 1;
    if (last < HEAD + number_of_sizes || number[1] - number[0] != number_of_sizes) return 0;
    const uint32_t sum = checksum(0, number, (size_t)last * sizeof(int));
    return checksum(sum, reals->buf, (size_t)reals->len) == (uint32_t)number[last];
}

#undef ONE_MORE
