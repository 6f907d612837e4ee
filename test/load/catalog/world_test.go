// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// importLimit is how long anything of an import may take.
	importLimit = 3 * time.Minute
	adminKey    = "the-benchmarks-own-admin-key"
)

// asker asks what is not measured.
var asker = &http.Client{Timeout: importLimit, Transport: &http.Transport{}}

// world is a real API server with an operator, without nodes.
type world struct {
	dir, namespace, kubeconfig, keybroker string
	operator                              *program
	client                                client.Client
}

// program is one of ours that runs, with its log in a file.
type program struct {
	name, addr, log string
	pid             int
	cmd             *exec.Cmd
	ended           chan struct{}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	plane := testenv.StartControlPlane(t)
	c := plane.Client()
	w := &world{dir: t.TempDir(), namespace: testenv.Namespace(t, c), kubeconfig: plane.Kubeconfig(), client: c}
	for _, name := range []string{"operator", "ingress", "keybroker"} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(w.dir, name), "../../../cmd/"+name).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", name, err, out)
		}
	}
	probes := freeAddr(t)
	w.operator = w.start(t, "operator", "--namespace="+w.namespace, "--leader-elect=false", "--probe-listen="+probes, "--metrics-listen=0")
	awaitListener(t, w.operator, probes)
	w.startKeybroker(t)
	return w
}

// startIngress starts an ingress, and waits until it is ready. There is no bridge.
func (w *world) startIngress(t *testing.T, flags ...string) *program {
	t.Helper()
	addr, probes := freeAddr(t), freeAddr(t)
	p := w.start(t, "ingress", append([]string{
		"--namespace=" + w.namespace, "--kubeconfig=" + w.kubeconfig, "--listen=" + addr, "--probe-listen=" + probes,
		"--keybroker-url=" + w.keybroker, "--token-file=" + w.token(), "--audit-file=" + filepath.Join(w.dir, "audit.log"),
		"--catalog-reads-per-second=0", "--drain-delay=0s",
	}, flags...)...)
	p.addr = addr
	p.await(t, "is ready", func() bool {
		res, err := asker.Get("http://" + probes + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return p
}

func (w *world) start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	log, err := os.CreateTemp(w.dir, name+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{name: name, log: log.Name(), cmd: exec.Command(filepath.Join(w.dir, name), args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// As config/ingress sets them.
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "CATALOG_ADMIN_KEY="+adminKey)
	if name == "ingress" {
		p.cmd.Env = append(p.cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB")
	}
	p.cmd.Env = append(p.cmd.Env, "GODEBUG=gctrace=1") // For memory.
	p.run(t)
	t.Cleanup(func() { _ = log.Close() })
	return p
}

// run starts what ends with the test at the latest.
func (p *program) run(t *testing.T) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = p.cmd.Process.Pid
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // However it ended: it was told to.
	}()
	t.Cleanup(func() {
		p.stop(t)
		if said, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s: %s", p.name, said[max(0, len(said)-4000):])
		}
	})
}

func (p *program) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (p *program) isOver() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// await waits until the program does something.
func (p *program) await(t *testing.T, what string, does func() bool) {
	t.Helper()
	testenv.EventuallyWithin(t, importLimit, p.name+" "+what, func() bool {
		if p.isOver() {
			t.Fatalf("%s ended", p.name)
		}
		return does()
	})
}

// said waits until the log has a line with that message.
func (p *program) said(t *testing.T, message string) {
	t.Helper()
	p.await(t, "says: "+message, func() bool {
		log, err := os.ReadFile(p.log)
		return err == nil && strings.Contains(string(log), `"msg":"`+message+`"`)
	})
}

// looks is how often is looked for what is served. Who looks more often has the
// ingress sort recipes again and again while they come.
const looks = 500 * time.Millisecond

// awaitServed waits until so many recipes are served.
func (w *world) awaitServed(t *testing.T, p *program, recipes int) {
	t.Helper()
	var looked time.Time
	p.await(t, fmt.Sprintf("serves %d recipes", recipes), func() bool {
		if time.Since(looked) < looks {
			return false
		}
		looked = time.Now()
		res, err := asker.Get("http://" + p.addr + "/recipes?limit=1")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var page struct{ Total *int }
		return json.NewDecoder(res.Body).Decode(&page) == nil && res.StatusCode == http.StatusOK && page.Total != nil && *page.Total == recipes
	})
}

// seedAgain seeds by the admin surface, and returns how long it took.
func (w *world) seedAgain(t *testing.T, p *program, recipes int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.addr+"/admin/seed", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminKey)
	began := time.Now()
	res, err := asker.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v: %.500s", res.StatusCode, err, body)
	}
	took := since(began)
	var report struct{ Counts map[string]int }
	if err := json.Unmarshal(body, &report); err != nil || report.Counts["none"] != recipes {
		t.Fatalf("error %v, counts %v", err, report.Counts)
	}
	return took
}

// freeAddr returns an address of loopback that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitListener(t *testing.T, p *program, addr string) {
	t.Helper()
	p.await(t, "listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// collected is how the collector says what was in use after it had run, the last
// of three sizes.
var collected = regexp.MustCompile(`(?m)^gc \d+ @.*->(\d+) MB, \d+ MB goal`)

// memory returns what a program has resident, and how much of it was in use when
// garbage was collected last.
func (p *program) memory(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	resident := fmt.Sprintf("%.0f MB", kb/1024)
	if all := collected.FindAllSubmatch(log, -1); len(all) > 0 {
		return fmt.Sprintf("%s, of which %s MB live", resident, all[len(all)-1][1])
	}
	return resident // Nothing was collected yet.
}

// cpuTimes returns the CPU time that the processes of this test have taken, by
// program.
func cpuTimes(t *testing.T) map[string]time.Duration {
	t.Helper()
	const tick = time.Second / 100 // The unit of /proc on Linux.
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Duration{}
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for pid := range strings.FieldsSeq(string(children)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil {
				continue // It has ended.
			}
			head, rest, _ := strings.Cut(string(stat), ") ")
			_, name, _ := strings.Cut(head, "(")
			// Behind the name: state is 3, utime 14, stime 15.
			for _, f := range strings.Fields(rest)[11:13] {
				n, _ := strconv.Atoi(f)
				times[name] += time.Duration(n) * tick
			}
		}
	}
	return times
}
