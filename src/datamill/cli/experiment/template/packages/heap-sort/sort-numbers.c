/* Heap sort of two million pseudo-random numbers, 20 000 at a time: they stay in the cache, so that other
   work on the machine disturbs little. */
#include <stdint.h>
#include <stdio.h>

enum { COUNT = 20000, ROUNDS = 100 };
static uint32_t numbers[COUNT];

static void sift_down(uint32_t *a, long root, long n)
{
    uint32_t value = a[root];
    for (long child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1] > a[child])
            child++;
        if (a[child] <= value)
            break;
        a[root] = a[child];
    }
    a[root] = value;
}

static void sort_numbers(uint32_t *a, long n)
{
    for (long i = n / 2 - 1; i >= 0; i--)
        sift_down(a, i, n);
    for (long last = n - 1; last > 0; last--) {
        uint32_t largest = a[0];
        a[0] = a[last];
        a[last] = largest;
        sift_down(a, 0, last);
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
