#!/bin/sh
# Nothing is built: what is measured is the stress-ng that is installed here.
set -eu
command -v stress-ng >/dev/null || {
    echo 'stress-ng is not on this machine; on Debian: apt-get install stress-ng' >&2
    exit 1
}
mkdir -p stress-ng-bench
