/* Counts words of a text in a table: bytes read one by one, comparisons of texts, chains of a table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, SLOTS = 1 << 12, WORDS = 6000 };

struct word {
    char text[12];
    long count;
    struct word *next;
};

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    static char text[BYTES + 1];
    if (size < 1)
        return 2;
    uint32_t state = 7;
    for (int at = 0; at < BYTES;) {
        state = state * 1664525u + 1013904223u;
        /* A few words are common and many are rare, as in a language. */
        uint32_t word = (uint32_t)(((uint64_t)(state >> 16) * (state >> 16)) >> 32) * WORDS >> 16;
        do {
            text[at++] = (char)('a' + word % 26);
            word /= 26;
        } while (word && at < BYTES);
        if (at < BYTES)
            text[at++] = state >> 28 ? ' ' : '\n';
    }
    long words = 0, most = 0;
    for (long turn = 0; turn < size; turn++) {
        static struct word *slots[SLOTS];
        memset(slots, 0, sizeof slots);
        struct word *all = calloc(WORDS * 4, sizeof *all), *free_word = all;
        if (!all)
            return 2;
        for (const char *at = text; *at;) {
            char word[12];
            int length = 0;
            uint32_t hash = 2166136261u;
            while (*at && *at != ' ' && *at != '\n') {
                if (length < 11) {
                    word[length++] = *at;
                    hash = (hash ^ (uint32_t)*at) * 16777619u;
                }
                at++;
            }
            word[length] = 0;
            at += *at != 0;
            struct word **slot = &slots[hash % SLOTS];
            while (*slot && strcmp((*slot)->text, word) != 0)
                slot = &(*slot)->next;
            if (!*slot) {
                if (free_word == all + WORDS * 4)
                    return 1;
                *slot = free_word++;
                memcpy((*slot)->text, word, (size_t)length + 1);
            }
            (*slot)->count++;
            words++;
        }
        for (struct word *word = all; word < free_word; word++)
            most = word->count > most ? word->count : most;
        free(all);
    }
    printf("%ld %ld\n", words, most);
    return 0;
}
