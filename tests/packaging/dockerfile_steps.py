"""Runs the steps of the Dockerfile where there is no engine: each stage in a root of its own (chroot), made of this
machine's system read-only and of empty folders, with another Python in the place of the base image's.

    python tests/packaging/dockerfile_steps.py [--python python3.13] [--keep FOLDER]

Needs Linux, root and a package index. Then the image's entrypoint is tried as the image's user: its help, a run on the
sample data, and a server with the image's own health check. Exit code 1 where a step fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dockerfile import Step, cached_folder, context, expanded, steps

ROOT = Path(__file__).parents[2]
_OF_ETC = ("hosts", "login.defs", "nsswitch.conf", "passwd", "pip.conf", "resolv.conf", "ssl", "group", "shadow")
_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Stage:
    """A stage: its folder stands for the image's root, the rest is what the Dockerfile has said so far."""

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    passed: dict[str, str] = field(default_factory=dict)
    """What only the steps see: the build's arguments."""
    user: str = "root"
    work: str = "/"
    said: dict[str, Step] = field(default_factory=dict)

    def inside(self, path: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / os.path.normpath(f"{self.work}/{path}" if not path.startswith("/") else path)[1:]

    def account(self) -> tuple[str, str, str]:
        """User, group and home of the stage's user, by the stage's own list."""
        for line in self.inside("/etc/passwd").read_text().splitlines():
            name, _, uid, gid, _, home, _ = line.split(":")
            if self.user in (name, uid):
                return uid, gid, home
        raise SystemExit(f"There is no user {self.user} in the image")

    def as_user(self, command: Sequence[str], more: dict[str, str]) -> list[str]:
        """The command line of `command` within the root, with the user's rights, environment and folder."""
        uid, gid, home = self.account()
        values = {"HOME": home, **more, **self.env}
        rights = [] if uid == "0" else ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        line = f"cd {shlex.quote(self.work)} && exec {shlex.join([*rights, *command])}"
        return ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in values.items()), "/bin/sh", "-c", line]


@dataclass(frozen=True)
class Machine:
    """What stands in the place of an engine: folders under `folder`, and `python` as that of the base image."""

    folder: Path
    python: Path

    def root(self, name: str) -> Path:
        """A new root: folders, and of /etc what a system needs to find names."""
        root = self.folder / name
        for part in ("etc", "tmp", "root", "home", "opt"):
            (root / part).mkdir(parents=True)
        (root / "tmp").chmod(0o1777)
        for part in ("bin", "sbin", "lib", "lib64"):
            if Path("/", part).is_symlink():
                (root / part).symlink_to(Path("/", part).readlink())
        for part in _OF_ETC:
            there, here = Path("/etc", part), root / "etc" / part
            if there.is_dir():
                shutil.copytree(there, here, symlinks=True, ignore=shutil.ignore_patterns("private"))
            elif there.exists():
                shutil.copy2(there, here)
        local = self.folder / "local" / "bin"
        local.mkdir(parents=True, exist_ok=True)
        for alias in ("python", "python3"):
            if not (local / alias).is_symlink():
                (local / alias).symlink_to(self.python)
        return root

    def command(self, stage: Stage, inner: Sequence[str], binds: Sequence[tuple[Path, str]] = ()) -> list[str]:
        """The command line that runs `inner` in the stage's root: as its first process, in mounts of its own."""
        own = [(Path("/usr"), "/usr"), (Path("/dev"), "/dev"), *binds, *_local_packages()]
        prefix = self.python.parents[1]
        if not prefix.is_relative_to("/usr"):
            own.append((prefix, str(prefix)))
        if prefix != Path("/usr/local"):
            own.append((self.folder / "local", "/usr/local"))
        lines = []
        for there, here in own:
            place = shlex.quote(str(stage.inside(here)))
            lines += [f"mkdir -p {place}", f"mount --rbind {shlex.quote(str(there))} {place}"]
        root = shlex.quote(str(stage.root))
        lines += [f"mkdir -p {root}/proc", f"mount -t proc proc {root}/proc"]
        lines += [f"mount -o remount,bind,ro {root}/usr", f"exec chroot {root} {shlex.join(inner)}"]
        # The folder for /usr/local is in the read-only /usr: mounted before that is made read-only.
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", "\n".join(lines)]

    def run(self, stage: Stage, command: Sequence[str], binds: Sequence[tuple[Path, str]] = (), code: int = 0) -> str:
        """What a command prints in the stage; SystemExit unless it ends with `code`."""
        line = self.command(stage, stage.as_user(command, _of_pip() | stage.passed), binds)
        done = subprocess.run(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != code:
            raise SystemExit(f"{shlex.join(command)}\nended with {done.returncode} and not {code}:\n{done.stdout}")
        return done.stdout


def build(machine: Machine, text: str, ignore: str) -> Stage:
    """Carry out a Dockerfile's steps; the last stage is the image."""
    stages: list[Stage] = []
    names: dict[str, Stage] = {}
    for step in steps(text):
        if step.verb == "FROM":
            stages.append(Stage(machine.root(f"stage{len(stages)}")))
            _, _, name = step.text.partition(" AS ")
            names[name] = stages[-1]
            continue
        began = time.monotonic()
        _carry_out(machine, stages[-1], step, names, ignore)
        if step.verb in ("RUN", "COPY"):
            print(f"{time.monotonic() - began:6.1f} s  {step.verb} {step.text[:90]}", flush=True)
    return stages[-1]


def _carry_out(machine: Machine, stage: Stage, step: Step, names: dict[str, Stage], ignore: str) -> None:
    stage.said[step.verb] = step
    values = {**stage.passed, **stage.env}
    if step.verb == "RUN":
        kept = cached_folder(step)
        binds = [(_pip_cache(), kept)] if kept else []
        machine.run(stage, step.listed() or ["/bin/sh", "-c", step.text], binds)
    elif step.verb == "COPY":
        _copy(stage, step, names, ignore)
    elif step.verb == "ENV":
        stage.env |= {name: expanded(value, values) for name, _, value in (w.partition("=") for w in step.words())}
    elif step.verb == "ARG":
        name, _, value = step.text.partition("=")
        stage.passed[name] = value
    elif step.verb == "USER":
        stage.user = step.text
    elif step.verb == "WORKDIR":
        stage.work = step.text
        stage.inside(step.text).mkdir(parents=True, exist_ok=True)
    elif step.verb == "VOLUME":
        for folder in step.words():
            assert stage.inside(folder).is_dir(), f"{folder} is not a folder of the image"
    elif step.verb not in ("LABEL", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"):
        raise SystemExit(f"This script does not know what {step.verb} is")


def _copy(stage: Stage, step: Step, names: dict[str, Stage], ignore: str) -> None:
    *sources, target = step.words()
    if before := step.options.get("from"):
        (source,) = sources
        # The stages are thrown away together: links do for copies.
        shutil.copytree(names[before].inside(source), stage.inside(target), symlinks=True, copy_function=os.link)
        return
    for source in sources:
        files = list(context(ROOT, source, ignore))
        assert files, f"Nothing of {source} is in the build's context"
        for path in files:
            # A file goes into the folder, and of a folder its content.
            inner = path.relative_to(source) if path != Path(source) else Path(path.name)
            place = stage.inside(target) / inner
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, place)


def try_image(machine: Machine, image: Stage) -> None:
    """What its users do: read the help, run, serve, stop."""
    entry = image.said["ENTRYPOINT"].words()
    shown = machine.run(image, [*entry, *image.said["CMD"].words()])
    assert "Commands" in shown, shown
    assert "--out" in machine.run(image, [*entry, "demo", "--help"])
    run = shlex.split("sage run -s minilm -s wordllama -s bm25 -d sample -t preference --limit 20 --tokenizer words")
    began = time.monotonic()
    told = machine.run(image, [*entry, *run, "--out", "first"])
    assert all(name in told for name in ("minilm", "wordllama", "bm25")), told
    print(f"{time.monotonic() - began:6.1f} s  a run of minilm, wordllama and bm25 as {image.user}")
    uid = int(image.account()[0])
    made = [image.inside("/runs/first/results.jsonl"), image.inside("/cache")]
    assert {path.stat().st_uid for path in made} == {uid} != {0}, made
    assert machine.run(image, ["sh", "-c", "touch /opt/embassay/x 2>/dev/null || echo refused"]) == "refused\n"
    assert not list(image.inside("/opt/embassay/lib").glob("python3*/site-packages/torch"))
    _try_server(machine, image, entry)


def _try_server(machine: Machine, image: Stage, entry: list[str]) -> None:
    """Well when it answers, not before; stopped by the image's signal, as its first process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = image.as_user([*entry, "serve", "/runs", "--host", "0.0.0.0", "--port", port], {})
    check = shlex.split(re.sub(r"^.*?CMD\s+", "", re.sub(r'[\[\],"]', " ", image.said["HEALTHCHECK"].text)))
    with subprocess.Popen(machine.command(image, command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as outer:
        first = _first_process(outer.pid)
        within = ["nsenter", f"--target={first}", "--mount", "--pid", "--root", *image.as_user(check, {})]
        answers = []
        for _ in range(200):
            answers.append(subprocess.run(within, capture_output=True, check=False).returncode)
            if answers[-1] == 0 or outer.poll() is not None:
                break
            time.sleep(0.1)
        os.kill(first, getattr(signal, image.said["STOPSIGNAL"].text))
        told = outer.communicate(timeout=20)[0].decode()
    assert answers[-1] == 0, f"never well: {answers}\n{told}"
    assert outer.returncode == 0, f"stopped with {outer.returncode}: {told}"
    print(f"          a server: well at look {len(answers)}, stopped by {image.said['STOPSIGNAL'].text}")


def _first_process(outer: int) -> int:
    """The process that is the first of the container, once it is the entrypoint and no more what prepares it."""
    for _ in range(200):
        children = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        if children and b"serve" in Path(f"/proc/{children[0]}/cmdline").read_bytes().split(b"\0"):
            return int(children[0])
        time.sleep(0.05)
    raise SystemExit("The server did not start")


def _of_pip() -> dict[str, str]:
    """How pip reaches its index from here."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}


def _local_packages() -> list[tuple[Path, str]]:
    """Folders of this machine that pip was told to look in."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    found = {Path(path) for path in re.findall(r"(?:file://)?(/[^\s:'\"]+)", listed)}
    return [(path, str(path)) for path in sorted(found) if path.is_dir() and not path.is_relative_to("/etc")]


def _pip_cache() -> Path:
    asked = [sys.executable, "-m", "pip", "cache", "dir"]
    folder = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> int:
    """Build, try, tell how large it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="stands for the base image's Python")
    parser.add_argument("--keep", type=Path, help="leave the stages in this folder, which must not be there yet")
    asked = parser.parse_args()
    if platform.system() != "Linux" or os.geteuid() or not shutil.which("unshare"):
        print("The Dockerfile's steps need Linux, root and unshare: not run here.")
        return 0
    found = subprocess.run(
        [asked.python, "-c", "import os, sys; print(os.path.realpath(sys.executable))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="image") as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=bool(not asked.keep))
        machine = Machine(folder, _real(Path(found.stdout.strip())))
        image = build(machine, (ROOT / "Dockerfile").read_text(), (ROOT / ".dockerignore").read_text())
        try_image(machine, image)
        files = [path for path in image.inside("/opt/embassay").rglob("*") if path.is_file()]
        print(f"{sum(path.lstat().st_size for path in files) / 1e6:6.0f} MB in /opt/embassay, {len(files):,} files")
    return 0


def _real(python: Path) -> Path:
    """The interpreter that a virtual environment's is a link to."""
    return python.resolve()


if __name__ == "__main__":
    sys.exit(main())
