#include "task.h"

#include <stdlib.h>
#include <string.h>

enum {
    HASH_BITS = 12,
    SHORTEST_MATCH = 4,
    WINDOW = 65535,     /* a distance fits into two bytes */
    CANDIDATES = 16,    /* earlier occurrences that are tried at each place */
};

static const char *const WORDS[] = {
    "the ", "scheduler ", "of ", "a ", "system ", "lets ", "each ", "thread ", "wait ", "until ", "its ",
    "turn ", "comes, ", "and ", "then ", "run ", "for ", "one ", "slice ", "of ", "time.\n", "latency ",
    "is ", "what ", "users ", "feel ", "while ", "throughput ", "pays ", "bills; ", "no ", "policy ",
};

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Words and numbers by turns: compresses about as prose with figures does. */
static void write_text(unsigned char *text, size_t bytes)
{
    uint32_t state = 2463534242u;
    size_t at = 0;
    while (at < bytes) {
        uint32_t draw = next_random(&state);
        if (draw % 4 == 0) {
            text[at++] = (unsigned char)('0' + (draw >> 8) % 10);
            continue;
        }
        const char *word = WORDS[(draw >> 8) % (sizeof WORDS / sizeof *WORDS)];
        for (; *word && at < bytes; word++)
            text[at++] = (unsigned char)*word;
    }
}

int make_task(struct task *task, size_t bytes)
{
    memset(task, 0, sizeof *task);
    task->bytes = bytes;
    if (bytes == 0)
        return 0;
    task->text = malloc(bytes);
    /* A run of n literals takes n bytes and n / 128 + 1 headers; a match is never longer than what it replaces. */
    task->packed = malloc(bytes + bytes / 64 + 16);
    task->newest = malloc(sizeof *task->newest << HASH_BITS);
    task->older = malloc(sizeof *task->older * bytes);
    if (!task->text || !task->packed || !task->newest || !task->older)
        return -1;
    write_text(task->text, bytes);
    return 0;
}

static uint32_t hash_four(const unsigned char *at)
{
    uint32_t four;
    memcpy(&four, at, sizeof four);
    return (four * 2654435761u) >> (32 - HASH_BITS);
}

static unsigned char *put_literals(unsigned char *out, const unsigned char *from, size_t count)
{
    while (count > 0) {
        size_t part = count < 128 ? count : 128;
        *out++ = (unsigned char)(part - 1);
        memcpy(out, from, part);
        out += part;
        from += part;
        count -= part;
    }
    return out;
}

static size_t match_length(const struct task *task, size_t earlier, size_t here)
{
    size_t most = task->bytes - here, length = 0;
    if (most > SHORTEST_MATCH + 127)
        most = SHORTEST_MATCH + 127;
    while (length < most && task->text[earlier + length] == task->text[here + length])
        length++;
    return length;
}

/* LZ77 with chains of occurrences: what zlib and its kin spend their time on, without the entropy coder. */
size_t run_task(struct task *task)
{
    const unsigned char *text = task->text;
    unsigned char *out = task->packed;
    size_t here = 0, literals = 0;

    if (task->bytes == 0)
        return 0;
    memset(task->newest, 0xff, sizeof *task->newest << HASH_BITS);
    while (here + SHORTEST_MATCH <= task->bytes) {
        uint32_t hash = hash_four(text + here);
        size_t best = 0, distance = 0;
        int32_t earlier = task->newest[hash];
        for (int tries = 0; earlier >= 0 && tries < CANDIDATES && here - (size_t)earlier <= WINDOW; tries++) {
            size_t length = match_length(task, (size_t)earlier, here);
            if (length > best) {
                best = length;
                distance = here - (size_t)earlier;
            }
            earlier = task->older[earlier];
        }
        size_t step = 1;
        if (best >= SHORTEST_MATCH) {
            out = put_literals(out, text + here - literals, literals);
            *out++ = (unsigned char)(128 + best - SHORTEST_MATCH);
            *out++ = (unsigned char)(distance & 255);
            *out++ = (unsigned char)(distance >> 8);
            literals = 0;
            step = best;
        } else {
            literals++;
        }
        for (; step > 0; step--, here++) {
            if (here + SHORTEST_MATCH <= task->bytes) {
                hash = hash_four(text + here);
                task->older[here] = task->newest[hash];
                task->newest[hash] = (int32_t)here;
            }
        }
    }
    literals += task->bytes - here;
    out = put_literals(out, text + task->bytes - literals, literals);
    return (size_t)(out - task->packed);
}
