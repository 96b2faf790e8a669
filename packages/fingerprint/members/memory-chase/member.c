/* Follows pointers all over 32 MiB: each waits for the memory's answer to the one before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 19, STEPS = 1000000 };

struct place {
    struct place *next;
    char rest[64 - sizeof(struct place *)];
};

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    struct place *places = malloc(COUNT * sizeof *places);
    uint32_t *order = malloc(COUNT * sizeof *order), state = 3;
    if (size < 1 || !places || !order)
        return 2;
    for (uint32_t at = 0; at < COUNT; at++)
        order[at] = at;
    for (uint32_t at = COUNT - 1; at > 0; at--) {
        state = state * 1664525u + 1013904223u;
        uint32_t other = (uint32_t)((uint64_t)state * (at + 1) >> 32), kept = order[at];
        order[at] = order[other];
        order[other] = kept;
    }
    for (uint32_t at = 0; at < COUNT; at++)
        places[order[at]].next = &places[order[(at + 1) % COUNT]];
    struct place *at = places;
    for (long step = 0; step < size * STEPS; step++)
        at = at->next;
    printf("%td\n", at - places);
    return 0;
}
