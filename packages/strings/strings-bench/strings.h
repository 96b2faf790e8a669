/* What the files of the benchmark share. */
#ifndef STRINGS_H
#define STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* One generator for each thread: the same numbers in every trial. */
struct draws {
    uint64_t state;
};

static inline uint32_t draw_number(struct draws *draws)
{
    draws->state = draws->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(draws->state >> 33);
}

/* Operations on texts with the C library's string functions; returns what depends on every result. */
uint64_t mix_texts(struct draws *draws, long operations);

/* Requests for memory, of which `held` live at any time; returns what depends on every result. */
uint64_t mix_small(struct draws *draws, long operations);
uint64_t mix_sizes(struct draws *draws, long operations);
uint64_t mix_growing(struct draws *draws, long operations);

#endif
