// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStateTellsAProcessFromALaterOneOfTheSameNumber(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	if _, running, err := c.readState(); running || err != nil {
		t.Fatalf("no state file: running %v, error %v; want false, nil", running, err)
	}
	started, err := processStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		state state
		want  bool
	}{
		{"the process that wrote it", state{PID: os.Getpid(), StartTime: started}, true},
		{"another process with that number", state{PID: os.Getpid(), StartTime: started + "0"}, false},
		{"no process with that number", state{PID: 1 << 30, StartTime: started}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := c.writeState(test.state); err != nil {
				t.Fatal(err)
			}
			if _, running, err := c.readState(); running != test.want || err != nil {
				t.Errorf("running %v, error %v; want %v, nil", running, err, test.want)
			}
		})
	}
}

func TestEndProcessEndsTheOneThatIsNamed(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	started, err := processStart(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := endProcess(cmd.Process.Pid, started); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err == nil {
		t.Error("the process ended by itself, not by the signal")
	}
}

func TestNamesThatAreNotFolderNamesAreRefused(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", "-a", "A", strings.Repeat("a", 33)} {
		if _, err := newCluster(name); err == nil || !strings.Contains(err.Error(), "lower-case letters") {
			t.Errorf("newCluster(%q) = %v; want an error that says what is accepted", name, err)
		}
	}
}

func TestSourceSumChangesWithEverySource(t *testing.T) {
	module := t.TempDir()
	files := []string{"go.mod", "go.sum", filepath.Join(binary, "main.go"), filepath.Join(shim, "main.go"), filepath.Join("policy", "rules.go")}
	for _, folder := range []string{binary, shim, "policy"} {
		if err := os.Mkdir(filepath.Join(module, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(module, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		write(file, "one")
	}
	before, err := sourceSum(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		write(file, "two")
		after, err := sourceSum(module)
		if err != nil || after == before {
			t.Errorf("a change of %s leaves the sum at %s (error %v)", file, after, err)
		}
		write(file, "one")
	}
}

func TestProgressKeepsErrorsAndCountsPackages(t *testing.T) {
	var tail bytes.Buffer
	lines := "go: downloading k8s.io/api v1\nk8s.io/api/core/v1\n# k8s.io/bad\nbad.go:1:2: undefined: x\n"
	reportProgress(strings.NewReader(lines), &tail, 2, time.Now())
	if got, want := tail.String(), "# k8s.io/bad\nbad.go:1:2: undefined: x\n"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
}

func TestCertificatesVerifyForTheirUse(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pki")
	if err := writePKI(folder); err != nil {
		t.Fatal(err)
	}
	read := func(file string) *x509.Certificate {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(folder, file+".crt"))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(content)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return certificate
	}
	roots := x509.NewCertPool()
	roots.AddCert(read("ca"))
	for _, id := range identities() {
		usage := x509.ExtKeyUsageClientAuth
		if len(id.names) > 0 {
			usage = x509.ExtKeyUsageServerAuth
		}
		options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := read(id.file).Verify(options); err != nil {
			t.Errorf("%s: %v", id.file, err)
		}
	}
	if err := read("apiserver").VerifyHostname("127.0.0.1"); err != nil {
		t.Error(err)
	}
}

func TestConfigurationNamesEveryFile(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	if err := writePKI(c.path("pki")); err != nil {
		t.Fatal(err)
	}
	if err := c.writeConfiguration(t.TempDir(), state{Assets: "/assets", APIPort: 12345, Enforce: true}); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(c.controlPlane("/assets"), c.nodePrograms("/assets", true)...) {
		for _, arg := range p.args {
			file := arg[strings.IndexByte(arg, '=')+1:]
			if !strings.HasPrefix(file, c.path("config")) && !strings.HasPrefix(file, c.path("pki")) {
				continue
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s names a file that is not written: %v", p.name, err)
			}
		}
	}
	content, err := os.ReadFile(c.kubeconfig())
	if err != nil || !bytes.Contains(content, []byte("https://127.0.0.1:12345")) {
		t.Errorf("the administrator's kubeconfig does not name the host's port: %v", err)
	}
}

// What a distribution has beside it is older, and first on PATH.
func TestNoProgramIsTheDistributions(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	for _, p := range append(c.controlPlane("/assets"), c.nodePrograms("/assets", true)...) {
		if !slices.Contains(programs, p.name) || p.path != "/assets/"+p.name {
			t.Errorf("%s is run from %s, which was not built for the cluster", p.name, p.path)
		}
	}
	if err := errors.Join(writePKI(c.path("pki")), c.writeConfiguration(t.TempDir(), state{Assets: "/assets"})); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(c.path("config", "containerd.toml"))
	if err != nil || !bytes.Contains(content, []byte(`runtime_path = "/assets/containerd-shim-runc-v2"`)) {
		t.Errorf("containerd is not told of the shim that was built for it: %v", err)
	}
}

func TestTheAuditLogIsBoundedAndHasNoBodies(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	var args []string
	for _, p := range c.controlPlane("/assets") {
		args = append(args, p.args...)
	}
	for _, bound := range []string{"--audit-log-maxsize=", "--audit-log-maxbackup="} {
		// 0 is none.
		if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, bound) && a != bound+"0" }) {
			t.Errorf("no %s, so that the log grows with the cluster's age", bound)
		}
	}
	for line := range strings.Lines(auditPolicy) {
		level, ok := strings.CutPrefix(strings.TrimSpace(line), "- level: ")
		if ok && level != "None" && level != "Metadata" {
			t.Errorf("level %s records bodies, and those of Secrets are among them", level)
		}
	}
}

func TestForwardPassesBothWaysAndHalfCloses(t *testing.T) {
	listen := func() net.Listener {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	target, front := listen(), listen()
	defer target.Close()
	defer front.Close()
	go func() {
		server, err := target.Accept()
		if err != nil {
			return
		}
		defer server.Close()
		request, _ := io.ReadAll(server) // Ends by the client's half-close.
		_, _ = server.Write(append([]byte("got "), request...))
	}()
	go func() {
		client, err := front.Accept()
		if err == nil {
			join(t.Context(), client.(*net.TCPConn), target.Addr().String())
		}
	}()
	client, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(client)
	if err != nil || string(answer) != "got hello" {
		t.Errorf("answer %q, error %v", answer, err)
	}
}

func TestAClusterWithoutAStateIsFoundByItsFirstProcess(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	other := cluster{name: "other", folder: t.TempDir()}
	// tail waits for the line that never comes; only its arguments matter.
	file := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tail", nodeVerb, c.folder, "-f", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	if pids, err := other.nodes(); err != nil || len(pids) != 0 {
		t.Errorf("another folder's processes are %v, %v; want none", pids, err)
	}
	if pids, err := c.nodes(); err != nil || len(pids) != 1 || pids[0] != cmd.Process.Pid {
		t.Errorf("processes are %v, %v; want %d", pids, err, cmd.Process.Pid)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err == nil {
		t.Error("the process was not ended")
	}
}

func TestAUnifiedHierarchyGivesChildrenWhatKubeletNeeds(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	root := t.TempDir()
	control := filepath.Join(root, "cgroup.subtree_control")
	for file, content := range map[string]string{
		filepath.Join(root, "cgroup.controllers"): "cpuset cpu io memory hugetlb pids rdma misc\n", control: "",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.makeCgroups(root); err != nil {
		t.Fatal(err)
	}
	enabled, err := os.ReadFile(control)
	if err != nil || string(enabled) != "+cpuset\n+cpu\n+memory\n+hugetlb\n+pids\n" {
		t.Errorf("enabled %q, %v", enabled, err)
	}
	inner := filepath.Join(root, c.cgroup(), "kubepods", "pod")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.removeCgroups(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, c.cgroup())); err == nil {
		t.Error("the cgroup is still there")
	}
}

func TestSeparateHierarchiesEachGetACgroup(t *testing.T) {
	c := cluster{name: "test", folder: t.TempDir()}
	root := t.TempDir()
	for _, controller := range []string{"cpu", "memory"} {
		if err := os.Mkdir(filepath.Join(root, controller), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, controller, "tasks"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.makeCgroups(root); err != nil {
		t.Fatal(err)
	}
	for _, controller := range []string{"cpu", "memory"} {
		if _, err := os.Stat(filepath.Join(root, controller, c.cgroup())); err != nil {
			t.Error(err)
		}
	}
}
