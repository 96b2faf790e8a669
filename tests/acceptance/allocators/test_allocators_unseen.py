"""Programs of a traced tree that cannot load the tracer: they run as alone, and each is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENDS = r"""
#include <unistd.h>
int main(int count, char **words) { write(1, "ran\n", 4); return count > 1 ? count : 4; }
"""
#: Compilers whose programs do not load the tracer, and why not.
BUILDS = {
    "static": (("cc", "-static"), "it is linked statically"),
    "musl": (("musl-gcc",), "it belongs to another C library than glibc"),
}

#: Executes a program by each function of the C library that does so, with arguments in registers and beyond.
EXECUTES = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#define WORDS "ends", "1", "2", "3", "4", "5", "6", "7", "8"

static void run(int way) {
    char *words[] = {WORDS, NULL};
    if (way == 0) execl("./ends", WORDS, NULL);
    if (way == 1) execlp("./ends", WORDS, NULL);
    if (way == 2) execle("./ends", WORDS, NULL, environ);
    if (way == 3) execvpe("./ends", words, environ);
    if (way == 4) fexecve(open("./ends", O_RDONLY | O_CLOEXEC), words, environ);
    if (way == 5) execveat(AT_FDCWD, "./ends", words, environ, 0);
    if (way == 6) execveat(open("./ends", O_PATH | O_CLOEXEC), "", words, environ, AT_EMPTY_PATH);
    _exit(99);
}

int main(void) {
    int status, wrong = 0;
    for (int way = 0; way < 7; way++) {
        pid_t child = fork();
        if (child == 0) run(way);
        waitpid(child, &status, 0);
        wrong += WEXITSTATUS(status) != 9;
    }
    pid_t child;
    char *words[] = {WORDS, NULL};
    wrong += posix_spawnp(&child, "./ends", NULL, NULL, words, environ) != 0;
    waitpid(child, &status, 0);
    wrong += WEXITSTATUS(status) != 9;
    wrong += posix_spawn(&child, "./missing", NULL, NULL, words, environ) == 0;
    wrong += WEXITSTATUS(system("./ends 1 2 3")) != 4;
    wrong += system(NULL) == 0;
    return wrong;
}
"""


def trace(tmp_path: Path, *command: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Trace a program; return how it ended and what was not visible."""
    begin = [sys.executable, "-c", "from datamill.cli.main import main; main()", "allocators", "trace"]
    done = subprocess.run(
        [*begin, "--json", "found.json", "--", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    return done, found["not_visible"]


def build(tmp_path: Path, *compiler: str) -> str:
    """Build a program that prints a word and ends with status 4; skip the test where that cannot be done."""
    (tmp_path / "ends.c").write_text(ENDS, encoding="utf-8")
    program = tmp_path / "ends"
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]} here")
    built = subprocess.run([*compiler, "-o", program, tmp_path / "ends.c"], capture_output=True, check=False)
    if built.returncode != 0:
        pytest.skip(f"{' '.join(compiler)} links nothing here")
    return str(program)


def find(sentences: list[str], program: str) -> list[str]:
    return [sentence for sentence in sentences if sentence.startswith(f"{program}: ")]


@pytest.mark.parametrize("kind", BUILDS)
def test_a_program_without_the_tracer_is_named_where_it_is_the_whole_tree(tmp_path: Path, kind: str) -> None:
    compiler, reason = BUILDS[kind]
    program = build(tmp_path, *compiler)
    done, sentences = trace(tmp_path, program)
    assert (done.returncode, done.stdout) == (4, "ran\n")
    [sentence] = find(sentences, program)
    assert sentence.startswith(f"{program}: nothing is counted in 1 process: {reason}")
    assert sentence in done.stderr


@pytest.mark.parametrize("kind", BUILDS)
def test_processes_without_the_tracer_are_counted_however_they_are_executed(
    tmp_path: Path, kind: str
) -> None:
    compiler, reason = BUILDS[kind]
    program = build(tmp_path, *compiler)
    (tmp_path / "link").symlink_to(program)
    script = f"""\
import os, subprocess
program = {program!r}
subprocess.run([program])
subprocess.run(["./link"], env={{**os.environ, "MORE": "1"}})
subprocess.run("./ends; ./link; PATH=.:$PATH; ends", shell=True)
os.system("./ends")
os.popen("./ends").read()
os.waitpid(os.posix_spawn(program, [program], os.environ), 0)
for execute in (
    lambda: os.execv(program, ["x"]),
    lambda: os.execve(program, ["x"], os.environ),
    lambda: os.execve(os.open(program, os.O_RDONLY), ["x"], os.environ),
    lambda: os.execvp("./ends", ["x"]),
):
    if os.fork() == 0:
        execute()
    os.wait()
for missing in ("./no-such-program", "/bin", "./ends.c"):
    try:
        os.execv(missing, ["x"])
    except OSError:
        pass
"""
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    done, sentences = trace(tmp_path, sys.executable, "script.py")
    assert (done.returncode, done.stdout.count("ran\n")) == (0, 11), done.stderr
    [sentence] = find(sentences, program)
    assert sentence.startswith(f"{program}: nothing is counted in 12 processes: {reason}")
    # The shells and the interpreter loaded the tracer.
    assert len([sentence for sentence in sentences if ": nothing is counted in" in sentence]) == 1


def test_each_function_that_executes_a_program_still_does_and_is_seen(tmp_path: Path) -> None:
    program = build(tmp_path, "cc", "-static")
    (tmp_path / "executes.c").write_text(EXECUTES, encoding="utf-8")
    subprocess.run(["cc", "-o", tmp_path / "executes", tmp_path / "executes.c"], check=True)
    done, sentences = trace(tmp_path, "./executes")
    assert (done.returncode, done.stdout.count("ran\n")) == (0, 9), done.stderr
    [sentence] = find(sentences, program)
    assert sentence.startswith(f"{program}: nothing is counted in 9 processes: ")


def test_a_program_whose_environment_was_emptied_is_named(tmp_path: Path) -> None:
    script = """\
import subprocess
for _ in range(3):
    subprocess.run(["/bin/true"], env={"HOME": "/"})
subprocess.run(["/bin/true"])
"""
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    _, sentences = trace(tmp_path, sys.executable, "script.py")
    program = os.path.realpath("/bin/true")
    [sentence] = find(sentences, program)
    assert sentence.startswith(f"{program}: nothing is counted in 3 processes: it was executed with an env")


def test_a_tree_in_which_all_load_the_tracer_has_no_program_to_name(tmp_path: Path) -> None:
    script = "import os, subprocess\nsubprocess.run('true; /bin/true', shell=True)\nos.system('true')\n"
    (tmp_path / "run").write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
    (tmp_path / "run").chmod(0o755)
    _, sentences = trace(tmp_path, "./run")
    assert not [sentence for sentence in sentences if ": nothing is counted in" in sentence]


#: A thread that is to be cancelled at the next call that allows it executes a program; so does a handler of a
#: signal on a stack of the usual size.
STRAINED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *run(void *way) {
    char *words[] = {"echo", "executed", NULL};
    pid_t child;
    pthread_cancel(pthread_self());
    if (!strcmp(way, "system")) system("true");
    if (!strcmp(way, "popen")) popen("true", "r");
    if (!strcmp(way, "spawn")) posix_spawn(&child, "/bin/echo", NULL, NULL, words, environ);
    if (!strcmp(way, "exec")) execv("/bin/echo", words);
    return NULL;
}

static void handle(int number) {
    char *words[] = {"echo", "executed", NULL};
    execve("/bin/echo", words, environ);
}

int main(int count, char **words) {
    if (!strcmp(words[1], "handler")) {
        char *place = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(place, 4096, PROT_NONE);
        stack_t stack = {.ss_sp = place + 4096, .ss_size = 8192};
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
        return 1;
    }
    pthread_t thread;
    void *ended;
    pthread_create(&thread, NULL, run, words[1]);
    pthread_join(thread, &ended);
    while (wait(NULL) > 0);
    return ended == PTHREAD_CANCELED ? 7 : 8;
}
"""


@pytest.mark.parametrize("way", ["system", "popen", "spawn", "exec", "handler"])
def test_what_is_executed_on_little_stack_or_by_a_thread_that_is_cancelled_is_executed_as_alone(
    tmp_path: Path, way: str
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no cc here")
    (tmp_path / "strained.c").write_text(STRAINED, encoding="utf-8")
    program = tmp_path / "strained"
    subprocess.run(
        ["cc", "-w", "-pthread", "-o", program, tmp_path / "strained.c"], check=True, capture_output=True
    )
    alone = subprocess.run([program, way], capture_output=True, text=True, check=False, timeout=60)
    done, _ = trace(tmp_path, str(program), way)
    assert alone.returncode >= 0
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)


def test_a_text_without_an_interpreter_blames_no_program_of_the_same_name(tmp_path: Path) -> None:
    program = build(tmp_path, "cc", "-static")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    Path(program).rename(second / "named")
    (first / "named").write_text("echo text\n", encoding="utf-8")
    (first / "named").chmod(0o755)
    # Python would try each folder by itself; the C library's own search executes a shell.
    search = "import ctypes; ctypes.CDLL(None).execvp(b'named', (ctypes.c_char_p * 2)(b'named', None))"
    script = f"import os; os.environ['PATH'] = {f'{first}:{second}'!r}; {search}"
    done, sentences = trace(tmp_path, sys.executable, "-c", script)
    assert done.stdout == "text\n"
    assert find(sentences, str(second / "named")) == []
