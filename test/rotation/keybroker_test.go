// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

// build builds the keybroker, which the function that it returns waits for.
func build(t *testing.T, ring, namespace string) (built func() *program) {
	t.Helper()
	p := &program{path: filepath.Join(t.TempDir(), "keybroker"), kubeconfig: kubeconfig(t), ring: ring, namespace: namespace}
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, "../../cmd/keybroker")
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() *program {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("build the keybroker: %v\n%s", err, output.Bytes())
		}
		return p
	}
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
	cmd *exec.Cmd
	// address is where bridges come, probes where the kubelet does.
	address, probes string
	client          *http.Client
	log             log
	// killed says so before it is, so that whoever finds it gone knows why.
	killed atomic.Bool
	ended  chan struct{}
}

// start starts a keybroker and tells office whether it leads. It is killed at
// the end of the test at the latest.
func (p *program) start(t *testing.T, o *office) *process {
	t.Helper()
	k := &process{
		address: unusedAddress(t), probes: unusedAddress(t),
		client: &http.Client{Transport: &http.Transport{}}, ended: make(chan struct{}),
	}
	k.cmd = exec.Command(p.path,
		"--kubeconfig="+p.kubeconfig, "--namespace="+p.namespace, "--master-key-dir="+p.ring,
		"--listen="+k.address, "--probe-listen="+k.probes, "--drain-delay=0s", "--concurrency="+strconv.Itoa(concurrency))
	stderr, err := k.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go k.follow(stderr, o)
	t.Cleanup(func() {
		k.kill()
		if t.Failed() {
			t.Logf("keybroker %d:\n%s", k.cmd.Process.Pid, k.log.tail())
		}
	})
	return k
}

// follow reads the log until the process ends.
func (k *process) follow(stderr io.Reader, o *office) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		k.log.add(lines.Text())
		switch {
		case strings.Contains(lines.Text(), `"this replica leads"`):
			o.taken(k)
		case strings.Contains(lines.Text(), `"this replica does not lead any more"`):
			o.left(k)
		}
	}
	_ = k.cmd.Wait() // It was killed, which is an error.
	o.left(k)
	close(k.ended)
}

// kill is kill -9.
func (k *process) kill() {
	k.killed.Store(true)
	_ = k.cmd.Process.Kill() // That it has ended already is what is wanted.
	<-k.ended
	k.client.CloseIdleConnections()
}

// crashed reports whether it ended by itself.
func (k *process) crashed() bool { return closed(k.ended) && !k.killed.Load() }

// get returns the answer of a probe, which is none unless it is a success.
func (k *process) get(path string) ([]byte, error) {
	response, err := k.client.Get("http://" + k.probes + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d", path, response.StatusCode)
	}
	return body, err
}

func (k *process) ready() bool {
	_, err := k.get("/readyz")
	return err == nil
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

// unusedAddress returns one that no connection of the test's own takes
// meanwhile: below the ports that systems choose for those, and for Services.
func unusedAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+mathrand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// log holds a log, except that of reads that went well, which are many.
type log struct {
	mu     sync.Mutex
	lines  []string
	leaked bool
}

func (l *log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// What a bridge is given has the base64 of the marker.
	l.leaked = l.leaked || strings.Contains(line, marker) || strings.Contains(line, base64.RawStdEncoding.EncodeToString([]byte(marker)))
	if !strings.Contains(line, `"msg":"request"`) || !strings.Contains(line, `"status":200,`) {
		l.lines = append(l.lines, line)
	}
}

// plaintext reports whether there was one.
func (l *log) plaintext() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaked
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines[max(0, len(l.lines)-30):], "\n")
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
