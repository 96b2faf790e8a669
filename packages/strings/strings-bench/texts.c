/* strlen, memcpy, strcmp, memchr, strstr and memset on texts of few to some thousand bytes, at any alignment. */
#include "strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 16, LONGEST = 4096 };

/* Mostly short, as texts are: powers of two, evenly, with any length between. */
static size_t draw_length(struct draws *draws)
{
    size_t span = (size_t)8 << (draw_number(draws) % 10);

    return span / 2 + draw_number(draws) % (span / 2);
}

uint64_t mix_texts(struct draws *draws, long operations)
{
    char *arena = malloc(ARENA_BYTES + LONGEST + 1), *copy = malloc(LONGEST + 1);
    uint64_t digest = 0;

    if (!arena || !copy) {
        perror("strings");
        exit(1);
    }
    for (size_t at = 0; at < ARENA_BYTES + LONGEST; at++)
        arena[at] = (char)('a' + draw_number(draws) % 26);
    arena[ARENA_BYTES + LONGEST] = '\0';
    for (long done = 0; done < operations; done++) {
        size_t length = draw_length(draws);
        char *text = arena + draw_number(draws) % ARENA_BYTES;
        char kept = text[length];

        text[length] = '\0';
        switch (done % 6) {
        case 0:
            digest += strlen(text);
            break;
        case 1:
            memcpy(copy, text, length + 1);
            digest += (unsigned char)copy[length / 2];
            break;
        case 2:
            memcpy(copy, text, length + 1);
            copy[length - 1] ^= 1;
            digest += strcmp(copy, text) > 0;
            break;
        case 3:
            digest += memchr(text, '~', length) == NULL;
            break;
        case 4:
            digest += strstr(text, "qz") != NULL;
            break;
        case 5:
            memset(copy, 'x', length);
            digest += (unsigned char)copy[length - 1];
            break;
        }
        text[length] = kept;
    }
    free(copy);
    free(arena);
    return digest;
}
