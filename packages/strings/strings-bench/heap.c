/* Patterns of malloc and free. Each request is written to, so that its memory is really there. */
#include "strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 4096 };

static char *allocate(char *old, size_t bytes)
{
    char *block = old ? realloc(old, bytes) : malloc(bytes);

    if (!block) {
        perror("strings");
        exit(1);
    }
    return block;
}

/* Replaces one of the held blocks by another, at random; in the end all are freed. */
static uint64_t replace_blocks(struct draws *draws, long operations, size_t (*draw_bytes)(struct draws *))
{
    char **held = calloc(HELD, sizeof *held);
    uint64_t digest = 0;

    if (!held) {
        perror("strings");
        exit(1);
    }
    for (long done = 0; done < operations; done++) {
        size_t at = draw_number(draws) % HELD, bytes = draw_bytes(draws);

        if (held[at])
            digest += (unsigned char)held[at][0];
        free(held[at]);
        held[at] = allocate(NULL, bytes);
        held[at][0] = (char)done;
        held[at][bytes - 1] = (char)bytes;
    }
    for (size_t at = 0; at < HELD; at++)
        free(held[at]);
    free(held);
    return digest;
}

static size_t draw_small(struct draws *draws)
{
    return 8 + draw_number(draws) % 120;
}

/* From 16 bytes to 64 KiB, each power of two as likely. */
static size_t draw_any(struct draws *draws)
{
    size_t span = (size_t)32 << (draw_number(draws) % 12);

    return span / 2 + draw_number(draws) % (span / 2);
}

uint64_t mix_small(struct draws *draws, long operations)
{
    return replace_blocks(draws, operations, draw_small);
}

uint64_t mix_sizes(struct draws *draws, long operations)
{
    return replace_blocks(draws, operations, draw_any);
}

/* Texts that grow as they are appended to, as buffers do. */
uint64_t mix_growing(struct draws *draws, long operations)
{
    uint64_t digest = 0;

    for (long done = 0; done < operations;) {
        size_t used = 0, room = 16, wanted = (size_t)1 << (6 + draw_number(draws) % 12);
        char *text = allocate(NULL, room);

        while (used < wanted && done < operations) {
            size_t more = 1 + draw_number(draws) % 64;

            if (used + more > room) {
                while (used + more > room)
                    room *= 2;
                text = allocate(text, room);
            }
            memset(text + used, 'g', more);
            used += more;
            done++;
        }
        digest += used + (unsigned char)text[used / 2];
        free(text);
    }
    return digest;
}
