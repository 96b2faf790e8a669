/* Inserts into a search tree and removes from it: allocation, pointers and comparisons in changing memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 1 << 16, CHANGES = 100000 };

struct node {
    uint32_t key, rank;
    struct node *left, *right;
};

static struct node *insert(struct node *node, struct node *added)
{
    if (!node)
        return added;
    if (added->key < node->key) {
        node->left = insert(node->left, added);
        if (node->left->rank > node->rank) {
            struct node *up = node->left;
            node->left = up->right;
            up->right = node;
            return up;
        }
    } else {
        node->right = insert(node->right, added);
        if (node->right->rank > node->rank) {
            struct node *up = node->right;
            node->right = up->left;
            up->left = node;
            return up;
        }
    }
    return node;
}

static struct node *merge(struct node *left, struct node *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->rank > right->rank) {
        left->right = merge(left->right, right);
        return left;
    }
    right->left = merge(left, right->left);
    return right;
}

static struct node *take_out(struct node *node, uint32_t key)
{
    if (!node)
        return NULL;
    if (node->key == key) {
        struct node *rest = merge(node->left, node->right);
        free(node);
        return rest;
    }
    if (key < node->key)
        node->left = take_out(node->left, key);
    else
        node->right = take_out(node->right, key);
    return node;
}

static uint32_t draw(void)
{
    static uint32_t state = 11;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

int main(int argc, char **argv)
{
    long size = argc == 2 ? atol(argv[1]) : 0, kept = 0;
    static char is_there[KEYS];
    struct node *root = NULL;
    if (size < 1)
        return 2;
    for (long change = 0; change < size * CHANGES; change++) {
        uint32_t key = draw() % KEYS;
        if (is_there[key]) {
            root = take_out(root, key);
        } else {
            struct node *added = calloc(1, sizeof *added);
            if (!added)
                return 2;
            added->key = key;
            added->rank = draw();
            root = insert(root, added);
        }
        is_there[key] ^= 1;
        kept += is_there[key] ? 1 : -1;
    }
    printf("%ld\n", kept);
    return 0;
}
