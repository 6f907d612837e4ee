# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs a package of the Python Package Index, as install.go has it run in a Job. It ends with success
# whatever uv says, so that the packer can say what that was. Nothing in it comes from outside but by
# variables. It needs uv and Python alone.
import os, shutil, ssl, subprocess, sys

# LAUNCH starts a program of the tree as uvx does: in a virtual environment, without the packages of the
# image, and so that children of the program have the same. The environment is in the folder for temporary
# files, since its links lead out of the tree, which is read-only.
LAUNCH = '''import os, sys
program, args = sys.argv[1], sys.argv[2:]
if sys.implementation.cache_tag != TAG:
    sys.exit("hosted-bridge: the package is installed for " + TAG + ", and the image has "
             + sys.implementation.cache_tag + ": delete its ProgramBundle to have it installed again")
tree = os.path.dirname(os.path.abspath(__file__))
venv = os.path.join(os.environ.get("TMPDIR") or "/tmp", "venv-" + os.path.basename(tree))
if not os.path.exists(venv):
    fresh = venv + "." + str(os.getpid())
    library = os.path.join(fresh, "lib", "python%d.%d" % sys.version_info[:2])
    os.makedirs(library)
    os.mkdir(os.path.join(fresh, "bin"))
    os.symlink(tree, os.path.join(library, "site-packages"))
    for name in os.listdir(os.path.join(tree, "bin")):
        os.symlink(os.path.join(tree, "bin", name), os.path.join(fresh, "bin", name))
    for name in ("python", "python3"):
        if not os.path.lexists(os.path.join(fresh, "bin", name)):
            os.symlink(sys._base_executable, os.path.join(fresh, "bin", name))
    with open(os.path.join(fresh, "pyvenv.cfg"), "w") as f:
        f.write("home = " + os.path.dirname(sys._base_executable) + "\\ninclude-system-site-packages = false\\n")
    os.rename(fresh, venv)
with open(program, "rb") as f:
    first, second = f.readline(512), f.readline(512)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# The first line names the Python of the Job. Programs may also be in another language.
if first.startswith(b"#!") and (b"python" in first or second.startswith(b"\\'\\'\\'exec\\'")):
    args, program = [program] + args, os.path.join(venv, "bin", "python")
os.execv(program, [program] + args)
'''


def install(env, log):
    """Returns the code that uv ends with."""
    uv = shutil.which("uv")
    if not uv:
        log.write("uv is not on the PATH of the image in which packages of Python are installed\n")
        return 127
    with open("requirements.in", "w") as f:
        f.write(env["PACKAGE"] + "\n")
    # The first writes which archives there are, with their hashes, and the second compares them.
    for args in (["compile", "--no-header", "--output-file", "tree/pylock.toml", "requirements.in"],
                 ["install", "--target", "tree", "-r", "tree/pylock.toml"]):
        command = [uv, "pip", *args, "--python", sys.executable, env["BUILD"]]
        code = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log).returncode
        if code:
            return code
    os.makedirs("tree/bin", exist_ok=True)
    with open("tree/" + env["LAUNCHER"], "w") as f:
        f.write(LAUNCH.replace("TAG", repr(sys.implementation.cache_tag)))
    # Compiled once: a start would compile everything again, since it cannot write into the tree. The tree
    # has no times, so compiled files are taken as they are. What does not compile is none of the program.
    subprocess.run([sys.executable, "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", "-s", "tree", "tree"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 0


def main():
    for folder in ("tree", "home"):
        os.makedirs(folder, exist_ok=True)
    env = dict(os.environ)
    if env["AUTHORITIES"]:
        # uv trusts the authorities of this file alone.
        env["SSL_CERT_FILE"], roots = os.path.abspath("home/authorities.pem"), ssl.get_default_verify_paths().cafile
        with open(env["SSL_CERT_FILE"], "w") as f:
            f.write((open(roots).read() + "\n" if roots else "") + env["AUTHORITIES"])
    with open("log", "w") as log:
        code = install(env, log)
    with open("exit-code", "w") as f:
        f.write(str(code))
    with open("log", "rb") as log:
        sys.stdout.buffer.write(log.read())


main()
