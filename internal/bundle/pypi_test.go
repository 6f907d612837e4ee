// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestFailuresOfUVHaveCodesAndSayWhatToDo has what uv 0.12 writes, as its own tests have it
// (crates/uv/tests in github.com/astral-sh/uv).
func TestFailuresOfUVHaveCodesAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	const nothing = "  × No solution found when resolving dependencies:\n  ╰─▶ Because "
	for _, test := range []struct {
		log  string
		code Code
		says string
	}{
		{nothing + "my-notes was not found in the package registry and you require my-notes==1.0.0, we can conclude that your requirements are unsatisfiable.\n", PackageNotFound, "no package My_Notes@1.0.0, or"},
		{nothing + "gone was not found in the provided package locations and my-notes==1.0.0 depends on gone, we can conclude that my-notes==1.0.0 cannot be used.\n", PackageNotFound, "no package gone, which My_Notes@1.0.0 needs"},
		{nothing + "there is no version of my-notes==1.0.0 and you require my-notes==1.0.0, we can conclude that your requirements are unsatisfiable.\n", VersionNotFound, "no version My_Notes@1.0.0:"},
		{nothing + "only werkzeug<3.0.0 is available and flask==3.0.0 depends on werkzeug>=3.0.0, we can conclude that flask==3.0.0 cannot be used.\n      And because you require flask==3.0.0, we can conclude that your requirements are unsatisfiable.\n", VersionNotFound, "no version werkzeug>=3.0.0, which My_Notes@1.0.0 needs"},
		{nothing + "only setuptools<=40.4.3 is available and you require setuptools>=40.8.0, we can conclude that your requirements are unsatisfiable.\n", VersionNotFound, "no version setuptools>=40.8.0"},
		{nothing + "the current Python version (3.12.1) does not satisfy Python>=3.13 and my-notes==1.0.0 depends on Python>=3.13, we can conclude that my-notes==1.0.0 cannot be used.\n", PythonUnsupported, "has Python 3.12.1, which is not supported by My_Notes@1.0.0: it requires >=3.13"},
		{nothing + "the current Python version (3.12.1) does not satisfy Python>=3.13 and dep==2.0 depends on\n          Python>=3.13, we can conclude that dep==2.0 cannot be used.\n", PythonUnsupported, "dep==2.0, which My_Notes@1.0.0 needs"},
		{nothing + "my-notes==1.0.0 has no usable wheels and you require my-notes==1.0.0, we can conclude that your requirements are unsatisfiable.\n\nhint: Wheels are required for `my-notes` because building from source is disabled for all packages (i.e., with `--no-build`)\n", NoWheel, "no wheel of My_Notes@1.0.0 for this machine and the image's Python. Use another version of the package or of Python, or have it built in the Job: add My_Notes to bundles.installScripts"},
		{nothing + "a==1.0.0 has no wheels with a matching Python ABI tag (e.g., `cp312`) and only a==1.0.0 is available, we can conclude that all versions of a cannot be used.\n", NoWheel, "a==1.0.0, which My_Notes@1.0.0 needs"},
		{"error: Request failed after 3 retries in 4.2s\n  Caused by: Failed to fetch: `https://pypi.example/simple/my-notes/`\n  Caused by: HTTP status server error (500 Internal Server Error) for url (https://pypi.example/simple/my-notes/)\n", RegistryUnreachable, "(https://pypi.example/simple/my-notes/): HTTP status server error (500"},
		{"error: Failed to fetch: `https://pypi.example/my-notes/`\n  Caused by: error sending request for url (https://pypi.example/my-notes/)\n  Caused by: client error (Connect)\n  Caused by: invalid peer certificate: UnknownIssuer\n", RegistryUnreachable, "invalid peer certificate: UnknownIssuer. Check its URL"},
		{"  × Failed to download `tqdm==4.67.1`\n  ├─▶ Failed to fetch: `https://pypi.example/tqdm.whl`\n  ├─▶ error sending request for url (https://pypi.example/tqdm.whl)\n  ├─▶ client error (Connect)\n  ╰─▶ operation timed out\n", RegistryUnreachable, "(https://pypi.example/tqdm.whl): operation timed out"},
		{nothing + "flask>=3.0.2 depends on click>=8.1.3 and you require click==7.0.0, we can conclude that your requirements and flask>=3.0.2 are incompatible.\n", InstallFailed, "uv could not install My_Notes@1.0.0. Its log ends with: × No solution found"},
		{"uv is not on the PATH of the image in which packages of Python are installed\n", InstallFailed, "uv is not on the PATH"},
		{"", InstallFailed, "nothing was written"},
		{"\xff\xfe\x1b[31mkilled", InstallFailed, "[31mkilled"},
	} {
		f := UVFailure("My_Notes@1.0.0", test.log)
		if f.Code != test.code || !strings.Contains(f.Message, test.says) || strings.ContainsAny(f.Message, "\x1b") {
			t.Errorf("%.120q: %s: %s", test.log, f.Code, f.Message)
		}
	}
}

func TestTheDefaultProgramOfPythonIsThatOfUvx(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		bins map[string]string
		want string
		code Code
	}{
		{"my-notes", map[string]string{"my-notes": "a", "other": "b"}, "my-notes", ""},
		{"my_notes", map[string]string{"my-notes": "a"}, "", ""},
		{"my-notes", map[string]string{"other": "a"}, "", ""},
		{"my-notes", nil, "", NoProgram},
	} {
		got, err := DefaultScript(test.name, test.bins)
		f, _ := errors.AsType[*Failure](err)
		if got != test.want || (f == nil) != (test.code == "") || f != nil && f.Code != test.code {
			t.Errorf("%s %v: %q, %v", test.name, test.bins, got, err)
		}
	}
}

// hashOf is a hash of an archive, by the letter that it consists of.
func hashOf(letter string) string { return strings.Repeat(letter, 64) }

// aPylock has the forms that uv writes: one wheel, several, and an archive to be built alone.
var aPylock = `# This file was autogenerated by uv
lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.11"

[[packages]]
name = "dep"
version = "2.0"
sdist = { url = "https://files.example/dep-2.0.tar.gz", upload-time = 2023-01-07T11:08:11Z, size = 4646, hashes = { sha256 = "` + hashOf("0") + `" } }
wheels = [
    { url = "https://files.example/dep-2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", size = 1, hashes = { sha256 = "` + hashOf("a") + `" } },
    { url = "https://files.example/dep-2.0-1-cp311-abi3-musllinux_1_2_x86_64.whl", size = 1, hashes = { sha256 = "` + hashOf("b") + `" } },
]

[[packages]]
name = "from-source"
version = "3"
sdist = { url = "https://files.example/from_source-3.tar.gz", size = 1, hashes = { sha256 = "` + hashOf("c") + `" } }

[[packages]]
name = "my-notes"
version = "1.0"
wheels = [{ url = "https://files.example/my_notes-1.0-py2.py3-none-any.whl", upload-time = 2023-01-07T11:08:09Z, size = 5892, hashes = { sha256 = "` + hashOf("d") + `" } }]
`

// pythonTree is what uv installs with --target.
var pythonTree = []entry{
	{"bin/mine", "!#!/usr/bin/python3\n"}, {"bin/out", "-> ../../secret"}, {"bin/theirs", "!x"}, {"pylock.toml", aPylock},
	{"my_notes-1.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: my-notes\nVersion: 1.0\nRequires-Python: >=3.10\nLicense-Expression: MIT\n\nName: of the text\n"},
	{"my_notes-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py2-none-any\nTag: py3-none-any\n"},
	{"my_notes-1.0.dist-info/RECORD", "my_notes/__init__.py,sha256=x,1\nbin/mine,sha256=x,1\nbin/out,,\nbin/gone,,\nbin/sub/dir,,\nshare/bin/other,,\n../../../bin/up,,\nmy_notes-1.0.dist-info/RECORD,,\n"},
	{"dep-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: Dep\nVersion: 2.0\nLicense: " + strings.Repeat("the whole text\n        ", 20) + "\n"},
	{"dep-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\nTag: cp311-cp311-manylinux2014_x86_64\n"},
	{"dep-2.0.dist-info/RECORD", "../../bin/theirs,sha256=x,1\n"},
	{"from_source-3.dist-info/METADATA", "Metadata-Version: 2.1\nName: from_source\nVersion: 3\nLicense: BSD License\n"},
	{"from_source-3.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"},
}

func TestAnInstalledPackageOfPythonIsRead(t *testing.T) {
	t.Parallel()
	integrityOf := func(letter string) string {
		return "sha256-" + base64.StdEncoding.EncodeToString(must.Value(hex.DecodeString(hashOf(letter)))(t))
	}
	dir := makeTree(t, pythonTree)
	tree := must.Value(FromPyPI(dir, "My.Notes"))(t)
	if diff := cmp.Diff(map[string]string{"mine": "bin/mine"}, tree.Bins); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	want := []Package{
		{"Dep", "2.0", integrityOf("a"), "", false}, {"from_source", "3", "", "BSD License", false}, {"my-notes", "1.0", integrityOf("d"), "MIT", false},
	}
	if diff := cmp.Diff(want, tree.Packages); diff != "" || tree.Engines["python"] != ">=3.10" || tree.Lock != aPylock {
		t.Errorf("engines %v, packages (-want +got):\n%s", tree.Engines, diff)
	}
	if dep := must.Value(FromPyPI(dir, "dep"))(t); dep.Bins["theirs"] != "bin/theirs" {
		t.Errorf("programs %v", dep.Bins)
	}
	for name, tree := range map[string][]entry{
		"no lock file":           pythonTree[:3],
		"another package":        pythonTree[3:4],
		"no METADATA":            {{"pylock.toml", ""}, {"my_notes-1.0.dist-info/RECORD", ""}},
		"a link to another file": {{"pylock.toml", ""}, {"my_notes-1.0.dist-info", "-> /etc"}},
	} {
		if _, err := FromPyPI(makeTree(t, tree), "my-notes"); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	spdx := string(must.Value(SPDX(&Record{Source: Source{Method: "uvx", Package: "my-notes"}, Digest: aDigest, Made: time.Unix(0, 0), Packages: tree.Packages}))(t))
	for _, part := range []string{`"pkg:pypi/from-source@3"`, `{"algorithm":"SHA256","checksumValue":"` + hashOf("d") + `"}`} {
		if !strings.Contains(spdx, part) {
			t.Errorf("the SPDX document lacks %s: %s", part, spdx)
		}
	}
}
