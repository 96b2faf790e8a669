#!/bin/sh
# Compresses the corpus, as `bzip2 --keep corpus.tar` would: default block size.
cd bzip2-bench || exit 1
exec source/bzip2 --keep --force corpus.tar
