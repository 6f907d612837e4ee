// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package proxy

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// The two configurations: nothing but the way, with connections to the backend
// that are kept, its certificate checked, and answers passed on as they come.
const (
	nginxConf = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log error;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_requests 1000000000;
	upstream backend { server %[3]s; keepalive 512; keepalive_requests 1000000000; }
	server {
		listen %[2]s;
		location / {
			proxy_pass https://backend;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
			proxy_ssl_protocols TLSv1.3;
			proxy_ssl_certificate %[1]s/client.pem;
			proxy_ssl_certificate_key %[1]s/client-key.pem;
			proxy_ssl_trusted_certificate %[1]s/ca.pem;
			proxy_ssl_verify on;
			proxy_ssl_name bridge;
		}
	}
}
`
	caddyConf = `{
	admin off
	auto_https off
	http_port %[4]s
	default_bind 127.0.0.1
	persist_config off
	log {
		level ERROR
	}
}
http:// {
	reverse_proxy https://%[3]s {
		flush_interval -1
		transport http {
			versions 1.1
			compression off
			keepalive_idle_conns_per_host 512
			tls_client_auth %[1]s/client.pem %[1]s/client-key.pem
			tls_trust_pool file %[1]s/ca.pem
			tls_server_name bridge
		}
	}
}
`
)

// peers are the programs of others, which hack/test/bench-ingress.sh provides.
type peers struct{ nginx, caddy, goproxy string }

// start runs a program that listens on addr and waits until it does.
func start(t *testing.T, addr, log string, cmd *exec.Cmd) int {
	t.Helper()
	out := must.Value(os.Create(log))(t)
	cmd.Stdout, cmd.Stderr = out, out
	must.Succeed(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // However it ended: it was told to.
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = out.Close()
	})
	wait.NoError(t, wait.Limit, cmd.Path+" listens", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			said, _ := os.ReadFile(log)
			return fmt.Errorf("%w: %s", err, said)
		}
		return conn.Close()
	})
	return cmd.Process.Pid
}

// freeAddr returns an address of loopback that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l := must.Value((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// child runs this test binary in a role.
func child(t *testing.T, role, dir, backend string) (addr string, pid int) {
	t.Helper()
	self := must.Value(os.Executable())(t)
	addr = freeAddr(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "BENCH_ROLE="+role, "BENCH_DIR="+dir, "BENCH_LISTEN="+addr, "BENCH_BACKEND="+backend)
	if role == "ingress" {
		cmd.Env = append(cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB") // As config/ingress sets them.
	}
	return addr, start(t, addr, filepath.Join(dir, role+".out"), cmd)
}

// targets starts everything and returns the ways to compare.
func targets(t *testing.T, p peers) []target {
	t.Helper()
	dir := t.TempDir()
	writeCertificates(t, dir)
	backend, backendPID := child(t, "backend", dir, "")
	certificate, roots := must.Values(loadTLS(dir, "client"))(t)
	direct := clientTLS(certificate, roots)
	ours, oursPID := child(t, "ingress", dir, backend)
	keys := must.Value(os.ReadFile(filepath.Join(dir, "keys")))(t)
	all := []target{
		{name: "direct", addr: backend, tls: direct, processes: func() []int { return append(world.Children(backendPID), backendPID) }},
		{name: "hosted-bridge", addr: ours, keys: strings.Fields(string(keys)), processes: func() []int { return append(world.Children(oursPID), oursPID) }},
	}
	for _, way := range []struct {
		name string
		cmd  func(addr string) *exec.Cmd
	}{
		{"nginx", func(addr string) *exec.Cmd {
			return exec.Command(p.nginx, "-e", dir+"/nginx.log", "-c", configure(t, dir, "nginx.conf", fmt.Sprintf(nginxConf, dir, addr, backend)))
		}},
		{"Caddy", func(addr string) *exec.Cmd {
			return exec.Command(p.caddy, "run", "--adapter=caddyfile", "--config="+configure(t, dir, "Caddyfile",
				fmt.Sprintf(caddyConf, dir, addr, backend, portOf(addr))))
		}},
		{"net/http, fasthttp's client", func(addr string) *exec.Cmd {
			return exec.Command(p.goproxy, "-listen="+addr, "-backend="+backend, "-tls="+dir)
		}},
		{"net/http, ReverseProxy", func(addr string) *exec.Cmd {
			return exec.Command(p.goproxy, "-listen="+addr, "-backend="+backend, "-tls="+dir, "-client=net")
		}},
	} {
		addr := freeAddr(t)
		pid := start(t, addr, filepath.Join(dir, addr+".out"), way.cmd(addr))
		all = append(all, target{name: way.name, addr: addr, processes: func() []int { return append(world.Children(pid), pid) }})
	}
	return all
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

func configure(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
