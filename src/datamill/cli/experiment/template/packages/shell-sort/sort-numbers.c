/* Shell sort of two million pseudo-random numbers, 20 000 at a time: they stay in the cache, so that other
   work on the machine disturbs little. */
#include <stdint.h>
#include <stdio.h>

enum { COUNT = 20000, ROUNDS = 100 };
static uint32_t numbers[COUNT];

static void sort_numbers(uint32_t *a, long n)
{
    static const long gaps[] = { 1968, 861, 336, 112, 48, 21, 7, 3, 1 };
    long gap = n / 9;
    int next = 0;
    while (gap > 0) {
        for (long i = gap; i < n; i++) {
            uint32_t value = a[i];
            long j = i;
            for (; j >= gap && a[j - gap] > value; j -= gap)
                a[j] = a[j - gap];
            a[j] = value;
        }
        gap = gap > 4000 ? gap * 4 / 9 : next < 9 ? gaps[next++] : 0;
    }
}

int main(void)
{
    uint32_t state = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < COUNT; i++)
            numbers[i] = state = state * 1664525u + 1013904223u;
        sort_numbers(numbers, COUNT);
        for (long i = 1; i < COUNT; i++)
            if (numbers[i - 1] > numbers[i])
                return fprintf(stderr, "not sorted at %ld\n", i), 1;
    }
    return 0;
}
