// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// program is the keybroker as it ships.
type program struct {
	path       string
	kubeconfig string
	ring       string
	namespace  string
}

// build builds the keybroker.
func build(t *testing.T, ring, namespace string) *program {
	t.Helper()
	p := &program{path: filepath.Join(t.TempDir(), "keybroker"), kubeconfig: kubeconfig(t), ring: ring, namespace: namespace}
	output, err := exec.Command("go", "build", "-o", p.path, "../../cmd/keybroker").CombinedOutput()
	if err != nil {
		t.Fatalf("build the keybroker: %v\n%s", err, output)
	}
	return p
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	admin := testenv.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a keybroker that runs.
type process struct {
	cmd     *exec.Cmd
	probes  string
	client  *http.Client
	started time.Time
	log     lockedBuffer
	// leads is closed when it has the lease.
	leads chan struct{}
	ended chan struct{}
	led   time.Time
}

// start starts a keybroker. It is killed at the end of the test at the latest.
func (p *program) start(t *testing.T) *process {
	t.Helper()
	k := &process{
		probes: unusedAddress(t), client: &http.Client{Transport: &http.Transport{}},
		leads: make(chan struct{}), ended: make(chan struct{}), started: time.Now(),
	}
	k.cmd = exec.Command(p.path,
		"--kubeconfig="+p.kubeconfig, "--namespace="+p.namespace, "--master-key-dir="+p.ring,
		"--listen=127.0.0.1:0", "--probe-listen="+k.probes, "--drain-delay=0s", "--concurrency="+strconv.Itoa(concurrency))
	stderr, err := k.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go k.follow(stderr)
	t.Cleanup(func() {
		k.kill()
		if t.Failed() {
			t.Logf("keybroker %d:\n%s", k.cmd.Process.Pid, k.log.tail())
		}
	})
	return k
}

// follow reads the log until the process ends.
func (k *process) follow(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		k.log.add(lines.Text())
		if strings.Contains(lines.Text(), `"this replica leads"`) && k.led.IsZero() {
			k.led = time.Now()
			close(k.leads)
		}
	}
	_ = k.cmd.Wait() // It was killed, which is an error.
	close(k.ended)
}

// kill is kill -9.
func (k *process) kill() {
	_ = k.cmd.Process.Kill() // That it has ended already is what is wanted.
	<-k.ended
	k.client.CloseIdleConnections()
}

func (k *process) get(path string) ([]byte, error) {
	response, err := k.client.Get("http://" + k.probes + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// ring returns what the process has loaded.
func (k *process) ring() masterkey.Status {
	var status masterkey.Status
	if body, err := k.get("/ring"); err == nil {
		_ = json.Unmarshal(body, &status) // Then it is no status, and asked for again.
	}
	return status
}

// metric returns the value of a series, -1 where there is none.
func (k *process) metric(series string) int {
	body, err := k.get("/metrics")
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(body) {
		if value, found := bytes.CutPrefix(line, []byte(series+" ")); found {
			f, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			if err == nil {
				return int(f)
			}
		}
	}
	return -1
}

// rewrapped is how many envelopes the process has wrapped anew.
func (k *process) rewrapped() int { return k.metric("hostedbridge_keybroker_rewrapped_total") }

// envelopes is how many the process sees under a version.
func (k *process) envelopes(version int) int {
	return k.metric(fmt.Sprintf(`hostedbridge_envelopes{key="local:%d"}`, version))
}

// memory returns the most that the process has had resident, as the kernel
// says it.
func (k *process) memory() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// lockedBuffer holds a log.
type lockedBuffer struct {
	mu    sync.Mutex
	lines []string
}

func (b *lockedBuffer) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
}

func (b *lockedBuffer) contains(s string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(strings.Join(b.lines, "\n"), s)
}

func (b *lockedBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines[max(0, len(b.lines)-30):], "\n")
}
