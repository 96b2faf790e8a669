"""Settings begun for repositories of several build systems."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from datamill.conduct.selection.collecting import begun_settings
from datamill.conduct.selection.collecting.begun_settings import begin_settings

LIBRARY = '[package]\nname = "part"\n\n[lib]\ncrate-type = ["staticlib"]\n'
ELF = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0"


@pytest.fixture(autouse=True)
def all_tools_are_here(monkeypatch):
    monkeypatch.setattr(begun_settings.shutil, "which", lambda name: f"/usr/bin/{name}")


def make_repository(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for name, text in files.items():
        place = folder / name.replace("_", ".")
        place.write_text(text)
    subprocess.run(["git", "-C", str(folder), "add", "--all"], check=True)
    return folder


def test_a_library_of_cargo_beside_a_makefile_is_not_how_the_project_is_built(tmp_path):
    begun = begin_settings(make_repository(tmp_path, Cargo_toml=LIBRARY, Makefile=""))
    assert [build.system for build in begun.builds] == ["make", "cargo"]


def test_a_program_of_cargo_beside_a_makefile_is_built_by_cargo(tmp_path):
    text = '[package]\nname = "tool"\n\n[[bin]]\nname = "other"\npath = "src/main.rs"\n'
    begun = begin_settings(make_repository(tmp_path, Cargo_toml=text, Makefile=""))
    assert [build.system for build in begun.builds] == ["cargo", "make"]
    assert begun.binaries == ("target/release/other",)


def test_programs_of_a_package_are_those_that_its_files_name(tmp_path):
    top = make_repository(tmp_path, Cargo_toml='[package]\nname = "tool"\n')
    (top / "src" / "bin").mkdir(parents=True)
    (top / "src" / "main.rs").write_text("")
    (top / "src" / "bin" / "helper.rs").write_text("")
    assert begin_settings(top).binaries == ("target/release/tool", "target/release/helper")


def test_a_build_system_that_is_not_installed_comes_after_those_that_are(tmp_path, monkeypatch):
    monkeypatch.setattr(begun_settings.shutil, "which", lambda name: None if name == "meson" else "/bin/x")
    begun = begin_settings(make_repository(tmp_path, meson_build="", Makefile=""))
    assert [build.system for build in begun.builds] == ["make", "meson"]


def test_several_names_of_one_program_are_one_binary(tmp_path):
    top = make_repository(tmp_path, Makefile="")
    for name, content in (("tool", ELF), ("tool-add", ELF), ("zcopy", ELF), ("zother", ELF + b"x")):
        (top / name).write_bytes(content)
        (top / name).chmod(0o755)
    shutil.copy2(top / "tool", top / "zcopy")
    assert begin_settings(top).binaries == ("tool", "zother")


def test_what_a_build_left_is_not_taken_for_what_a_checkout_has(tmp_path):
    top = make_repository(tmp_path, configure_ac="")
    for name in ("configure", "Makefile"):
        (top / name).write_text("")
    (build,) = begin_settings(top).builds
    assert build.command == "autoreconf -i && ./configure && make -j2"


def test_a_configure_that_is_there_needs_no_tool_that_would_make_it(tmp_path, monkeypatch):
    monkeypatch.setattr(begun_settings.shutil, "which", lambda name: None if name == "autoreconf" else name)
    begun = begin_settings(make_repository(tmp_path, configure="", configure_ac="", GNUmakefile=""))
    assert [build.command for build in begun.builds] == [
        "./configure && make -j2",
        "make -j2",
        "autoreconf -i && ./configure && make -j2",
    ]


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ('edition = "2021"', ["tool", "helper", "large"]),
        ('edition = "2021"\n[[bin]]\nname = "cool"\npath = "src/bin/helper.rs"', ["tool", "cool", "large"]),
        (
            'edition = "2021"\n[[bin]]\nname = "cool"\npath = "./src/bin/large/main.rs"',
            ["tool", "cool", "helper"],
        ),
        ('edition = "2021"\n[[bin]]\nname = "cool"\npath = "./src/main.rs"', ["cool", "helper", "large"]),
        ('edition = "2021"\n[[bin]]\nname = "helper"', ["tool", "helper", "large"]),
        ('edition = "2021"\nautobins = false\n[[bin]]\nname = "helper"', ["helper"]),
        ('[[bin]]\nname = "helper"', ["helper"]),
        ("", ["tool", "helper", "large"]),
    ],
)
def test_programs_of_a_package_are_those_that_cargo_makes(tmp_path, text, programs):
    top = make_repository(tmp_path, Cargo_toml=f'[package]\nname = "tool"\nversion = "0.1.0"\n{text}\n')
    for name in ("src/main.rs", "src/bin/helper.rs", "src/bin/large/main.rs"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("fn main() {}\n")
    (top / "src" / "bin" / "large" / "part.rs").write_text("")
    assert begin_settings(top).binaries == tuple(f"target/release/{name}" for name in programs)


def make_package(folder, text, source="src/main.rs"):
    (folder / source).parent.mkdir(parents=True, exist_ok=True)
    (folder / source).write_text("fn main() {}\n")
    (folder / "Cargo.toml").write_text(text)


@pytest.mark.parametrize(
    ("workspace", "programs"),
    [
        ('members = ["crates/*", "cli"]', ["one", "two", "cli"]),
        ('members = ["crates/*", "cli"]\ndefault-members = ["cli"]', ["cli"]),
        ('members = ["crates/*"]\nexclude = ["crates/two"]', ["one"]),
        ('members = ["../elsewhere", "/", "nowhere"]', []),
        ('members = ["cli"]\n[package]\nname = "top"', ["top"]),
        ('members = ["cli"]\ndefault-members = [".", "cli"]\n[package]\nname = "top"', ["top", "cli"]),
    ],
)
def test_programs_of_a_workspace_are_those_of_the_packages_that_it_builds(tmp_path, workspace, programs):
    top = make_repository(tmp_path / "top", Cargo_toml=f"[workspace]\n{workspace}\n")
    for name in ("crates/one", "crates/two", "cli", "../elsewhere"):
        make_package(top / name, f'[package]\nname = "{name.rpartition("/")[2]}"\n')
    if "[package]" in workspace:
        make_package(top, (top / "Cargo.toml").read_text())
    assert begin_settings(top).binaries == tuple(f"target/release/{name}" for name in programs)


def test_a_build_whose_tool_is_missing_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(begun_settings.shutil, "which", lambda name: None if name == "meson" else "/bin/x")
    assert begin_settings(make_repository(tmp_path / "one", meson_build="")).missing == "meson"
    assert begin_settings(make_repository(tmp_path / "two", meson_build="", Makefile="")).missing == ""
    assert begin_settings(make_repository(tmp_path / "three", configure="")).missing == ""
