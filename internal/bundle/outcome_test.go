// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

var aDigest = Digest("sha256:" + strings.Repeat("ab", 32))

func TestAnOutcomeFitsIntoATerminationMessage(t *testing.T) {
	t.Parallel()
	good := Outcome{Digest: aDigest, Size: 10, CompressedSize: 5, Packages: 2, Scripts: []string{"a@1"}, Bins: map[string]string{"x": "node_modules/x/i.js"}, Bin: "x"}
	many := Outcome{Digest: aDigest, Size: 10, CompressedSize: 5, Bins: map[string]string{"mine": "node_modules/x/i.js"}, Bin: "mine"}
	for i := range 500 {
		many.Scripts = append(many.Scripts, fmt.Sprintf("package-with-a-long-name-%d@1.0.0", i))
		many.Bins[fmt.Sprintf("program-%d", i)] = fmt.Sprintf("node_modules/x/%d.js", i)
	}
	failed := FailedOutcome(failure(InstallFailed, "npm: %s", strings.Repeat("<\x1b[31m\u202e", 5000)))
	for name, o := range map[string]Outcome{"a bundle": good, "many scripts and programs": many, "a long and hostile message": failed} {
		text := must.Value(o.Encode())(t)
		if len(text) > MaxOutcome {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		got := must.Value(DecodeOutcome(text))(t)
		if got.Bin != o.Bin || got.Digest != o.Digest || got.Code != o.Code || got.Bins[got.Bin] != o.Bins[o.Bin] || got.More != (name == "many scripts and programs") {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.ContainsAny(got.Message, "\x1b\u202e") {
			t.Errorf("%s: %q", name, got.Message)
		}
	}
	if got := must.Value(DecodeOutcome(must.Value(good.Encode())(t)))(t); !cmp.Equal(good, got) {
		t.Error(cmp.Diff(good, got))
	}
	long := Outcome{Digest: aDigest, Size: 1, CompressedSize: 1, Bin: "x", Bins: map[string]string{"x": strings.Repeat("x", MaxOutcome)}}
	if _, err := long.Encode(); err == nil {
		t.Error("a path that is too long")
	}
}

func TestWhatIsNoOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "null", "Killed", `{"digest":"sha256:x"}`,
		`{"digest":"` + string(aDigest) + `","size":1,"compressedSize":1}`,
		`{"digest":"` + string(aDigest) + `","size":1,"compressedSize":1,"bin":"x","bins":{"x":"../../bin/sh"}}`,
		`{"digest":"` + string(aDigest) + `","size":0,"compressedSize":1,"bin":"x","bins":{"x":"i.js"}}`,
		`{"digest":"` + string(aDigest) + `","code":"TooLarge"}`,
		`{"code":"TooLarge","message":"` + strings.Repeat("x", MaxOutcome) + `"}`,
	} {
		if o, err := DecodeOutcome([]byte(text)); err == nil {
			t.Errorf("%.100q: %+v", text, o)
		}
	}
}

// TestFailuresOfNpmHaveCodesAndSayWhatToDo has what npm 11 writes. A test with npm itself
// compares.
func TestFailuresOfNpmHaveCodesAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		log  string
		code Code
		says string
	}{
		{"npm error code E404\nnpm error 404 Not Found - GET http://r/gone - Not found\nnpm error 404\nnpm error 404  The requested resource 'gone@^1' could not be found or you do not have permission to access it.\n", PackageNotFound, "no package gone@^1, which x@1.0.0 needs"},
		{"npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://r/x\nnpm ERR! 404 \nnpm ERR! 404  'x@1.0.0' is not in this registry.\n", PackageNotFound, "no package x@1.0.0"},
		{"npm error code ETARGET\nnpm error notarget No matching version found for dep@^7.\n", VersionNotFound, "no version dep@^7, which x@1.0.0 needs"},
		{"npm error code EBADENGINE\nnpm error notsup Not compatible with your version of node/npm: new@1.0.0\nnpm error notsup Required: {\"node\":\">=99\"}\nnpm error notsup Actual:   {\"node\":\"v20.20.2\"}\n", NodeTooOld, `new@1.0.0 does not run with the Node.js that installs it: it requires {"node":">=99"}, and there is {"node":"v20.20.2"}`},
		{"npm error code ECONNREFUSED\nnpm error FetchError: request to http://127.0.0.1:1/dep failed, reason: connect ECONNREFUSED 127.0.0.1:1\n", RegistryUnreachable, "(ECONNREFUSED): request to http://127.0.0.1:1/dep failed"},
		{"npm error code EAI_AGAIN\n", RegistryUnreachable, "(EAI_AGAIN)"},
		{"npm error code SELF_SIGNED_CERT_IN_CHAIN\n", RegistryUnreachable, "certificate"},
		{"npm error code E503\n", RegistryUnreachable, "(E503)"},
		{"one\ntwo\nnpm error code EUNKNOWN\nnpm error\nnpm error \x1b[31mfull\nnpm error A complete log of this run can be found in: /x\n", InstallFailed, "two | npm error code EUNKNOWN | npm error  [31mfull"},
		{"", InstallFailed, "nothing was written"},
		{"npm error code E404\n\xff\xfe", PackageNotFound, "no package x@1.0.0"},
	} {
		f := InstallFailure("x@1.0.0", test.log)
		if f.Code != test.code || !strings.Contains(f.Message, test.says) {
			t.Errorf("%.60q: %s: %s", test.log, f.Code, f.Message)
		}
	}
}

func TestTheDefaultProgramIsThatOfNpx(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		bins map[string]string
		want string
		code Code
	}{
		{"x", map[string]string{"other": "a"}, "other", ""},
		{"@s/x", map[string]string{"x": "a", "y": "b"}, "x", ""},
		{"x", map[string]string{"b": "same", "a": "same"}, "a", ""},
		{"x", map[string]string{"a": "1", "b": "2"}, "", ""},
		{"@x/y", map[string]string{"@x/y": "1", "x": "2"}, "", ""},
		{"x", nil, "", NoProgram},
	} {
		got, err := DefaultBin(test.name, test.bins)
		f, _ := errors.AsType[*Failure](err)
		if got != test.want || (f == nil) != (test.code == "") || f != nil && f.Code != test.code {
			t.Errorf("%s %v: %q, %v", test.name, test.bins, got, err)
		}
	}
}

const aLock = `{"lockfileVersion":3,"packages":{"":{"dependencies":{"@s/x":"^1"}},
	"node_modules/@s/x":{"version":"1.0.0","integrity":"sha512-AAAA","license":"MIT","bin":{"x":"i.js"}},
	"node_modules/dep":{"version":"2.0.0","hasInstallScript":true,"license":{"type":"old"}},
	"node_modules/@s/x/node_modules/dep":{"version":"2.0.0","hasInstallScript":true},
	"node_modules/alias":{"name":"real","version":"3.0.0","license":"SEE LICENSE IN LICENSE"}}}`

func TestAnInstalledPackageIsRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, manifest string
		want           map[string]string
	}{
		{"a path", `{"bin":"i.js"}`, map[string]string{"x": "node_modules/@s/x/i.js"}},
		{"a path with a dot", `{"bin":"./lib/../i.js"}`, map[string]string{"x": "node_modules/@s/x/i.js"}},
		{"names", `{"bin":{"a":"i.js","b":"./i.js"}}`, map[string]string{"a": "node_modules/@s/x/i.js", "b": "node_modules/@s/x/i.js"}},
		{"a name that is a path", `{"bin":{"../../a":"i.js"}}`, map[string]string{"a": "node_modules/@s/x/i.js"}},
		{"a file that climbs", `{"bin":{"a":"../../../secret"}}`, map[string]string{}},
		{"a file that is a link outside", `{"bin":{"a":"out"}}`, map[string]string{}},
		{"a file that is missing", `{"bin":{"a":"none.js"}}`, map[string]string{}},
		{"a directory", `{"bin":"."}`, map[string]string{}},
		{"no programs", `{}`, nil},
		{"another form", `{"bin":["i.js"],"engines":["node"]}`, nil},
	} {
		dir := makeTree(t, []entry{{"tree/node_modules/@s/x/i.js", "!"}, {"tree/node_modules/@s/x/out", "-> ../../../../secret"}, {"secret", "!"}, {"tree/package-lock.json", aLock}, {"tree/node_modules/@s/x/package.json", test.manifest}})
		tree := must.Value(FromNPM(filepath.Join(dir, "tree"), "@s/x"))(t)
		if diff := cmp.Diff(test.want, tree.Bins); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		want := []Package{{"@s/x", "1.0.0", "sha512-AAAA", "MIT", false}, {"dep", "2.0.0", "", "", true}, {"real", "3.0.0", "", "SEE LICENSE IN LICENSE", false}}
		if diff := cmp.Diff(want, tree.Packages); diff != "" {
			t.Errorf("packages (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"dep@2.0.0"}, WithScripts(tree.Packages)); diff != "" {
			t.Error(diff)
		}
	}
	for name, tree := range map[string][]entry{
		"no lock file":           {{"node_modules/@s/x/package.json", "{}"}},
		"another version of it":  {{"package-lock.json", `{"lockfileVersion":1}`}, {"node_modules/@s/x/package.json", "{}"}},
		"no package.json":        {{"package-lock.json", aLock}},
		"a link to another file": {{"package-lock.json", aLock}, {"node_modules/@s/x", "-> /etc"}},
	} {
		if _, err := FromNPM(makeTree(t, tree), "@s/x"); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestARecordIsBoundedAndComesBack(t *testing.T) {
	t.Parallel()
	r := Record{
		Source: Source{"npx", "@s/x", "1.0.0", "amd64", "node:22"}, Digest: aDigest, Size: 10, CompressedSize: 5,
		Made: time.Unix(1, 0).UTC(), Bins: map[string]string{"x": "i.js"}, Packages: []Package{{Name: "@s/x", Version: "1.0.0"}}, Lock: aLock, Log: strings.Repeat("l", 100<<10) + "end",
	}
	got := must.Value(DecodeRecord(must.Value(r.Encode())(t)))(t)
	if len(got.Log) != 64<<10 || !strings.HasSuffix(got.Log, "end") {
		t.Errorf("the log has %d bytes", len(got.Log))
	}
	r.Log, got.Log = "", ""
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Lock = strings.Repeat(`"`, 3<<20)
	if f, ok := errors.AsType[*Failure](errOf(r.Encode())); !ok || f.Code != TooLarge {
		t.Errorf("%v", f)
	}
	for _, text := range []string{"", "{}", `{"digest":"` + string(aDigest) + `","size":1}`, `{"digest":"` + string(aDigest) + `","size":1,"compressedSize":1000000}`} {
		if _, err := DecodeRecord([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestTheListOfPackagesIsASPDXDocument has the fields that SPDX 2.3 requires (clauses 6, 7 and 11).
func TestTheListOfPackagesIsASPDXDocument(t *testing.T) {
	t.Parallel()
	tree := must.Value(FromNPM(makeTree(t, []entry{{"package-lock.json", aLock}, {"node_modules/@s/x/package.json", "{}"}}), "@s/x"))(t)
	r := Record{Source: Source{Package: "@s/x", Version: "1.0.0"}, Digest: aDigest, Made: time.Unix(0, 0), Packages: tree.Packages}
	got := must.Value(SPDX(&r))(t)
	var indented any
	must.Succeed(t, json.Unmarshal(got, &indented))
	text := string(must.Value(json.MarshalIndent(indented, "", "  "))(t)) + "\n"
	const golden = "testdata/spdx.golden.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		must.Succeed(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	if diff := cmp.Diff(string(must.Value(os.ReadFile(golden))(t)), text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
