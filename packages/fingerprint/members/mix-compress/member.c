/* Compresses a text by references to what came before, and unpacks it: a table, copies and branches. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, SLOTS = 1 << 15, SHORTEST = 4, LONGEST = 250, TURNS = 4 };

static uint8_t text[BYTES + 8], packed[2 * BYTES + 16], again[BYTES + 512];

static long pack(void)
{
    static int32_t last[SLOTS];
    memset(last, -1, sizeof last);
    long out = 0;
    for (long at = 0; at < BYTES;) {
        uint32_t next;
        memcpy(&next, text + at, sizeof next);
        uint32_t slot = next * 2654435761u >> 17;
        long before = last[slot], length = 0;
        last[slot] = (int32_t)at;
        if (before >= 0 && at - before < 65536)
            while (length < LONGEST && at + length < BYTES && text[before + length] == text[at + length])
                length++;
        if (length >= SHORTEST) {
            packed[out++] = (uint8_t)length;
            packed[out++] = (uint8_t)(at - before);
            packed[out++] = (uint8_t)((at - before) >> 8);
            at += length;
        } else {
            packed[out++] = 0;
            packed[out++] = text[at++];
        }
    }
    return out;
}

static long unpack(long length)
{
    long out = 0;
    for (long at = 0; at < length;) {
        long count = packed[at];
        if (count == 0) {
            again[out++] = packed[at + 1];
            at += 2;
            continue;
        }
        long way = packed[at + 1] | packed[at + 2] << 8;
        for (long copied = 0; copied < count; copied++, out++)
            again[out] = again[out - way];
        at += 3;
    }
    return out;
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0, length = 0;
    if (size < 1)
        return 2;
    uint32_t state = 9;
    for (int at = 0; at < BYTES;) {
        state = state * 1664525u + 1013904223u;
        int word = (int)(state >> 20) % 900 * (int)(state >> 28) / 15;
        for (int letter = 0; letter < 3 + word % 6 && at < BYTES; letter++)
            text[at++] = (uint8_t)('a' + (word * 7 + letter * letter) % 26);
        if (at < BYTES)
            text[at++] = ' ';
    }
    for (long turn = 0; turn < size * TURNS; turn++) {
        text[(turn * 4099) % BYTES] ^= 1;
        length = pack();
        if (unpack(length) != BYTES || memcmp(text, again, BYTES) != 0)
            return 1;
    }
    printf("%ld\n", length);
    return 0;
}
