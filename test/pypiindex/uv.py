#!/usr/bin/env python3
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Stands in for uv where a machine has none. It knows the two commands of internal/bridgeobjects/install.py:
#
#   uv pip compile --no-header --output-file PYLOCK REQUIREMENTS --python PYTHON --no-build|--build
#   uv pip install --target FOLDER -r PYLOCK --python PYTHON --no-build|--build
#
# pip resolves and installs. As with uv, the first writes a pylock.toml (PEP 751) with the URL and the hash
# of each archive, the second installs these archives alone and compares their hashes, and nothing is built
# with --no-build. It ends with pip's code and in pip's words, not in those of uv.
import argparse, json, os, subprocess, sys, tempfile, tomllib

parser = argparse.ArgumentParser()
parser.add_argument("pip", choices=["pip"])
parser.add_argument("command", choices=["compile", "install"])
for option in ("--output-file", "--target", "--python"):
    parser.add_argument(option)
for option in ("--no-header", "--no-build", "--build"):
    parser.add_argument(option, action="store_true")
parser.add_argument("-r", dest="requirements")
parser.add_argument("source", nargs="?")
o = parser.parse_intermixed_args()


def pip(*args):
    common = ["--quiet", "--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore", "--index-url=" + os.environ["UV_DEFAULT_INDEX"]]
    wheels = ["--only-binary=:all:"] if o.no_build else []
    if code := subprocess.run([o.python, "-m", "pip", "install", *common, *wheels, *args]).returncode:
        sys.exit(code)


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "file")
    if o.command == "compile":
        pip("--dry-run", "--ignore-installed", "--report", file, "--requirement", o.source)
        with open(file) as report, open(o.output_file, "w") as lock:
            lock.write('lock-version = "1.0"\ncreated-by = "uv"\n')
            for p in json.load(report)["install"]:
                download = p["download_info"]
                archive = f'{{ url = "{download["url"]}", hashes = {{ sha256 = "{download["archive_info"]["hashes"]["sha256"]}" }} }}'
                lock.write(f'\n[[packages]]\nname = "{p["metadata"]["name"]}"\nversion = "{p["metadata"]["version"]}"\n')
                lock.write(f"wheels = [{archive}]\n" if download["url"].endswith(".whl") else f"sdist = {archive}\n")
    else:
        with open(o.requirements, "rb") as lock, open(file, "w") as requirements:
            for p in tomllib.load(lock)["packages"]:
                archive = p["wheels"][0] if "wheels" in p else p["sdist"]
                requirements.write(f'{p["name"]} @ {archive["url"]} --hash=sha256:{archive["hashes"]["sha256"]}\n')
        pip("--no-deps", "--no-compile", "--require-hashes", "--target", o.target, "--requirement", file)
