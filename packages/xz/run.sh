#!/bin/sh
# Compresses the corpus, as `xz --keep corpus.tar` would: one thread, default preset.
cd xz-bench || exit 1
exec source/src/xz/xz --keep --force --threads=1 corpus.tar
