#!/bin/sh
# Makes messages and works on them in Perl; `env` says how many, how often and with which tasks.
cd perl-bench || exit 1
exec source/miniperl mail.pl "${MESSAGES:-600}" "${ROUNDS:-6}" "${TASKS:-headers words score sort rewrite}"
