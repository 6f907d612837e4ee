// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// program is the keybroker as it ships.
type program struct {
	dir        string
	kubeconfig string
	ring       string
	namespace  string
}

// build builds the keybroker, which the function that it returns waits for.
func build(t *testing.T, ring, namespace string) (built func() *program) {
	t.Helper()
	p := &program{dir: t.TempDir(), kubeconfig: testenv.Kubeconfig(t), ring: ring, namespace: namespace}
	done := make(chan error, 1)
	go func() { done <- world.Build(t.Context(), p.dir, "keybroker") }()
	return func() *program {
		t.Helper()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// process is a keybroker that runs.
type process struct {
	*world.Process
	// address is where bridges come, probes where the kubelet does.
	address, probes string
	client          *http.Client
	// leaked says that its log has a plaintext.
	leaked atomic.Bool
}

// start starts a keybroker and tells office whether it leads. It is killed at
// the end of the test at the latest.
func (p *program) start(t *testing.T, o *office) *process {
	t.Helper()
	k := &process{address: world.UnusedAddress(t), probes: world.UnusedAddress(t), client: &http.Client{Transport: &http.Transport{}}}
	cmd := exec.Command(filepath.Join(p.dir, "keybroker"),
		"--kubeconfig="+p.kubeconfig, "--namespace="+p.namespace, "--master-key-dir="+p.ring,
		"--listen="+k.address, "--probe-listen="+k.probes)
	k.Process = world.Follow(t, t.TempDir(), "keybroker", cmd, func(line []byte) { k.said(line, o) })
	t.Cleanup(k.kill)
	return k
}

// said reads a line of the log, nil after the last one.
func (k *process) said(line []byte, o *office) {
	// What a bridge is given has the base64 of the marker.
	if bytes.Contains(line, []byte(marker)) || bytes.Contains(line, []byte(base64.RawStdEncoding.EncodeToString([]byte(marker)))) {
		k.leaked.Store(true)
	}
	switch {
	case bytes.Contains(line, []byte(`"this replica leads"`)):
		o.taken(k)
	case line == nil || bytes.Contains(line, []byte(`"this replica does not lead any more"`)):
		o.left(k)
	}
}

// kill is kill -9.
func (k *process) kill() {
	k.Kill()
	k.client.CloseIdleConnections()
}

func (k *process) ready() bool { return world.OK("http://" + k.probes + "/readyz") }

// ring returns what the process has loaded.
func (k *process) ring() masterkey.Status {
	var status masterkey.Status
	if body, err := world.Get("http://" + k.probes + "/ring"); err == nil {
		_ = json.Unmarshal(body, &status) // Then it is no status, and asked for again.
	}
	return status
}

// metric returns the value of a series, -1 where there is none.
func (k *process) metric(name, label string) int {
	value, found := world.Metric("http://"+k.probes+"/metrics", name, label)
	if !found {
		return -1
	}
	return int(value)
}

// rewrapped is how many envelopes the process has wrapped anew.
func (k *process) rewrapped() int { return k.metric("hostedbridge_keybroker_rewrapped_total", "") }

// envelopes is how many the process sees under a version.
func (k *process) envelopes(version int) int {
	return k.metric("hostedbridge_envelopes", fmt.Sprintf(`key="local:%d"`, version))
}

// memory returns the most that the process has had resident, as the kernel says it.
func (k *process) memory(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%.0f MB", k.Status(t, "VmHWM")/1024)
}
