/* A background load like an encoder of video: threads that wait for each other.

     encode FRAMES [THREADS]     THREADS: one for each processor that it may use

   Each thread encodes every so-many-th frame, row of blocks by row. A row may begin when the frame before is done two
   rows further down, since its blocks are sought there: what x264 calls frame threads. Blocks of 16 x 16 are sought by
   a diamond, what is left is transformed (Walsh and Hadamard), quantised, counted and put together again. The pictures
   are made up, the same each time, and so is the number of bits that is printed. Written anew; no code is x264's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 352, BLOCK = 16, ROWS = HEIGHT / BLOCK, COLUMNS = WIDTH / BLOCK, REACH = 12, AHEAD = 2 };

static unsigned char *pictures; /* put together again, one for each frame that may still be looked at */
static long frames, threads, kept;
static _Atomic long *rows_done; /* of each kept frame */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t row_is_done = PTHREAD_COND_INITIALIZER;
static atomic_llong bits;

static unsigned char *picture(long frame)
{
    return pictures + (size_t)(frame % kept) * WIDTH * HEIGHT;
}

/* A pattern that moves, with noise that does not. */
static unsigned char source(long frame, int x, int y)
{
    int u = x + (int)(frame * 3), v = y + (int)frame;
    unsigned noise = (unsigned)(x * 73856093 ^ y * 19349663 ^ (int)frame * 83492791);
    return (unsigned char)((((u >> 3) ^ (v >> 3)) & 31) * 6 + ((u * v) >> 9 & 15) + (noise >> 28));
}

static void wait_for_row(long frame, long row)
{
    _Atomic long *done = &rows_done[frame % kept];
    /* Rows of all frames count on: one place serves many frames, one after the other. */
    long wanted = frame / kept * ROWS + (row < ROWS ? row : ROWS - 1) + 1;
    if (atomic_load(done) >= wanted)
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(done) < wanted)
        pthread_cond_wait(&row_is_done, &lock);
    pthread_mutex_unlock(&lock);
}

static void finish_row(long frame)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&rows_done[frame % kept], 1);
    pthread_cond_broadcast(&row_is_done);
    pthread_mutex_unlock(&lock);
}

static int difference(const unsigned char *block, const unsigned char *before, int x, int y)
{
    int sum = 0;
    for (int line = 0; line < BLOCK; line++)
        for (int column = 0; column < BLOCK; column++)
            sum += abs(block[line * BLOCK + column] - before[(y + line) * WIDTH + x + column]);
    return sum;
}

/* The best place for a block in the picture before, by steps to the best of four neighbours. */
static void seek(const unsigned char *block, const unsigned char *before, int *x, int *y)
{
    static const int steps[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    int home_x = *x, home_y = *y, best = difference(block, before, *x, *y);
    for (int size = 8; size; size /= 2)
        for (int moved = 1; moved;) {
            moved = 0;
            for (int step = 0; step < 4; step++) {
                int to_x = *x + steps[step][0] * size, to_y = *y + steps[step][1] * size;
                if (to_x < 0 || to_y < 0 || to_x > WIDTH - BLOCK || to_y > HEIGHT - BLOCK ||
                    abs(to_x - home_x) > REACH || abs(to_y - home_y) > REACH)
                    continue;
                int cost = difference(block, before, to_x, to_y);
                if (cost < best) {
                    best = cost;
                    *x = to_x;
                    *y = to_y;
                    moved = 1;
                }
            }
        }
}

static void transform(int *values, int stride)
{
    for (int half = 1; half < BLOCK; half *= 2)
        for (int first = 0; first < BLOCK; first += 2 * half)
            for (int place = first; place < first + half; place++) {
                int a = values[place * stride], b = values[(place + half) * stride];
                values[place * stride] = a + b;
                values[(place + half) * stride] = a - b;
            }
}

static int count_bits(int value)
{
    int count = 1;
    for (unsigned rest = (unsigned)(value < 0 ? -2 * value : 2 * value - (value > 0)) + 1; rest > 1; rest /= 2)
        count += 2;
    return count;
}

static long encode_block(long frame, int x, int y)
{
    unsigned char block[BLOCK * BLOCK], *now = picture(frame);
    int rest[BLOCK * BLOCK], from_x = x, from_y = y;
    const unsigned char *before = frame ? picture(frame - 1) : NULL;
    long count = 0;
    for (int place = 0; place < BLOCK * BLOCK; place++)
        block[place] = source(frame, x + place % BLOCK, y + place / BLOCK);
    if (before)
        seek(block, before, &from_x, &from_y);
    for (int place = 0; place < BLOCK * BLOCK; place++) {
        int guess = before ? before[(from_y + place / BLOCK) * WIDTH + from_x + place % BLOCK] : 128;
        rest[place] = block[place] - guess;
    }
    for (int line = 0; line < BLOCK; line++)
        transform(rest + line * BLOCK, 1);
    for (int column = 0; column < BLOCK; column++)
        transform(rest + column, BLOCK);
    for (int place = 0; place < BLOCK * BLOCK; place++) {
        int level = rest[place] / 256;
        count += count_bits(level);
        rest[place] = level * 256;
    }
    for (int line = 0; line < BLOCK; line++)
        transform(rest + line * BLOCK, 1);
    for (int column = 0; column < BLOCK; column++)
        transform(rest + column, BLOCK);
    for (int place = 0; place < BLOCK * BLOCK; place++) {
        int guess = before ? before[(from_y + place / BLOCK) * WIDTH + from_x + place % BLOCK] : 128;
        int value = guess + rest[place] / (BLOCK * BLOCK);
        now[(y + place / BLOCK) * WIDTH + x + place % BLOCK] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    return count + count_bits(from_x - x) + count_bits(from_y - y);
}

static void *work(void *number)
{
    for (long frame = (long)(size_t)number; frame < frames; frame += threads)
        for (long row = 0; row < ROWS; row++) {
            long count = 0;
            if (frame)
                wait_for_row(frame - 1, row + AHEAD);
            /* Nobody looks any more at the frame whose place this one takes. */
            if (frame >= kept)
                wait_for_row(frame - kept + 1, ROWS - 1);
            for (int column = 0; column < COLUMNS; column++)
                count += encode_block(frame, column * BLOCK, (int)row * BLOCK);
            atomic_fetch_add(&bits, count);
            finish_row(frame);
        }
    return NULL;
}

static long read_number(const char *text, const char *what, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < 1 || number > most) {
        fprintf(stderr, "encode: %s must be a whole number from 1 to %ld, not \"%s\"\n", what, most, text);
        exit(2);
    }
    return number;
}

int main(int count, char **arguments)
{
    if (count < 2 || count > 3) {
        fputs("usage: encode FRAMES [THREADS]\n", stderr);
        return 2;
    }
    frames = read_number(arguments[1], "FRAMES", 1000000);
    cpu_set_t processors;
    threads = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    if (count == 3)
        threads = read_number(arguments[2], "THREADS", 256);
    kept = threads + 2;
    pictures = malloc((size_t)kept * WIDTH * HEIGHT);
    rows_done = calloc((size_t)kept, sizeof *rows_done);
    pthread_t *others = calloc((size_t)threads, sizeof *others);
    if (!pictures || !rows_done || !others) {
        fputs("encode: there is not enough memory\n", stderr);
        return 1;
    }
    for (long number = 0; number < threads; number++)
        if (pthread_create(&others[number], NULL, work, (void *)(size_t)number) != 0) {
            fputs("encode: a thread cannot be started\n", stderr);
            return 1;
        }
    for (long number = 0; number < threads; number++)
        pthread_join(others[number], NULL);
    printf("%ld frames, %lld bits\n", frames, (long long)bits);
    free(others);
    return 0;
}
