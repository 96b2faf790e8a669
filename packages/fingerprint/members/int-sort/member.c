/* Sorts numbers by partitions: branches that cannot be foreseen, in memory that the second cache holds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 18 };

static void sort(uint32_t *low, uint32_t *high)
{
    while (low < high) {
        uint32_t middle = low[(high - low) / 2], *left = low - 1, *right = high + 1;
        for (;;) {
            while (*++left < middle)
                ;
            while (*--right > middle)
                ;
            if (left >= right)
                break;
            uint32_t kept = *left;
            *left = *right;
            *right = kept;
        }
        sort(low, right);
        low = right + 1;
    }
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0;
    uint32_t *numbers = malloc(COUNT * sizeof *numbers), state = 1, digest = 0;
    if (size < 1 || !numbers)
        return 2;
    for (long turn = 0; turn < size; turn++) {
        for (int at = 0; at < COUNT; at++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            numbers[at] = state;
        }
        sort(numbers, numbers + COUNT - 1);
        for (int at = 1; at < COUNT; at++)
            if (numbers[at - 1] > numbers[at])
                return 1;
        digest = digest * 31 + numbers[COUNT / 3];
    }
    printf("%u\n", digest);
    return 0;
}
