/* Mixes blocks of bytes by shifts, sums and exclusive ors: arithmetic of whole numbers without any branch. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 14, TURNS = 500 };

static uint32_t turn_left(uint32_t word, int by)
{
    return word << by | word >> (32 - by);
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    static uint32_t block[BYTES / 4];
    if (size < 1)
        return 2;
    for (int at = 0; at < BYTES / 4; at++)
        block[at] = (uint32_t)at * 2654435761u;
    uint32_t a = 1, b = 2, c = 3, d = 4;
    for (long turn = 0; turn < size * TURNS; turn++)
        for (int at = 0; at < BYTES / 4; at += 4) {
            a += b + block[at];
            d = turn_left(d ^ a, 16);
            c += d + block[at + 1];
            b = turn_left(b ^ c, 12);
            a += b + block[at + 2];
            d = turn_left(d ^ a, 8);
            c += d + block[at + 3];
            b = turn_left(b ^ c, 7);
        }
    printf("%08x%08x%08x%08x\n", a, b, c, d);
    return 0;
}
